"""Ingest: what TensorFlow recorded, read into the columns of a Profile."""

from nbprof.ingest.trace.pipeline import read

__all__ = ["read"]
