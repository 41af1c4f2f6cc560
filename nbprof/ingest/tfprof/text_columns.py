"""Columns of texts that a scan of messages has found."""

from nbprof.ingest.protobuf.wire import Fields, Spans
from nbprof.protos.texts import Texts


def field_texts(fields: Fields, tag: int, count: int, data: bytes) -> Texts:
    """Give each of `count` messages its last text of that tag, empty if it has none."""
    last = fields.last(count, tag)
    return Texts.at(data, last.begin, last.value)


def span_texts(spans: Spans, data: bytes) -> Texts:
    """Make a column of texts, or of messages, that were found by a scan."""
    return Texts.at(data, spans.begin, spans.size)
