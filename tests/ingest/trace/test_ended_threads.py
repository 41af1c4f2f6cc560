"""Traces of TensorFlow before 2.18, which lose the events of threads that ended."""

import numpy as np
import pytest
from support.trace_files import environment, op, span
from support.xspace_bytes import line, plane, space

from nbprof import ingest
from nbprof.capture.capture import CALLING_THREAD, Capture, DispatchLog, TraceWindow
from nbprof.ingest.trace.work.ended_threads import MISSING_CALLS, MISSING_STAGES, WHY

BEGAN_NS = 5_000_000
CONSTANT, MATRIX, FAILED = (), ((2, 2),), (None,)
"""Shapes that a constant takes, that an op takes or returns, and that a failed call returns."""


def eager(name, start):
    return [
        span("EagerExecute", start, 20, eager_op=name, is_func=0),
        span("KernelAndDeviceFunc::Run", start + 5, 10),
    ]


def watched(*calls):
    """Return a log of calls (start in µs, shapes of inputs, shape of output) of 30 µs each."""
    shapes = (CONSTANT, MATRIX, FAILED)
    start = BEGAN_NS + np.array([call[0] for call in calls], dtype=np.int64) * 1000
    none = np.zeros(len(calls), dtype=np.int64)
    return DispatchLog(
        sites=((("cell.py", 1, "<module>"),),),
        start_ns=start,
        end_ns=start + 30_000,
        thread=none,
        site=none,
        shapes=shapes,
        shape=np.array([shapes.index(call[1]) for call in calls], dtype=np.int64),
        output_shape=np.array([shapes.index(call[2]) for call in calls], dtype=np.int64),
        output_bytes=none,
        inside=(((), ""),),
    )


def read(*threads, keeps_threads=False, **rest):
    """Read a cell of 1000 µs, of which 900 were traced."""
    first, *others = threads
    lines = [line(1, "python", 0, [span(CALLING_THREAD, 0, 0), *first])]
    lines += [line(2 + number, "other", 0, events) for number, events in enumerate(others)]
    trace = space(plane("/host:CPU", lines=lines), environment(BEGAN_NS, BEGAN_NS + 10**6))
    window = TraceWindow(trace=trace, began_ns=BEGAN_NS, ended_ns=BEGAN_NS + 900_000)
    return ingest.read(
        Capture(
            windows=(window,),
            what="a cell",
            how="a trace",
            start_ns=BEGAN_NS,
            wall_ns=1_000_000,
            traced_ns=900_000,
            cost_ns=0,
            keeps_threads=keeps_threads,
            **rest,
        )
    )


def said_to_be_lost(profile):
    """Return the notes on ended threads; another one says that the last 100 µs ran bare."""
    return tuple(note for note in profile.notes if WHY in note)


def test_calls_that_left_no_event_are_counted():
    calls = watched(*((start, MATRIX, MATRIX) for start in (100, 200, 300)))
    profile = read(eager("MatMul", 205), dispatches=calls)
    assert said_to_be_lost(profile) == (MISSING_CALLS.format(2),)


def test_a_cell_is_not_said_to_run_nothing_if_all_of_it_is_missing():
    profile = read((), dispatches=watched((100, MATRIX, MATRIX)))
    assert said_to_be_lost(profile) == (MISSING_CALLS.format(1),)
    assert not any("no TensorFlow op ran" in note for note in profile.notes)


@pytest.mark.parametrize(
    "call",
    [(300, CONSTANT, MATRIX), (300, MATRIX, FAILED), (950, MATRIX, MATRIX)],
    ids=["a constant", "a call that failed", "a call after tracing ended"],
)
def test_calls_that_need_not_leave_an_event_are_not_missed(call):
    calls = watched((200, MATRIX, MATRIX), call)
    profile = read(eager("MatMul", 205), dispatches=calls)
    assert said_to_be_lost(profile) == ()


def test_nothing_is_missed_where_threads_keep_their_events():
    calls = watched((100, MATRIX, MATRIX), (200, MATRIX, MATRIX))
    profile = read(eager("MatMul", 205), dispatches=calls, keeps_threads=True)
    assert said_to_be_lost(profile) == ()


@pytest.mark.parametrize(("pipelines", "notes"), [(1, ()), (2, (MISSING_STAGES,))])
def test_stages_of_pipelines_are_lower_bounds_once_a_pipeline_may_have_ended(pipelines, notes):
    python = [each for number in range(pipelines) for each in eager("MakeIterator", 50 * number)]
    profile = read(python, [span("Iterator::Root::Map", 300, 10)])
    assert said_to_be_lost(profile) == notes


class Definition:
    """A FunctionDef with these nodes."""

    def __init__(self, *nodes):
        self.node_def = [Node(name) for name in nodes]
        self.signature = self
        self.input_arg = ()

    def SerializeToString(self):  # noqa: N802 - protobuf's name
        return repr([node.name for node in self.node_def]).encode()


class Node:
    def __init__(self, name):
        self.name, self.op, self.input, self.attr, self.device = name, "Mul", (), {}, ""


FUNCTIONS = {
    "__inference_double_3": Definition("double/mul", "double/add"),
    "__inference_Dataset_map_scale_5": Definition("scale/mul"),
    "__inference_other_7": Definition("other/mul"),
}


def executed(identity, start, *names):
    """Return events of a function whose start is not in the trace."""
    ops = [op(f"{name}:Mul", start + 10 * place, 5) for place, name in enumerate(names, start=1)]
    return [span("ExecutorState::Process", start, 90, id=identity), *ops]


def names_and_layers(profile):
    layers = profile.layers["name"].to_numpy()[profile.events["layer"]]
    names = profile.nodes["name"].to_numpy()[profile.events["node"]]
    return dict(zip(names, layers, strict=True))


def test_functions_without_a_start_are_recognised_by_their_nodes():
    graph = [
        *executed(11, 100, "double/mul", "double/add"),
        *executed(12, 200, "scale/mul"),
        *executed(13, 300, "no/such/node"),
    ]
    profile = read((), graph, function_def=FUNCTIONS.get, known_functions=lambda: sorted(FUNCTIONS))
    assert names_and_layers(profile) == {
        "double/mul": "outside layers",
        "double/add": "outside layers",
        "scale/mul": "input pipeline",
        "no/such/node": "outside layers",
    }


def test_functions_without_a_start_stay_unknown_if_several_have_their_nodes():
    functions = FUNCTIONS | {"__inference_twin_9": Definition("scale/mul")}
    profile = read(
        (),
        [*executed(12, 200, "scale/mul"), *executed(13, 300, "scale/mul")],
        function_def=functions.get,
        known_functions=lambda: sorted(functions),
    )
    assert names_and_layers(profile) == {"scale/mul": "outside layers"}
    frame = profile.scope().frame.set_index("name")
    assert frame.loc["scale/mul", "run_count"] == 2
