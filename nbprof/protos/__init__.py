"""The values and words of protobuf files which `ingest` reads and `export` writes."""
