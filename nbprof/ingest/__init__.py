"""Ingest: turn what TensorFlow recorded, or a file, into a Profile."""

from nbprof.ingest.trace.pipeline import read
from nbprof.ingest.trace.raised_error import with_error

__all__ = ["read", "with_error"]
