"""Protobuf values and field numbers that `ingest` reads and `export` writes."""
