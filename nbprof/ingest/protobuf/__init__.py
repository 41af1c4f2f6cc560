"""Read protobuf bytes of any message into numpy columns."""
