"""Read the bytes of any protobuf message into numpy columns."""
