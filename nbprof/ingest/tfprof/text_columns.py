"""Columns of texts found by a scan of messages."""

from nbprof.ingest.protobuf.wire import Fields, Spans
from nbprof.protos.texts import Texts


def field_texts(fields: Fields, tag: int, count: int, data: bytes) -> Texts:
    """Return the last text with this tag in each of `count` messages, empty if there is none."""
    last = fields.last(count, tag)
    return Texts.at(data, last.begin, last.value)


def span_texts(spans: Spans, data: bytes) -> Texts:
    """Return the texts, or encoded messages, at these spans."""
    return Texts.at(data, spans.begin, spans.size)
