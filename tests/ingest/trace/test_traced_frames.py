"""The lines of a node are counted from the function it belongs to, wherever that was traced."""

from types import SimpleNamespace

from nbprof.ingest.trace.attribution.traced_frames import TracedFrames
from nbprof.ingest.trace.program.function_defs import UNDEFINED, FunctionBody
from nbprof.ingest.trace.program.node_names import Call, Resolved
from nbprof.ingest.trace.program.python_stacks import GraphStacks

ARGUMENTS = ("/env/site-packages/tensorflow/core/function/polymorphism/function_type.py", 356, "x")
TRACED = ("In [5]", 1, "<module>")
IN_F, CALL_OF_G, IN_G = ("In [3]", 2, "f"), ("In [3]", 3, "f"), ("In [3]", 7, "g")


def debug_info(stacks):
    """Return a stand-in for a GraphDebugInfo with the stack of each node."""
    frames = list(dict.fromkeys(frame for stack in stacks.values() for frame in stack))
    return SimpleNamespace(
        files=[file for file, _, _ in frames],
        frames_by_id={
            number: SimpleNamespace(file_index=number, line=line, func=function)
            for number, (_, line, function) in enumerate(frames)
        },
        traces_by_id={
            number: SimpleNamespace(frame_id=[frames.index(frame) for frame in stack])
            for number, stack in enumerate(stacks.values())
        },
        name_to_trace_id={name: number for number, name in enumerate(stacks)},
        SerializeToString=lambda deterministic: repr(stacks).encode(),
    )


def node(op="MatMul", inputs=(), called=""):
    return UNDEFINED._replace(op=op, inputs=inputs, calls={"f": (called,)} if called else {})


BODIES = {
    "__inference_f_1": FunctionBody(
        {},
        {
            "MatMul": node(),
            "call": node("PartitionedCall", called="__inference_g_2"),
            "gradient_tape/MatMul/MatMul_1": node(),
            "gradient_tape/AddN": node("AddN"),
        },
    ),
    "__inference_g_2": FunctionBody(
        {}, {"Identity": node("Identity"), "Sin": node("Sin")}, returned=("Identity",)
    ),
}
TAPE = (TRACED, ("In [3]", 4, "f"))
STACKS = {
    "__inference_f_1": {
        "x": (TRACED, ARGUMENTS),
        "MatMul": (TRACED, IN_F),
        "call": (TRACED, CALL_OF_G),
        "gradient_tape/MatMul/MatMul_1": TAPE,
        "gradient_tape/AddN": TAPE,
        "made/later": (("In [9]", 1, "<module>"), ("In [3]", 4, "f")),
    },
    # Traced before, from another place, and without arguments.
    "__inference_g_2": {
        "Identity": (("In [4]", 8, "<module>"),),
        "Sin": (("In [4]", 8, "<module>"), IN_G),
    },
    "session": {"MatMul": (TRACED, IN_F)},
}


def frames():
    program = SimpleNamespace(
        functions=SimpleNamespace(
            body=BODIES.get, node=lambda function, name: BODIES[function].nodes.get(name, UNDEFINED)
        ),
        graph_stacks=GraphStacks(lambda name: debug_info(STACKS.get(name, {}))),
    )
    return TracedFrames(program)


def in_f(name):
    return Resolved("__inference_f_1", name, "__inference_f_1", name)


def test_what_led_to_the_trace_is_left_out():
    assert frames().inside(in_f("MatMul")) == (IN_F,)
    assert frames().whole(in_f("MatMul")) == (TRACED, IN_F)


def test_a_called_function_continues_the_line_that_calls_it_wherever_it_was_traced():
    call = Call("__inference_f_1", "call", "__inference_f_1")
    sin = Resolved("__inference_g_2", "Sin", "__inference_g_2", "Sin", calls=(call,))

    assert frames().inside(sin) == (CALL_OF_G, IN_G)


def test_a_gradient_has_the_lines_of_its_forward_node():
    gradient = in_f("gradient_tape/MatMul/MatMul_1")

    assert frames().inside(gradient) == (IN_F,)
    assert frames().whole(gradient) == (TRACED, IN_F)


def test_a_gradient_whose_forward_node_is_not_certain_stays_with_the_tape():
    assert frames().inside(in_f("gradient_tape/AddN")) == TAPE[1:]


def test_a_node_that_was_not_made_by_the_trace_of_its_function_has_no_lines_inside_it():
    assert frames().inside(in_f("made/later")) == ()


def test_the_graph_of_a_session_was_not_traced():
    assert frames().inside(Resolved("session", "MatMul", "session", "MatMul")) == (TRACED, IN_F)
