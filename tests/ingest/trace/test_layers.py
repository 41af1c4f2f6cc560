"""From scopes to layers, and from layers to the layer view."""

import pytest
from support.by_hand import node, profile, variable

from nbprof.ingest.trace.attribution.layers import settle
from nbprof.ingest.trace.program.gradients import forward_name

TRAINED = profile(
    node("a/MatMul", "MatMul", micros=10, flops=100, layer="model/dense"),
    node(
        "gradient_tape/a/MatMul", "MatMul", micros=20, flops=200, layer="model/dense", backward=True
    ),
    node("b/Relu", "Relu", micros=3, layer="model/re_lu"),
    node("update", "AssignSubVariableOp", micros=5, layer="optimizer"),
    node("Sum", "Sum", micros=1),
    variables=[
        variable("model/dense/kernel", "3x4", layer="model/dense"),
        variable("model/dense/bias", "4", layer="model/dense"),
        variable("sgd/momentum", "3x4", trainable=False, layer="optimizer"),
    ],
)


def rows(view, *columns):
    frame = view.frame
    return {
        name: tuple(values) for name, *values in frame[["name", *columns]].itertuples(index=False)
    }


def test_a_layer_shows_its_forward_and_backward_pass_below_their_sum():
    found = rows(TRAINED.layer(), "micros", "total_micros")

    assert found["model"][1] == 33
    assert found["model/dense"] == (0, 30)
    assert found["model/dense/forward"] == (10, 10)
    assert found["model/dense/backward"] == (20, 20)


def test_a_layer_without_a_backward_pass_is_one_row():
    found = rows(TRAINED.layer(), "micros", "total_micros")

    assert found["model/re_lu"] == (3, 3)
    assert "model/re_lu/forward" not in found


def test_the_rows_of_the_layer_view_add_up_to_the_op_view():
    layers, ops = (
        TRAINED.layer(select="micros,float_ops,occurrence"),
        TRAINED.op(select="micros,float_ops"),
    )

    for metric in ("micros", "float_ops"):
        assert layers.frame[f"total_{metric}"][0] == ops.frame[metric].sum()
        assert layers.frame[metric].sum() == ops.frame[metric].sum()


def test_parameters_belong_to_their_layer_or_to_the_optimizer():
    found = rows(TRAINED.layer(select="params"), "params", "total_params")

    assert found["model/dense"] == (16, 16)
    assert found["model"] == (0, 16)
    assert found["optimizer"] == (12, 12)
    assert found["_TFProfRoot"][1] == 28


def test_variables_are_listed_as_nodes_only_if_parameters_are_selected():
    assert rows(TRAINED.scope(select="params"), "params", "shape")["model/dense/kernel"] == (
        12,
        "3x4",
    )
    assert "model/dense/kernel" not in rows(TRAINED.scope(), "micros")
    assert rows(TRAINED.op(select="params"), "params")["VarHandleOp"] == (28,)
    assert "VarHandleOp" not in rows(TRAINED.op(), "micros")


def test_trainable_variables_have_an_op_type_of_their_own():
    types = rows(TRAINED.scope(select="params,op_types"), "op_types")

    assert types["model/dense/bias"] == ("VarHandleOp|_trainable_variables",)
    assert types["sgd/momentum"] == ("VarHandleOp",)
    assert types["a/MatMul"] == ("/device:CPU:0|MatMul",)


def test_the_shape_of_a_variable_is_printed_before_its_parameters():
    assert "    model/dense (0/16 params)" in TRAINED.scope(select="params").text
    assert "      model/dense/kernel (3x4, 12/12 params)" in TRAINED.scope(select="params").text


def test_a_layer_with_a_single_variable_has_no_shape():
    view = TRAINED.layer(select="params")

    assert rows(view, "params", "shape")["optimizer"] == (12, "")
    assert "optimizer (12/12 params)" in view.text
    assert "<small>3x4</small>" not in view._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize(
    ("name", "forward", "backward"),
    [
        ("dense_1/MatMul", "dense_1/MatMul", False),
        ("gradient_tape/dense_1/MatMul/MatMul_1", "dense_1/MatMul/MatMul_1", True),
        ("gradients/dense/MatMul_grad/MatMul_1", "dense/MatMul", True),
        ("gradients_1/dense/MatMul_grad/MatMul_1", "dense/MatMul", True),
        ("gradient_tape/a/while/gradients/a/while/cell/mul_grad/Mul", "a/while/cell/mul", True),
        ("my_gradients_of/dense/MatMul", "my_gradients_of/dense/MatMul", False),
    ],
)
def test_the_name_of_a_gradient_leads_to_its_forward_node(name, forward, backward):
    assert forward_name(name) == (forward, backward)


def test_a_scope_with_one_candidate_takes_it_from_the_others():
    # Layers re_lu and re_lu_1 run in scopes re_lu_1 and re_lu_1_2.
    assert settle({"re_lu_1": [0, 1], "re_lu_1_2": [1]}) == {"re_lu_1": 0, "re_lu_1_2": 1}


def test_scopes_with_the_same_candidates_take_them_in_order():
    assert settle({"a_1": [0, 1], "a_2": [0, 1]}) == {"a_1": 0, "a_2": 1}


def test_a_layer_may_have_several_scopes():
    assert settle({"a_1": [0], "a_2": [0]}) == {"a_1": 0, "a_2": 0}
