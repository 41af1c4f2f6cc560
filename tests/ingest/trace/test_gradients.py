"""The node whose gradient a node computes is found by names, types, inputs and calls."""

import pytest

from nbprof.ingest.trace.program.function_defs import UNDEFINED, FunctionBody
from nbprof.ingest.trace.program.gradients import Forward, Gradients


class Defined:
    """Stands in for the functions of a process."""

    def __init__(self, **bodies):
        self.bodies = bodies

    def body(self, name):
        return self.bodies.get(name)

    def node(self, function, name):
        return self.bodies[function].nodes.get(name, UNDEFINED)


def body(nodes, forward=""):
    """Return a function of nodes given as `{name: (op, inputs, function it calls)}`."""
    defined = {
        name: UNDEFINED._replace(
            op=op, inputs=tuple(inputs), calls={"f": tuple(called)} if called else {}
        )
        for name, (op, inputs, *called) in nodes.items()
    }
    return FunctionBody({}, defined, forward)


STEP = body(
    {
        "dense/MatMul": ("MatMul", ()),
        "dense/Relu": ("Relu", ("dense/MatMul",)),
        "Relu": ("Relu", ("dense/Relu",)),
        "Relu_1": ("Relu", ("Relu",)),
        "Sum": ("Sum", ("Relu_1",)),
        "gradient_tape/Sum": ("Sum", ("Relu_1",)),
        "gradient_tape/ReluGrad": ("ReluGrad", ("ones", "Relu_1")),
        "gradient_tape/dense/ReluGrad": ("ReluGrad", ("ones", "dense/Relu")),
        "gradient_tape/dense/MatMul/MatMul_1": ("MatMul", ()),
        "gradients/Sum_grad/Tile": ("Tile", ()),
        "gradients/AddN": ("AddN", ()),
    }
)


@pytest.mark.parametrize(
    ("node", "forward"),
    [
        ("gradient_tape/dense/MatMul/MatMul_1", ["dense/MatMul"]),
        ("gradient_tape/dense/ReluGrad", ["dense/Relu"]),
        ("gradient_tape/ReluGrad", ["Relu_1"]),
        ("gradients/Sum_grad/Tile", ["Sum"]),
        ("dense/MatMul", []),
    ],
)
def test_a_gradient_is_told_by_its_name_or_its_type_and_inputs(node, forward):
    found = Gradients(Defined(step=STEP)).forward("step", node, "step")

    assert found == [Forward("step", name, "step") for name in forward]


@pytest.mark.parametrize("node", ["gradient_tape/Sum", "gradients/AddN"])
def test_the_last_part_of_a_name_is_not_taken_for_the_forward_node(node):
    found = {each.node for each in Gradients(Defined(step=STEP)).forward("step", node, "step")}

    assert len(found) > 1


CALLED = Defined(
    train=body(
        {
            "first": ("PartitionedCall", (), "__forward_f_1"),
            "second": ("PartitionedCall", (), "__forward_f_1"),
            "back": ("PartitionedCall", ("ones", "second"), "__backward_f_2"),
        }
    ),
    __forward_f_1=body({"MatMul": ("MatMul", ()), "g": ("PartitionedCall", (), "__forward_g_3")}),
    __backward_f_2=body(
        {"gradients/g_grad/PartitionedCall": ("PartitionedCall", (), "__backward_g_4")},
        forward="__forward_f_1",
    ),
    __backward_g_4=body({}, forward="__forward_g_3"),
    while_body_5=body({"while/MatMul": ("MatMul", ())}),
    while_body_5_grad_6=body({"gradients/while/MatMul_grad/MatMul": ("MatMul", ())}),
)


def test_the_gradient_of_a_function_belongs_to_the_call_whose_results_it_uses():
    found = Gradients(CALLED).forward("train", "back", "train")

    assert found == [Forward("train", "second", "train")]


def test_gradients_in_the_gradient_of_a_function_belong_to_nodes_of_that_function():
    gradients = Gradients(CALLED)
    owner = "__backward_f_2"

    matmul = gradients.forward(owner, "gradients/MatMul_grad/MatMul_1", owner)
    call = gradients.forward(owner, "gradients/g_grad/PartitionedCall", owner)

    assert matmul == [Forward("__forward_f_1", "MatMul", "__forward_f_1")]
    assert call == [Forward("__forward_f_1", "g", "__forward_f_1")]


def test_gradients_in_a_loop_belong_to_nodes_of_the_loop_before():
    found = Gradients(CALLED).forward(
        "while_body_5_grad_6", "gradients/while/MatMul_grad/MatMul", "train"
    )

    assert found == [Forward("while_body_5", "while/MatMul", "train")]
