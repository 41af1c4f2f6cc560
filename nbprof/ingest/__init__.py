"""Ingest: turn what TensorFlow recorded, or a file, into a Profile."""

from nbprof.ingest.trace.pipeline import read

__all__ = ["read"]
