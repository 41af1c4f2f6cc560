"""nbprof reads real traces exactly like TensorFlow's own protobuf classes."""

import numpy as np
import pytest

from nbprof.capture.compat import profiler_session, switches
from nbprof.ingest.xspace.xspace import read_xspace

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")


def record(directory, body):
    """Trace `body`, with all ops and allocations."""
    with switches.allocations_recorded():
        session = profiler_session.start_session(str(directory), every_run=True)
        try:
            body()
        finally:
            session.export_to_tb()
    (path,) = directory.glob("**/*.xplane.pb")
    return path.read_bytes()


def fit():
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(3)])
    model.compile("adam", "mse")
    model.fit(np.ones((64, 8, 8, 1), "f4"), np.ones((64, 3), "f4"), batch_size=4, verbose=0)


def eager():
    value = tf.ones((4, 4))
    for _ in range(300):
        value = tf.tanh(value @ value)


def session():
    with tf.Graph().as_default(), tf.compat.v1.Session() as running:
        product = tf.compat.v1.placeholder(tf.float32, (2, 2), name="x") @ tf.eye(2)
        for _ in range(50):
            running.run(product, {"x:0": np.ones((2, 2))})


@pytest.fixture(scope="module", params=[fit, eager, session], ids=lambda body: body.__name__)
def trace(request, tmp_path_factory):
    return record(tmp_path_factory.mktemp(request.param.__name__), request.param)


def protobuf_events(message):
    """Yield plane row, plane, line row, line and event, in file order."""
    line_row = 0
    for plane_row, plane in enumerate(message.planes):
        for line in plane.lines:
            for event in line.events:
                yield plane_row, plane, line_row, line, event
            line_row += 1


def test_every_event_equals_protobuf(trace):
    xspace = read_xspace(trace)

    rows = zip(
        xspace.line_plane[xspace.line].tolist(),
        xspace.line.tolist(),
        xspace.line_id[xspace.line].tolist(),
        [xspace.line_name[row] for row in xspace.line],
        [xspace.strings[row].decode() for row in xspace.name],
        [xspace.strings[row].decode() for row in xspace.display_name],
        xspace.start_ps.tolist(),
        xspace.duration_ps.tolist(),
        strict=True,
    )
    expected = [
        (
            plane_row,
            line_row,
            line.id,
            line.name,
            plane.event_metadata[event.metadata_id].name,
            plane.event_metadata[event.metadata_id].display_name,
            line.timestamp_ns * 1000 + event.offset_ps,
            event.duration_ps,
        )
        for plane_row, plane, line_row, line, event in protobuf_events(parse(trace))
    ]
    assert list(rows) == expected
    assert len(expected) > 1000


def test_every_stat_of_every_event_equals_protobuf(trace):
    expected = {}
    for row, (_, plane, _, _, event) in enumerate(protobuf_events(parse(trace))):
        for stat in event.stats:
            name = plane.stat_metadata[stat.metadata_id].name
            expected.setdefault(name, {})[row] = protobuf_value(plane, stat)

    xspace = read_xspace(trace)

    assert {"id", "requested_bytes", "addr", "tf_op"} <= set(expected)
    for name, values in expected.items():
        stat = xspace.stat(name)
        assert stat.event.tolist() == list(values)
        if stat.is_text:
            assert [xspace.strings[row].decode() for row in stat.value] == [
                *map(str, values.values())
            ]
        else:
            assert stat.value.tolist() == [as_int64(value) for value in values.values()]


def test_planes_and_their_stats_equal_protobuf(trace):
    message = parse(trace)

    xspace = read_xspace(trace)

    assert xspace.plane_names == [plane.name for plane in message.planes]
    assert xspace.plane_stats == [
        {
            plane.stat_metadata[stat.metadata_id].name: plane_value(plane, stat)
            for stat in plane.stats
        }
        for plane in message.planes
    ]
    assert any("profile_start_time" in stats for stats in xspace.plane_stats)


def parse(trace):
    try:
        return xplane_pb2.XSpace.FromString(trace)
    except Exception as error:  # noqa: BLE001  (DecodeError comes from whichever protobuf is installed)
        pytest.skip(f"protobuf refuses a text in this trace that is not UTF-8: {error}")


def protobuf_value(plane, stat):
    value = getattr(stat, stat.WhichOneof("value"))
    if stat.WhichOneof("value") == "ref_value":
        return plane.stat_metadata[value].name
    return value.decode() if isinstance(value, bytes) else value


def plane_value(plane, stat):
    value = getattr(stat, stat.WhichOneof("value"))
    if stat.WhichOneof("value") == "ref_value":
        value = plane.stat_metadata[value].name
    return value.encode() if isinstance(value, str) else value


def as_int64(value):
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value
