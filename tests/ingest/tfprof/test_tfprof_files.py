"""Reading and writing tfprof's files, and refusing what is damaged or foreign."""

import subprocess
import sys
import time
from random import Random

import numpy as np
import pytest
from support.paths import DATA as TEST_DATA
from support.xspace_bytes import fixed32, number, payload, varint

from nbprof.errors import NbprofError
from nbprof.export.saved_profile.proto_writer import write_profile_proto
from nbprof.ingest.protobuf import long_messages, wire
from nbprof.ingest.tfprof.checkpoint import read_checkpoint, read_index
from nbprof.ingest.tfprof.graph_def import read_graph_def
from nbprof.ingest.tfprof.op_log import read_op_log
from nbprof.ingest.tfprof.profile_reader import read_profile_proto
from nbprof.ingest.tfprof.run_metadata import read_run_metadata
from nbprof.ingest.tfprof.sorted_table import MAGIC, masked_checksum
from nbprof.ingest.tfprof.text_format import looks_like_text, to_binary
from nbprof.protos.texts import Texts

DATA = TEST_DATA / "tfprof"


def everything(reader, *lazy):
    """Return a reader that also decodes attributes, which are otherwise read lazily."""

    def read(data, source):
        found = reader(data, source)
        for name in lazy:
            getattr(found, name)
        return found

    return read


def read_and_write(data, source):
    return write_profile_proto(read_profile_proto(data, source))


READERS = {
    "graph": everything(read_graph_def, "shape", "output_shapes", "data_format"),
    "run_meta": everything(read_run_metadata, "memory", "allocations", "outputs", "output_bytes"),
    "tfprof_log": everything(read_op_log, "traces"),
    "profile": read_and_write,
}


def sample(name):
    if name == "graph":
        return to_binary((DATA / "graph.pbtxt").read_bytes(), "GraphDef")
    return (DATA / name).read_bytes()


@pytest.fixture(params=["plain", "vectors", "as shipped"])
def halves(request, monkeypatch):
    """Read small files by loops and by vectors, between which their size would choose."""
    if request.param == "plain":
        monkeypatch.setattr(wire, "FEW", 10**9)
    if request.param == "vectors":
        monkeypatch.setattr(wire, "FEW", 0)
        monkeypatch.setattr(long_messages, "LANE", 64)
        monkeypatch.setattr(long_messages, "WINDOW", 48)


def attribute(name, value):
    return payload(5, payload(1, name) + payload(2, value))


def shape(*dims):
    return b"".join(payload(2, number(1, dim)) for dim in dims)


UNKNOWN_RANK = number(3, 1)


def node(name, op="NoOp", inputs=(), *attributes, device=None):
    fields = [payload(1, name), payload(2, op), *(payload(3, each) for each in inputs)]
    return payload(1, b"".join([*fields, payload(4, device), *attributes]))


def dims_by_node(shapes):
    return {
        (owner, output): None if unknown else shapes.dims[start : start + rank].tolist()
        for owner, output, unknown, start, rank in zip(
            shapes.node.tolist(),
            shapes.output.tolist(),
            shapes.unknown_rank,
            shapes.start,
            shapes.rank,
            strict=True,
        )
    }


# GraphDef


def test_nodes_are_read_in_file_order_with_their_inputs_as_written(halves):
    graph = read_graph_def(
        node("a", "Const") + node("b", "Add", ["a", "a:1", "^c"], device="/cpu:0") + node("a")
    )

    assert graph.name.strings() == ["a", "b", "a"]
    assert graph.op.strings() == ["Const", "Add", "NoOp"]
    assert graph.device.strings() == ["", "/cpu:0", ""]
    assert graph.inputs.node.tolist() == [1, 1, 1]
    assert graph.inputs.position.tolist() == [0, 1, 2]
    assert graph.inputs.text.strings() == ["a", "a:1", "^c"]


def test_a_missing_shape_an_unknown_rank_and_a_scalar_are_distinguished(halves):
    graph = read_graph_def(
        node("none")
        + node("unknown", "P", (), attribute("shape", payload(7, UNKNOWN_RANK)))
        + node("scalar", "P", (), attribute("shape", payload(7, b"")))
        + node("matrix", "P", (), attribute("shape", payload(7, shape(-1, 3))))
        + node("text", "P", (), attribute("shape", payload(2, "2x3")))
    )

    assert dims_by_node(graph.shape) == {(1, 0): None, (2, 0): [], (3, 0): [-1, 3]}


def test_output_shapes_are_numbered(halves):
    outputs = payload(7, shape(2)) + payload(7, UNKNOWN_RANK) + payload(7, b"")
    graph = read_graph_def(
        node("x") + node("split", "S", (), attribute("_output_shapes", payload(1, outputs)))
    )

    assert dims_by_node(graph.output_shapes) == {(1, 0): [2], (1, 1): None, (1, 2): []}


def test_the_last_of_repeated_attributes_counts(halves):
    graph = read_graph_def(
        node(
            "x",
            "P",
            (),
            attribute("shape", payload(7, shape(1))),
            attribute("data_format", payload(2, "NHWC")),
            attribute("shape", payload(7, shape(2))),
            attribute("data_format", payload(2, "NCHW")),
        )
    )

    assert dims_by_node(graph.shape) == {(0, 0): [2]}
    assert graph.data_format == {0: b"NCHW"}


def test_attributes_keep_their_bytes(halves):
    value = payload(99, "from the future")
    graph = read_graph_def(node("x", "P", (), attribute("novel", value)))

    assert graph.attributes.node.tolist() == [0]
    assert graph.attributes.name.strings() == ["novel"]
    assert graph.attributes.value.raw() == [value]
    assert graph.attributes.entry.raw() == [payload(1, "novel") + payload(2, value)]


def test_nodes_of_functions_are_not_nodes_of_the_graph(halves):
    function = payload(3, payload(1, "inner") + payload(2, "NoOp"))
    library = payload(2, payload(1, function))

    assert read_graph_def(library + node("outer")).name.strings() == ["outer"]


def test_an_empty_graph_is_legal(halves):
    graph = read_graph_def(b"")

    assert len(graph) == 0
    assert len(graph.shape) == 0


def test_a_name_that_is_not_utf8_does_not_shift_the_others(halves):
    graph = read_graph_def(node("a") + node(b"\xff\0x") + node("b"))

    assert graph.name.strings() == ["a", "\ufffd\0x", "b"]
    assert graph.name.raw()[1] == b"\xff\0x"


# RunMetadata


def record(name, start, end, *more):
    return payload(
        2, payload(1, name) + number(2, start) + number(4, end) + b"".join(more) + number(16, 900)
    )


def run(*devices):
    return payload(1, b"".join(payload(1, payload(1, name) + r) for name, r in devices))


def allocator(name, total, peak, live, in_use=None, records=()):
    numbers = number(2, total) + number(3, peak) + number(4, live) + number(5, in_use)
    steps = b"".join(payload(6, number(1, at) + number(2, size)) for at, size in records)
    return payload(6, payload(1, name) + numbers + steps)


def output(slot, requested, allocated, pointer):
    allocation = number(1, requested) + number(2, allocated) + number(6, pointer)
    return payload(7, number(1, slot) + payload(3, payload(4, allocation)))


def test_records_are_read_with_their_device(halves):
    read = read_run_metadata(
        run(("/cpu:0", record("a", 5, 2) + record("b:Add", 7, 0)), ("/gpu:0", record("a", 9, 1)))
    )

    assert read.has_step_stats
    assert read.devices.strings() == ["/cpu:0", "/gpu:0"]
    assert read.device.tolist() == [0, 0, 1]
    assert read.node_name.strings() == ["a", "b:Add", "a"]
    assert read.all_start_micros.tolist() == [5, 7, 9]
    assert read.op_end_rel_micros.tolist() == [2, 0, 1]


def test_memory_is_summed_over_allocators_and_accelerators_are_kept_apart(halves):
    memory = (
        allocator("cpu", 100, 90, 80, 70, [(1, 100)]),
        allocator("GPU_0_bfc", 10, 9, 8, 7, [(2, 10), (3, -2)]),
        allocator("the GPU too", 1, 1, 1, 50),
        payload(12, number(1, 1000) + number(3, 2000)),
    )
    read = read_run_metadata(run(("/gpu:0", record("a", 5, 2, *memory) + record("b", 6, 1))))

    assert read.memory.total.tolist() == [111, 0]
    assert read.memory.peak.tolist() == [100, 0]
    assert read.memory.live.tolist() == [89, 0]
    assert read.memory.in_use.tolist() == [50, 0]
    assert read.memory.has_stats.tolist() == [True, False]
    assert read.memory.temp.tolist() == [1000, 0]
    assert read.memory.persistent.tolist() == [2000, 0]
    assert read.allocations.record.tolist() == [0, 0]
    assert read.allocations.micros.tolist() == [2, 3]
    assert read.allocations.bytes.tolist() == [10, -2]


def test_an_output_counts_the_larger_of_requested_and_allocated(halves):
    outputs = output(0, 400, 512, 77), output(1, 30, 20, 78), payload(7, number(1, 2))
    read = read_run_metadata(run(("/cpu:0", record("a", 5, 2, *outputs))))

    assert read.output_bytes.tolist() == [542]
    assert read.outputs.slot.tolist() == [0, 1]
    assert read.outputs.bytes.tolist() == [512, 30]
    assert read.outputs.pointer.tolist() == [77, 78]


def test_missing_and_empty_step_stats_are_distinguished(halves):
    assert not read_run_metadata(b"").has_step_stats
    assert read_run_metadata(payload(1, b"")).has_step_stats


# OpLogProto


def test_entries_are_read_with_types_and_traces(halves):
    trace = number(6, 1) + number(2, 30) + number(7, 2) + number(8, 3) + number(5, -1)
    log = read_op_log(
        payload(1, payload(1, "w") + payload(3, "_trainable_variables") + payload(3, "mine"))
        + payload(1, payload(1, "mm") + number(2, 48) + payload(4, payload(1, trace)))
        + payload(1, payload(1, "x") + payload(4, b""))
        + payload(2, number(1, 1) + payload(2, "train.py"))
        + payload(2, payload(2, "none"))
    )

    assert log.name.strings() == ["w", "mm", "x"]
    assert log.float_ops.tolist() == [0, 48, 0]
    assert log.has_code.tolist() == [False, True, True]
    assert log.type_entry.tolist() == [0, 0]
    assert log.type_name.strings() == ["_trainable_variables", "mine"]
    assert log.traces.owner.tolist() == [1]
    assert log.traces.lineno.tolist() == [30]
    assert log.traces.func_start_line.tolist() == [-1]
    assert log.id_to_string.lookup() == {1: "train.py", 0: "none"}


def test_entries_with_the_same_stack_each_get_it(halves):
    def entry(*lines):
        code = b"".join(payload(1, number(2, line)) for line in lines)
        return payload(1, payload(4, code))

    stacks = [(1, 2, 3), (1, 2, 3), (), (4,), (1, 2, 3), (4,), ()]
    log = read_op_log(b"".join(entry(*lines) for lines in stacks))

    assert log.traces.owner.tolist() == [0, 0, 0, 1, 1, 1, 3, 4, 4, 4, 5]
    assert log.traces.lineno.tolist() == [1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4]


# ProfileProto


def test_a_profile_of_tfprof_is_read(halves):
    profile = read_profile_proto(sample("profile"))

    row = profile.name.strings().index("Conv2D")
    steps = profile.execs.step[profile.execs.owner == row]
    assert profile.op.strings()[row] == "Conv2D"
    assert sorted(steps.tolist()) == [0, 7]
    assert sorted(profile.steps.tolist()) == [0, 7]
    assert profile.float_ops[row] == 5832


def test_reading_and_writing_a_profile_gives_the_same_bytes(halves):
    once = write_profile_proto(read_profile_proto(sample("profile")))

    assert write_profile_proto(read_profile_proto(once)) == once


def test_packed_and_single_numbers_may_be_mixed(halves):
    mixed = number(4, 5) + payload(4, b"\x01\xac\x02") + number(4, -1)
    profile = read_profile_proto(payload(1, number(1, 3) + payload(2, mixed)))

    assert profile.key.tolist() == [3]
    assert profile.shape.tolist() == [5, 1, 300, -1]


def test_a_time_that_is_not_a_pair_is_refused():
    times = payload(5, payload(1, "/cpu:0") + payload(2, payload(1, payload(1, b"\x01"))))
    data = payload(1, payload(2, payload(12, payload(2, times))))

    with pytest.raises(NbprofError, match="a time has 1 numbers instead of a start and a duration"):
        read_profile_proto(data)


# Text


def test_a_graph_in_text_is_read_like_a_binary_one():
    text = (DATA / "graph.pbtxt").read_bytes()

    graph = read_graph_def(to_binary(text, "GraphDef"))

    assert len(graph) == text.count(b"\nnode {") + 1
    assert graph.name.strings()[0] == "zeros"
    assert dims_by_node(graph.output_shapes)[0, 0] == [2, 6, 6, 3]


def test_text_and_binary_are_distinguished():
    assert looks_like_text((DATA / "graph.pbtxt").read_bytes())
    assert looks_like_text(b"# made by hand\nversions <producer: 3>")
    assert not looks_like_text(sample("graph"))
    assert not looks_like_text(b"")


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        ("version: 7", number(3, 7)),
        ("version: -0x10;", number(3, -16)),
        ("version: 010 # octal", number(3, 8)),
        ("versions < producer: 1, >", payload(4, number(1, 1))),
        ("versions: { bad_consumers: [1, 2] }", payload(4, number(3, 1) + number(3, 2))),
        ("node [{ name: 'a' }, < name: \"b\" >]", payload(1, b"\n\1a") + payload(1, b"\n\1b")),
        (r'node { name: "a\n\x41" "\101\"é" }', payload(1, payload(1, 'a\nAA"é'))),
        ("node { attr { value { f: -1.5f } } }", None),
        ("node { attr { value { b: true type: DT_INT32_REF } } }", None),
        ("", b""),
        ("# nothing\n", b""),
    ],
)
def test_the_whole_text_format_is_understood(text, binary):
    written = to_binary(text.encode(), "GraphDef")

    assert binary is None or written == binary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("node {\n name: 'a'\n colour: 1 }", "in line 3, NodeDef has no field colour"),
        ("node {\n name: 'a'", "in line 2, the text ends inside a message"),
        ("node { name: 'a' >", "in line 1, > closes nothing"),
        ("}", "in line 1, } closes nothing"),
        ("version: 2147483648", "a value of the type int32 was expected, not 2147483648"),
        ("version: 'x'", "a value of the type int32 was expected, not 'x'"),
        ("version 3", "the colon between a field and its value is missing"),
        ("version: {}", "a value of the type int32 was expected, not a message"),
        ("node: 3", "a value of the type NodeDef was expected, not 3"),
        ('node { name: "a\\q" }', "a value of the type string was expected"),
        ('node { name: "a }', "a field and its value were expected"),
        ("node { attr { value { type: DT_NOVEL } } }", "of the type DataType was expected, not DT"),
        ("version: [1", "the text ends inside a message"),
        ("version: [1, [", "an item or the end of a list was expected"),
        ("=", "in line 1, a field and its value were expected"),
    ],
)
def test_an_error_in_the_text_is_refused_with_its_line(text, message):
    with pytest.raises(NbprofError) as caught:
        to_binary(text.encode(), "GraphDef", "graph.pbtxt")

    assert str(caught.value).startswith("graph.pbtxt is not a readable GraphDef in text: in line ")
    assert message in str(caught.value)


def test_deep_nesting_is_refused():
    text = b"node { experimental_type {" + b"args {" * 100_000

    with pytest.raises(NbprofError, match="nested more than 100 deep"):
        to_binary(text, "GraphDef")


@pytest.mark.parametrize("hostile", [b"#" * 10**6, b'"' * 10**6, b"version: 1" + b"1" * 10**6])
def test_hostile_text_is_read_or_refused_in_linear_time(hostile):
    started = time.thread_time()
    refusal(lambda text, source: to_binary(text, "GraphDef", source), hostile)

    assert time.thread_time() - started < 2


# Checkpoints


def test_a_checkpoint_has_names_types_shapes_and_values():
    checkpoint = read_checkpoint(DATA / "ckpt")

    shapes = {name: variable.shape for name, variable in checkpoint.variables.items()}
    assert shapes == {"DW": (3, 3, 3, 6), "DW2": (2, 2, 6, 12), "ScalarW": ()}
    assert {variable.dtype for variable in checkpoint.variables.values()} == {"float"}
    assert checkpoint.values("DW").shape == (3, 3, 3, 6)
    assert checkpoint.values("DW").dtype == np.float32
    whole = np.frombuffer((DATA / "ckpt.data-00000-of-00001").read_bytes(), "<f4")
    assert checkpoint.values("ScalarW") == whole[-1]


def test_a_checkpoint_may_be_named_by_its_index_file():
    assert "DW" in read_checkpoint(str(DATA / "ckpt.index")).variables


def test_a_checkpoint_in_the_old_single_file_format_is_refused():
    with pytest.raises(NbprofError, match="first format"):
        read_checkpoint(DATA / "run_meta")


@pytest.mark.parametrize("path", ["", "/", "/nowhere/ckpt", "a\0b"])
def test_a_missing_checkpoint_is_refused(path):
    with pytest.raises(NbprofError, match="is not readable"):
        read_checkpoint(path)


def test_an_unknown_variable_is_refused():
    with pytest.raises(NbprofError, match="has no variable gone"):
        read_checkpoint(DATA / "ckpt").values("gone")


def test_missing_or_short_data_files_are_refused(tmp_path):
    prefix = tmp_path / "ckpt"
    prefix.with_suffix(".index").write_bytes((DATA / "ckpt.index").read_bytes())
    checkpoint = read_checkpoint(prefix)

    with pytest.raises(NbprofError, match="00000-of-00001 is not readable"):
        checkpoint.values("DW")
    (tmp_path / "ckpt.data-00000-of-00001").write_bytes(b"short")
    with pytest.raises(NbprofError, match="648 bytes were expected, not 5"):
        checkpoint.values("DW")


def block(*entries):
    """Return a block of a table with each key in full, not as a suffix to the one before."""
    written = [bytes([0, len(key), len(value)]) + key + value for key, value in entries]
    return guarded(b"".join(written) + bytes(4))


def guarded(written, compression=b"\0"):
    """Append compression and checksum to a block."""
    return written + compression + masked_checksum(written + compression).to_bytes(4, "little")


def table(*entries):
    return table_of(block(*entries))


def table_of(data):
    """Return a table of one block."""
    index = block((b"\xff", bytes([0]) + varint(len(data) - 5)))
    footer = bytes([0, 0]) + varint(len(data)) + varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + MAGIC


HEADER = (b"", number(1, 1))


def test_values_are_refused_if_their_shape_size_and_type_do_not_agree(tmp_path):
    liar = number(1, 1) + payload(2, shape(0, 2**62, 2**62)) + number(5, 0) + fixed32(6, 1)
    parts = number(1, 1) + payload(2, shape(4)) + payload(7, b"")
    words = number(1, 7) + payload(2, shape(4))
    index = table(HEADER, (b"liar", liar), (b"parts", parts), (b"words", words))
    checkpoint = read_index(index, tmp_path / "ckpt")

    for name, why in {
        "liar": "do not hold values",
        "parts": "in parts",
        "words": "as string",
    }.items():
        with pytest.raises(NbprofError, match=why):
            checkpoint.values(name)


def test_a_compressed_index_is_refused_with_what_to_do(tmp_path):
    packed = guarded(b"\x03\x08abc", b"\1")

    with pytest.raises(NbprofError, match=r"ckpt\.index is compressed with snappy.* save it again"):
        read_index(table_of(packed), tmp_path / "ckpt")


def test_an_unknown_compression_is_refused(tmp_path):
    packed = guarded(b"\x03\x08abc", b"\x09")

    with pytest.raises(NbprofError, match="a block has the unknown compression 9"):
        read_index(table_of(packed), tmp_path / "ckpt")


def test_a_block_that_disagrees_with_its_checksum_is_refused(tmp_path):
    index = bytearray((DATA / "ckpt.index").read_bytes())
    index[40] ^= 1

    with pytest.raises(NbprofError, match="a block does not match its checksum"):
        read_index(bytes(index), tmp_path / "ckpt")


def test_a_table_without_a_header_is_refused(tmp_path):
    with pytest.raises(NbprofError, match="it has no header"):
        read_index(table((b"a", b"")), tmp_path / "ckpt")


# Damage


@pytest.mark.parametrize("name", READERS)
def test_a_truncated_file_is_refused_with_its_name_and_the_place(name):
    data = sample(name)

    with pytest.raises(NbprofError) as caught:
        READERS[name](data[:-1], "some.file")

    assert str(caught.value).startswith("some.file is not a readable ")
    assert ": at byte " in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_foreign_file_is_refused(name):
    for foreign in (b"\x89PNG\r\n\x1a\n" + bytes(100), b"PK\3\4" + bytes(60), b"hello, world"):
        with pytest.raises(NbprofError, match="is not a readable"):
            READERS[name](foreign, "some.file")


@pytest.mark.parametrize("name", READERS)
def test_every_truncation_is_read_or_refused(name, halves):
    data = sample(name)
    for end in range(0, len(data), max(1, len(data) // 150)):
        read_or_refuse(READERS[name], data[:end])


@pytest.mark.parametrize("name", READERS)
def test_files_with_flipped_bits_are_read_or_refused(name, halves):
    data, mix = sample(name), Random(name)
    for _ in range(150):
        read_or_refuse(READERS[name], flipped(data, mix))


def flipped(data, mix):
    damaged = bytearray(data)
    for _ in range(mix.choice((1, 1, 2, 8))):
        damaged[mix.randrange(len(data))] ^= 1 << mix.randrange(8)
    return bytes(damaged)


def read_or_refuse(reader, data):
    # One retry, as garbage may have been collected meanwhile.
    assert computing(reader, data) < 1 or computing(reader, data) < 1


def computing(reader, data):
    started = time.thread_time()
    assert "some.file" in (refusal(reader, data) or "some.file")
    return time.thread_time() - started


def refusal(reader, data):
    try:
        reader(data, "some.file")
    except NbprofError as error:
        return str(error)
    return None


def test_damaged_text_is_read_or_refused():
    data, mix = (DATA / "graph.pbtxt").read_bytes()[:4000], Random(5)
    for end in range(0, len(data), 37):
        read_or_refuse(text_reader, data[:end])
    for _ in range(300):
        read_or_refuse(text_reader, flipped(data, mix))


def text_reader(data, source):
    return READERS["graph"](to_binary(data, "GraphDef", source), source)


def test_damaged_checkpoints_are_read_or_refused(tmp_path, monkeypatch):
    data, mix = (DATA / "ckpt.index").read_bytes(), Random(5)
    (tmp_path / "ckpt.data-00000-of-00001").write_bytes(bytes(1804))
    for end in range(len(data)):
        read_or_refuse(values_reader(tmp_path / "some.file"), data[:end])
    # Accept any checksum: they would catch every flipped bit and hide the code after them.
    monkeypatch.setattr("nbprof.ingest.tfprof.sorted_table.masked_checksum", AnyNumber)
    for _ in range(2000):
        read_or_refuse(values_reader(tmp_path / "some.file"), flipped(data, mix))


class AnyNumber(bytes):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = bytes.__hash__


def values_reader(prefix):
    def read(data, source):
        checkpoint = read_index(data, prefix)
        for name in checkpoint.variables:
            checkpoint.values(name)

    return read


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (bytes([0, 1, 0]) + b"k" + bytes([1, 0, 0]) * 9, "not in ascending order"),
        (bytes([0, 127, 0]) + b"k" * 127 + bytes([127, 1, 0, 1]) * 9, "not in ascending order"),
        (bytes([0, 1, 0, 1, 9, 1, 0, 1]), "shares more than the whole previous key"),
    ],
)
def test_inconsistent_keys_are_refused(entries, why, tmp_path):
    with pytest.raises(NbprofError, match=why):
        read_index(table_of(guarded(entries + bytes(4))), tmp_path / "ckpt")


def test_keys_that_share_long_prefixes_do_not_fill_the_memory(tmp_path):
    length = varint(2000)
    longer = b"".join(length + bytes([1, 0, i]) for i in range(256))
    entries = b"\0" + length + b"\0" + bytes(2000) + longer
    data = table_of(guarded(entries + bytes(4)))

    assert "the keys are more than 64 times as long" in refusal(
        lambda *_: read_index(data, tmp_path), data
    )


# Long files and columns


def test_long_files_read_the_same_with_and_without_lanes(monkeypatch):
    mix = Random(3)
    data = b"".join(
        node(f"scope_{i % 7}/{'n' * mix.randint(0, 90)}{i}", "Op", [f"x{i}"], device="/cpu:0")
        for i in range(3000)
    )
    in_lanes = read_graph_def(data)
    monkeypatch.setattr(long_messages, "LANE", 10**9)

    assert read_graph_def(data).name.raw() == in_lanes.name.raw()
    assert len(in_lanes) == 3000


def test_a_column_of_texts_can_be_compared_and_searched():
    texts = Texts.of(["shape", "dtype", "", "shapes", "shape"])

    assert texts.equal(b"shape").tolist() == [True, False, False, False, True]
    assert texts.contain(b"pe").tolist() == [True, True, False, True, True]
    assert texts.take(np.array([1, 3])).strings() == ["dtype", "shapes"]


def test_reading_needs_neither_tensorflow_nor_protobuf():
    program = (
        "import sys, pkgutil, importlib, nbprof.ingest.tfprof as p\n"
        "for module in pkgutil.iter_modules(p.__path__, p.__name__ + '.'):\n"
        "    importlib.import_module(module.name)\n"
        "sys.exit(bool({'tensorflow', 'google.protobuf'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
