"""Read a binary GraphDef: the nodes of the graph itself, in file order.

Like tfprof, it ignores what is inside the functions of the library. Only the three attributes that
tfprof uses are decoded; the others are kept as bytes.

The field numbers are those of ``tensorflow/core/framework/{graph,node_def,attr_value}.proto``.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nbprof.arrays import Ints, Mask
from nbprof.ingest.protobuf.long_messages import Inner, scan_long
from nbprof.ingest.protobuf.repeated_fields import (
    field_texts,
    last_of_runs,
    owners,
    span_texts,
    tag,
)
from nbprof.ingest.protobuf.wire import FIXED32, VARINT, Buffer, Fields, Spans, scan
from nbprof.protos.texts import Texts

GRAPH_NODE = tag(1)

NODE_NAME = tag(1)
NODE_OP = tag(2)
NODE_INPUT = tag(3)
NODE_DEVICE = tag(4)
NODE_ATTR = tag(5)

NODES = Inner(GRAPH_NODE, first=NODE_NAME, second=(NODE_OP,))

ENTRY_KEY = tag(1)
ENTRY_VALUE = tag(2)

VALUE_LIST = tag(1)
VALUE_TEXT = tag(2)
VALUE_SHAPE = tag(7)
VALUES = (
    VALUE_LIST,
    VALUE_TEXT,
    tag(3, VARINT),
    tag(4, FIXED32),
    tag(5, VARINT),
    tag(6, VARINT),
    VALUE_SHAPE,
    tag(8),
    tag(9),
    tag(10),
)
"""Fields that can hold the value of an AttrValue; the last one written wins."""

LIST_SHAPE = tag(7)

SHAPE_DIM = tag(2)
SHAPE_UNKNOWN_RANK = tag(3, VARINT)

DIM_SIZE = tag(1, VARINT)


@dataclass(frozen=True, eq=False, slots=True)
class Inputs:
    """Inputs of all nodes, by node and position."""

    node: Ints
    position: Ints
    """Index among the node's inputs, control inputs included."""
    text: Texts
    """The input as written: `name`, `name:1` or `^name`."""


@dataclass(frozen=True, eq=False, slots=True)
class Shapes:
    """Shapes of nodes as written; a node without a row has none."""

    node: Ints
    """Ascending."""
    output: Ints
    """Index of the output described."""
    unknown_rank: Mask
    """Whether the number of dimensions is unknown; a scalar has known rank 0."""
    start: Ints
    """Start of each shape in `dims`."""
    rank: Ints
    """Number of dimensions."""
    dims: Ints
    """Dimensions of all shapes; -1 is unknown."""

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False, slots=True)
class Attributes:
    """All attributes of all nodes, encoded, by node and in file order."""

    node: Ints
    name: Texts
    value: Texts
    """Bytes of each AttrValue."""
    entry: Texts
    """Bytes of each map entry, name and value, as ProfileNode has them too."""


@dataclass(frozen=True, eq=False)
class GraphDef:
    """The nodes of a graph in file order; a name may occur more than once.

    Attributes are decoded on first use; damage in them is reported then.
    """

    name: Texts
    op: Texts
    device: Texts
    inputs: Inputs
    _buffer: Buffer = field(repr=False)
    _entries: Spans = field(repr=False)

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def attributes(self) -> Attributes:
        """All attributes, encoded."""
        return read_attributes(self._buffer, self._entries)

    @cached_property
    def shape(self) -> Shapes:
        """The attribute `shape`, at most one per node."""
        return _read_shape(self._buffer, self.attributes)

    @cached_property
    def output_shapes(self) -> Shapes:
        """The attribute `_output_shapes`."""
        return _read_output_shapes(self._buffer, self.attributes)

    @cached_property
    def data_format(self) -> dict[int, bytes]:
        """The attribute `data_format` by row of the node, where it is a text."""
        return read_data_format(self._buffer, self.attributes)


def read_graph_def(data: bytes, source: str = "graph") -> GraphDef:
    """Read the bytes of a GraphDef; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "binary GraphDef")
    nodes = scan_long(buffer, buffer.all(), NODES).inner
    count = len(nodes)
    fields = scan(buffer, nodes)
    inputs = fields.messages(NODE_INPUT)
    return GraphDef(
        name=field_texts(fields, NODE_NAME, count, data),
        op=field_texts(fields, NODE_OP, count, data),
        device=field_texts(fields, NODE_DEVICE, count, data),
        inputs=Inputs(owners(inputs), count_up(owners(inputs)), span_texts(inputs, data)),
        _buffer=buffer,
        _entries=fields.messages(NODE_ATTR),
    )


def count_up(row: Ints) -> Ints:
    """Number the rows within each run of equal values from 0."""
    first = np.append(True, row[1:] != row[:-1])[: len(row)]
    start = np.flatnonzero(first)
    return np.arange(len(row)) - np.repeat(start, np.diff(np.append(start, len(row))))


def read_attributes(buffer: Buffer, entries: Spans) -> Attributes:
    """Read the entries of maps from name to AttrValue."""
    fields = scan(buffer, entries)
    count = len(entries)
    return Attributes(
        node=owners(entries),
        name=field_texts(fields, ENTRY_KEY, count, buffer.data),
        value=field_texts(fields, ENTRY_VALUE, count, buffer.data),
        entry=span_texts(entries, buffer.data),
    )


def _read_values(buffer: Buffer, attributes: Attributes, name: bytes) -> tuple[Fields, Fields]:
    """Return the value and all fields of each node's attribute with this name."""
    rows = np.flatnonzero(attributes.name.equal(name))
    node = attributes.node[rows]
    values = attributes.value.take(rows)
    last = last_of_runs(node)
    fields = scan(buffer, Spans(node[last], values.begin[last], values.size[last]))
    kind = fields.last(len(last), *VALUES)
    node = node[last]
    return (
        Fields(node, kind.tag, kind.value, kind.begin),
        Fields(node[fields.row], fields.tag, fields.value, fields.begin),
    )


def _of_kind(kind: Fields, fields: Fields, wanted: int) -> Spans:
    """Return the messages of the attributes that are of the wanted kind."""
    found = fields.messages(wanted)
    return found[np.flatnonzero(np.isin(found.row, kind.row[kind.tag == wanted]))]


def _read_shape(buffer: Buffer, attributes: Attributes) -> Shapes:
    shapes = _of_kind(*_read_values(buffer, attributes, b"shape"), VALUE_SHAPE)
    last = last_of_runs(owners(shapes))
    return read_shapes(buffer, shapes[last], np.zeros(len(last), np.int64))


def _read_output_shapes(buffer: Buffer, attributes: Attributes) -> Shapes:
    lists = _of_kind(*_read_values(buffer, attributes, b"_output_shapes"), VALUE_LIST)
    shapes = scan(buffer, lists).messages(LIST_SHAPE)
    node = owners(lists)[shapes.row]
    return read_shapes(buffer, Spans(node, shapes.begin, shapes.size), count_up(node))


def read_shapes(buffer: Buffer, shapes: Spans, output: Ints) -> Shapes:
    """Read TensorShapeProtos that describe these outputs of the nodes in `shapes.row`."""
    fields = scan(buffer, shapes)
    dims = fields.messages(SHAPE_DIM)
    rank = np.bincount(dims.row, minlength=len(shapes))
    return Shapes(
        node=owners(shapes),
        output=output,
        unknown_rank=fields.numbers(SHAPE_UNKNOWN_RANK, len(shapes)) != 0,
        start=np.cumsum(rank) - rank,
        rank=rank,
        dims=scan(buffer, dims).numbers(DIM_SIZE, len(dims)),
    )


def read_data_format(buffer: Buffer, attributes: Attributes) -> dict[int, bytes]:
    """Return the attribute `data_format` by row of the node, where it is a text."""
    kind, _ = _read_values(buffer, attributes, b"data_format")
    texts = kind.where(VALUE_TEXT)
    return dict(zip(texts.row.tolist(), texts.payloads(buffer.data), strict=True))
