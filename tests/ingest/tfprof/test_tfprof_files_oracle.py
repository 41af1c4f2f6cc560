"""nbprof and TensorFlow's own protobuf classes read the same from tfprof's files."""

import subprocess
import sys
from random import Random

import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from support.paths import DATA as TEST_DATA
from support.random_messages import fill
from support.tfprof_engine import Engine

from nbprof.export.saved_profile.proto_writer import write_profile_proto
from nbprof.ingest.protobuf import wire
from nbprof.ingest.tfprof.checkpoint import read_checkpoint
from nbprof.ingest.tfprof.graph_def import read_graph_def
from nbprof.ingest.tfprof.op_log import read_op_log
from nbprof.ingest.tfprof.profile_reader import read_profile_proto
from nbprof.ingest.tfprof.run_metadata import read_run_metadata
from nbprof.ingest.tfprof.text_format import to_binary
from nbprof.ingest.tfprof.text_schema import Field, enums, messages

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
graph_pb2 = pytest.importorskip("tensorflow.core.framework.graph_pb2")
config_pb2 = pytest.importorskip("tensorflow.core.protobuf.config_pb2")
tfprof_log_pb2 = pytest.importorskip("tensorflow.core.profiler.tfprof_log_pb2")

DATA = TEST_DATA / "tfprof"
SEEDS = range(60)

SCALARS = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


@pytest.fixture(params=["plain", "vectors"])
def halves(request, monkeypatch):
    """Read by loops and by vectors, between which the size of a file would choose."""
    monkeypatch.setattr(wire, "FEW", 10**9 if request.param == "plain" else 0)


def wrap(number, bits):
    """Wrap a number to a signed integer of this many bits, as C does."""
    number &= 2**bits - 1
    return number - 2**bits if number >> bits - 1 else number


# GraphDef


def assert_same_graph(message, graph):
    nodes = message.node
    assert graph.name.strings() == [node.name for node in nodes]
    assert graph.op.strings() == [node.op for node in nodes]
    assert graph.device.strings() == [node.device for node in nodes]
    inputs = zip(
        graph.inputs.node.tolist(),
        graph.inputs.position.tolist(),
        graph.inputs.text.strings(),
        strict=True,
    )
    assert list(inputs) == [
        (row, i, text) for row, node in enumerate(nodes) for i, text in enumerate(node.input)
    ]
    own, outputs, formats = [], [], {}
    for row, node in enumerate(nodes):
        if node.attr["shape"].HasField("shape"):
            own.append((row, 0, *written_shape(node.attr["shape"].shape)))
        for index, shape in enumerate(node.attr["_output_shapes"].list.shape):
            outputs.append((row, index, *written_shape(shape)))
        if node.attr["data_format"].HasField("s"):
            formats[row] = node.attr["data_format"].s
    assert shape_rows(graph.shape) == own
    assert shape_rows(graph.output_shapes) == outputs
    assert graph.data_format == formats


def written_shape(shape):
    return shape.unknown_rank, [dim.size for dim in shape.dim]


def shape_rows(shapes):
    return [
        (node, output, unknown, shapes.dims[start : start + rank].tolist())
        for node, output, unknown, start, rank in zip(
            shapes.node.tolist(),
            shapes.output.tolist(),
            shapes.unknown_rank.tolist(),
            shapes.start.tolist(),
            shapes.rank.tolist(),
            strict=True,
        )
    ]


def random_graph(mix):
    graph = fill(graph_pb2.GraphDef(), mix, depth=3)
    for _ in range(mix.choice((0, 3, 60))):
        node = fill(graph.node.add(), mix, depth=3)
        for name in ("shape", "_output_shapes", "data_format"):
            if mix.random() < 0.7:
                fill(node.attr[name], mix, depth=4)
        for _ in range(mix.randint(0, 3)):
            fill(node.attr["_output_shapes"].list.shape.add(), mix)
    return graph


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_graph_is_read_as_protobuf_reads_it(seed, halves):
    message = random_graph(Random(seed))

    assert_same_graph(message, read_graph_def(message.SerializeToString()))


def test_the_attributes_of_a_random_graph_keep_their_bytes():
    message = random_graph(Random(7))
    graph = read_graph_def(message.SerializeToString())

    entries = [graph_pb2.GraphDef().node.add() for _ in message.node]
    for row, name, value in zip(
        graph.attributes.node,
        graph.attributes.name.strings(),
        graph.attributes.value.raw(),
        strict=True,
    ):
        entries[row].attr[name].ParseFromString(value)

    assert [entry.attr for entry in entries] == [node.attr for node in message.node]


# RunMetadata


def assert_same_run(message, run):
    records = [
        (row, record)
        for row, device in enumerate(message.step_stats.dev_stats)
        for record in device.node_stats
    ]
    assert run.has_step_stats == message.HasField("step_stats")
    assert run.devices.strings() == [each.device for each in message.step_stats.dev_stats]
    assert run.device.tolist() == [row for row, _ in records]
    assert run.node_name.strings() == [record.node_name for _, record in records]
    assert run.all_start_micros.tolist() == [each.all_start_micros for _, each in records]
    assert run.op_end_rel_micros.tolist() == [each.op_end_rel_micros for _, each in records]
    expected = [memory_of(record) for _, record in records]
    memory = run.memory
    columns = (
        memory.total,
        memory.peak,
        memory.live,
        memory.in_use,
        memory.has_stats,
        memory.temp,
        memory.persistent,
        run.output_bytes,
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    outputs = run.outputs
    columns = outputs.record, outputs.slot, outputs.bytes, outputs.pointer
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (row, *output) for row, (_, record) in enumerate(records) for output in described(record)
    ]
    allocations = run.allocations
    columns = allocations.record, allocations.micros, allocations.bytes
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (row, each.alloc_micros, each.alloc_bytes)
        for row, (_, record) in enumerate(records)
        for memory in record.memory
        if "GPU" in memory.allocator_name
        for each in memory.allocation_records
    ]


def memory_of(record):
    in_use = [each.allocator_bytes_in_use for each in record.memory if "GPU" in each.allocator_name]
    return (
        wrap(sum(each.total_bytes for each in record.memory), 64),
        wrap(sum(each.peak_bytes for each in record.memory), 64),
        wrap(sum(each.live_bytes for each in record.memory), 64),
        max([0, *in_use]),
        record.HasField("memory_stats"),
        record.memory_stats.temp_memory_size,
        record.memory_stats.persistent_memory_size,
        wrap(sum(size for _, size, _ in described(record)), 64),
    )


def described(record):
    for output in record.output:
        if output.tensor_description.HasField("allocation_description"):
            allocation = output.tensor_description.allocation_description
            size = max(allocation.allocated_bytes, allocation.requested_bytes)
            yield output.slot, size, allocation.ptr


def random_run(mix):
    message = config_pb2.RunMetadata()
    if mix.random() < 0.9:
        message.step_stats.SetInParent()
    for _ in range(mix.randint(0, 3)):
        device = message.step_stats.dev_stats.add(device=mix.choice(("/cpu:0", "", "/gpu:0")))
        for _ in range(mix.choice((0, 2, 40))):
            fill(device.node_stats.add(), mix)
    return message


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_run_is_read_as_protobuf_reads_it(seed, halves):
    message = random_run(Random(seed))

    assert_same_run(message, read_run_metadata(message.SerializeToString()))


def test_step_stats_in_two_pieces_are_merged():
    first, second = random_run(Random(1)), random_run(Random(2))
    data = first.SerializeToString() + second.SerializeToString()

    assert_same_run(config_pb2.RunMetadata.FromString(data), read_run_metadata(data))


def test_tfprofs_own_run_is_read_as_protobuf_reads_it():
    data = (DATA / "run_meta").read_bytes()

    assert_same_run(config_pb2.RunMetadata.FromString(data), read_run_metadata(data))


# OpLogProto


def assert_same_log(message, log):
    entries = message.log_entries
    assert log.name.strings() == [entry.name for entry in entries]
    assert log.float_ops.tolist() == [entry.float_ops for entry in entries]
    assert log.has_code.tolist() == [entry.HasField("code_def") for entry in entries]
    types = list(zip(log.type_entry.tolist(), log.type_name.strings(), strict=True))
    assert types == [(row, name) for row, each in enumerate(entries) for name in each.types]
    assert trace_rows(log.traces) == [
        (row, *frame(trace)) for row, each in enumerate(entries) for trace in each.code_def.traces
    ]
    assert log.id_to_string.lookup() == dict(message.id_to_string)


def frame(trace):
    return (trace.file_id, trace.lineno, trace.function_id, trace.line_id, trace.func_start_line)


def trace_rows(traces):
    columns = (
        traces.owner,
        traces.file_id,
        traces.lineno,
        traces.function_id,
        traces.line_id,
        traces.func_start_line,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_log_is_read_as_protobuf_reads_it(seed, halves):
    mix = Random(seed)
    message = fill(tfprof_log_pb2.OpLogProto(), mix)
    for _ in range(mix.choice((0, 2, 60))):
        fill(message.log_entries.add(), mix)

    assert_same_log(message, read_op_log(message.SerializeToString()))


def test_tfprofs_own_log_is_read_as_protobuf_reads_it():
    data = (DATA / "tfprof_log").read_bytes()

    assert_same_log(tfprof_log_pb2.OpLogProto.FromString(data), read_op_log(data))


# ProfileProto


def random_profile(mix):
    message = fill(tfprof_log_pb2.ProfileProto(), mix, depth=8)
    for key in range(mix.choice((0, 2, 40))):
        fill(message.nodes[key], mix, depth=8)
    for node in message.nodes.values():
        node.ClearField("input_shapes")
        node.ClearField("outputs")
        for trace in node.trace.traces:
            _clear_texts(trace)
        for each in node.execs.values():
            for table in (each.accelerator_execs, each.cpu_execs):
                for times in table.values():
                    for pair in times.times:
                        pair.int64_values[:] = [mix.getrandbits(50), mix.choice((0, 1, -1, 900))]
    return message


def _clear_texts(trace):
    """Clear the texts that older releases know but tfprof no longer writes: ids replaced them."""
    for name in {"file", "function", "line"}.intersection(trace.DESCRIPTOR.fields_by_name):
        trace.ClearField(name)


@pytest.mark.parametrize("seed", SEEDS)
def test_reading_and_writing_a_random_profile_changes_nothing(seed, halves):
    message = random_profile(Random(seed))

    written = write_profile_proto(read_profile_proto(message.SerializeToString()))

    assert tfprof_log_pb2.ProfileProto.FromString(written) == message


TRAIN = """
import sys
from pathlib import Path
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [4, 8])
weights = tf.get_variable("weights", [8, 3], use_resource=False)
loss = tf.reduce_sum(tf.nn.relu(tf.matmul(x, weights)))
train = tf.train.AdamOptimizer().minimize(loss)
session = tf.Session()
session.run(tf.global_variables_initializer())
profiler = tf.profiler.Profiler(session.graph)
options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
for step in (0, 3):
    run = tf.RunMetadata()
    session.run(train, {x: np.ones((4, 8))}, options=options, run_metadata=run)
    profiler.add_step(step, run)
Path(sys.argv[1]).write_bytes(profiler.serialize_to_string())
"""


def test_reading_and_writing_a_saved_training_run_changes_nothing(tmp_path):
    # A process has only one engine, so this runs in its own.
    subprocess.run([sys.executable, "-c", TRAIN, str(tmp_path / "saved")], check=True)
    saved = (tmp_path / "saved").read_bytes()

    written = write_profile_proto(read_profile_proto(saved))

    message = tfprof_log_pb2.ProfileProto.FromString(saved)
    assert tfprof_log_pb2.ProfileProto.FromString(written) == message
    assert len(message.nodes) > 40


def test_tfprof_loads_what_nbprof_writes():
    data = (DATA / "profile").read_bytes()

    with Engine() as engine:
        theirs, ours = (
            tfprof_log_pb2.ProfileProto.FromString(engine.save_again(saved).saved)
            for saved in (data, write_profile_proto(read_profile_proto(data)))
        )

    assert ours == theirs
    assert len(ours.nodes) == 32


# Text


def test_the_schema_has_every_field_of_tensorflows():
    roots = graph_pb2.GraphDef, config_pb2.RunMetadata, tfprof_log_pb2.OpLogProto
    expected = {}
    for root in roots:
        describe(root.DESCRIPTOR, expected)

    assert set(messages()) == set(expected)
    for name, fields in expected.items():
        assert fields.items() <= messages()[name].items(), name


def describe(descriptor, table):
    """Add the fields of a message, and of all messages inside it, to the table."""
    name = kind_of_message(descriptor)
    if name in table:
        return
    table[name] = {f.name.encode(): Field(f.number, kind(f)) for f in descriptor.fields}
    for field in descriptor.fields:
        if field.message_type:
            describe(field.message_type, table)


def kind(field):
    if field.message_type:
        return kind_of_message(field.message_type)
    if field.enum_type:
        values = {value.name.encode(): value.number for value in field.enum_type.values}
        assert values.items() <= enums()[field.enum_type.name].items()
        return field.enum_type.name
    return SCALARS[field.type]


def kind_of_message(descriptor):
    if descriptor.GetOptions().map_entry:
        key, value = descriptor.fields
        return f"{{{kind(key)} {kind(value)}}}"
    return descriptor.full_name.removeprefix("tensorflow.").removeprefix("tfprof.")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("one_line", [False, True])
def test_random_text_is_translated_as_protobuf_does(seed, one_line):
    mix = Random(seed)
    message = mix.choice((graph_pb2.GraphDef, config_pb2.RunMetadata, tfprof_log_pb2.OpLogProto))()
    fill(message, mix, depth=5)
    text = text_format.MessageToString(
        message,
        as_one_line=one_line,
        as_utf8=mix.random() < 0.5,
        use_short_repeated_primitives=mix.random() < 0.5,
        pointy_brackets=mix.random() < 0.5,
    )

    binary = to_binary(text.encode(), message.DESCRIPTOR.name)

    assert type(message).FromString(binary) == message


def test_tfprofs_own_graph_is_translated_as_protobuf_does():
    text = (DATA / "graph.pbtxt").read_bytes()

    binary = to_binary(text, "GraphDef")

    message = text_format.Parse(text, graph_pb2.GraphDef())
    assert graph_pb2.GraphDef.FromString(binary) == message
    assert_same_graph(message, read_graph_def(binary))


# Checkpoints


def test_a_checkpoint_is_read_as_tensorflow_reads_it(tmp_path):
    values = {
        f"scope_{i % 5}/variable_{i}": np.arange(i % 7 * 6).reshape(2, -1, 3).astype(dtype)
        for i, dtype in enumerate(40 * ["f2", "f4", "f8", "i1", "i4", "i8", "u2", "?", "c8"])
    }
    variables = {name: tf.Variable(value) for name, value in values.items()}
    brain = tf.Variable(tf.cast([0.5, -2.0], tf.bfloat16))
    prefix = tf.compat.v1.train.Saver({**variables, "brain": brain}).save(
        None, str(tmp_path / "ckpt"), write_meta_graph=False
    )

    checkpoint = read_checkpoint(prefix)

    assert set(checkpoint.variables) == {*values, "brain"}
    for name, value in values.items():
        assert checkpoint.variables[name].shape == value.shape
        assert checkpoint.values(name).dtype == value.dtype
        np.testing.assert_array_equal(checkpoint.values(name), value)
    assert checkpoint.values("brain").tolist() == [0.5, -2.0]


def test_tfprofs_own_checkpoint_is_read_as_tensorflow_reads_it():
    checkpoint, theirs = read_checkpoint(DATA / "ckpt"), tf.train.load_checkpoint(DATA / "ckpt")

    assert {
        name: list(variable.shape) for name, variable in checkpoint.variables.items()
    } == theirs.get_variable_to_shape_map()
    for name in checkpoint.variables:
        np.testing.assert_array_equal(checkpoint.values(name), theirs.get_tensor(name))
