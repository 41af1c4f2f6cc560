"""Read the bytes of a trace (an XSpace) into numpy columns."""
