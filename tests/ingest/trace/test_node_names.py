from types import SimpleNamespace

import pytest

from nbprof.ingest.trace.function_names import distinguish, function_of_module, short_name
from nbprof.ingest.trace.program.function_defs import Functions
from nbprof.ingest.trace.program.node_names import resolve as resolve_name


def attribute(*names, listed=False):
    functions = [SimpleNamespace(name=name) for name in names]
    return SimpleNamespace(
        HasField=lambda _: not listed and bool(functions),
        func=functions[0] if functions else None,
        list=SimpleNamespace(func=functions if listed else []),
    )


def function(*nodes, arguments=(), **calls):
    """Return a stand-in for a FunctionDef; `calls` is `{node: {attribute: callee}}`."""
    called = {
        name.replace("__", "/"): {key: attribute(callee) for key, callee in attributes.items()}
        for name, attributes in calls.items()
    }
    return SimpleNamespace(
        node_def=[
            SimpleNamespace(name=name, op="Op", device="", input=(), attr=called.get(name, {}))
            for name in (*nodes, *called)
        ],
        signature=SimpleNamespace(input_arg=[SimpleNamespace(name=name) for name in arguments]),
        SerializeToString=lambda: repr((nodes, arguments, calls)).encode(),
    )


LIBRARY = {
    "__inference_train_9": function(
        "IteratorGetNext",
        StatefulPartitionedCall={"f": "__inference_step_8"},
        while_={"cond": "while_cond_3", "body": "while_body_4"},
    ),
    "__inference_step_8": function(
        "dense/MatMul", dense__cond={"then_branch": "then_5", "else_branch": "else_6"}
    ),
    "then_5": function("dense/cond/Relu"),
    "else_6": function("dense/cond/Neg"),
    "while_body_4": function("while/add", while__Call={"f": "__inference_inner_2"}),
    "while_cond_3": function("while/Less"),
    "__inference_inner_2": function("Sin", arguments=("x",)),
}


def resolve(executed, root="__inference_train_9"):
    resolved = resolve_name(Functions(LIBRARY.get), root, executed)
    return resolved.function, resolved.node


def owner(executed):
    return resolve_name(Functions(LIBRARY.get), "__inference_train_9", executed).owner


def test_a_node_of_the_function_itself_keeps_its_name():
    assert resolve("IteratorGetNext") == ("__inference_train_9", "IteratorGetNext")


def test_the_prefix_of_a_call_is_stripped():
    assert resolve("StatefulPartitionedCall/dense/MatMul") == ("__inference_step_8", "dense/MatMul")


def test_a_branch_is_followed_into_its_function():
    executed = "StatefulPartitionedCall/dense/cond/else/_12/dense/cond/Neg"

    assert resolve(executed) == ("else_6", "dense/cond/Neg")


def test_the_calls_of_functions_that_lead_to_a_node_are_kept():
    executed = "while_/body/_1/while/Call/Sin"

    found = resolve_name(Functions(LIBRARY.get), "__inference_train_9", executed)

    assert [(call.owner, call.function, call.node) for call in found.calls] == [
        ("__inference_train_9", "while_body_4", "while/Call")
    ]


def test_a_function_says_whose_gradient_it_computes():
    forward = SimpleNamespace(s=b"__forward_step_3")
    gradient = function("gradients/MatMul")
    gradient.attr = {"forward_function_name": forward}
    gradient.SerializeToString = lambda: b"a gradient"
    functions = Functions({"__backward_step_4": gradient, "plain": function("x")}.get)

    assert functions.body("__backward_step_4").forward == "__forward_step_3"
    assert functions.body("plain").forward == ""


def test_calls_inside_a_loop_are_followed():
    assert resolve("while_/body/_1/while/Call/Sin") == ("__inference_inner_2", "Sin")
    assert resolve("while_/cond/_0/while/Less") == ("while_cond_3", "while/Less")


def test_a_node_belongs_to_the_tf_function_around_its_loop_body():
    assert owner("while_/body/_1/while/add") == "__inference_train_9"
    assert owner("while_/cond/_0/while/Less") == "__inference_train_9"
    assert owner("while_/body/_1/while/Call/Sin") == "__inference_inner_2"


def test_an_argument_whose_name_looks_like_a_call_is_a_node():
    library = {"__inference_f_1": function("Sin", arguments=("call/x",), call={"f": "g"})}

    resolved = resolve_name(Functions(library.get), "__inference_f_1", "call/x")

    assert (resolved.function, resolved.node) == ("__inference_f_1", "call/x")


def test_a_case_op_is_followed_into_the_branch_that_ran():
    listed = attribute("first_1", "second_2", listed=True)
    case = SimpleNamespace(name="case", op="Case", device="", input=(), attr={"branches": listed})
    library = {
        "__inference_f_1": SimpleNamespace(
            node_def=[case],
            signature=SimpleNamespace(input_arg=[]),
            SerializeToString=lambda: b"a case of two",
        ),
        "second_2": function("case/Cos"),
    }

    resolved = resolve_name(Functions(library.get), "__inference_f_1", "case/branch1/_4/case/Cos")

    assert (resolved.function, resolved.node) == ("second_2", "case/Cos")


def test_nodes_of_a_lowered_loop_belong_to_the_function_with_the_loop():
    assert resolve("while_/merge/_46") == ("__inference_train_9", "while_/merge/_46")


def test_nodes_that_the_runtime_adds_are_named_after_the_node_they_serve():
    assert resolve("_send_StatefulPartitionedCall/dense/MatMul_0") == (
        "__inference_step_8",
        "_send_dense/MatMul_0",
    )


def test_names_in_an_unknown_function_stay_as_they_are():
    assert resolve("a/b", root="gone") == ("gone", "a/b")


def test_a_scope_that_only_looks_like_a_call_is_kept():
    assert resolve("PartitionedCall/b") == ("__inference_train_9", "PartitionedCall/b")


def test_a_function_is_shown_by_its_python_name():
    assert short_name("__inference_one_step_on_data_1350") == "one_step_on_data"
    assert short_name("__inference__lambda__3") == "<lambda>"
    assert short_name("tf.data") == "tf.data"


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("a_inference_xf_1746__XlaMustCompile_true_config_proto_1_.2", "__inference_xf_1746"),
        ("a_inference_one_step_on_data_329__.5", "__inference_one_step_on_data_329"),
        ("__inference_<lambda>_3", "__inference__lambda__3"),
    ],
)
def test_the_function_that_xla_compiled_is_recognised_by_its_module_or_call(module, function):
    assert function_of_module(module) == function


def test_hlo_ops_are_always_listed_under_their_function():
    f, g = "__inference_f_1", "__inference_f_2"

    assert distinguish([(f, "/"), (f, "/MatMul.2")]) == ["f", "f/MatMul.2"]
    assert distinguish([(f, "/sine"), (g, "/sine")]) == ["f_1/sine", "f_2/sine"]


def test_a_function_named_like_a_group_is_kept_apart_from_it():
    named = distinguish([("session", "Sin"), ("__inference_session_5", "Sin")])

    assert named == ["session/Sin", "session_5/Sin"]


def test_function_names_are_added_only_where_node_names_collide():
    f, g = "__inference_f_1", "__inference_g_2"

    named = distinguish([(f, "Sin"), (f, "dense/MatMul"), (g, "Sin"), (g, "Cos")])

    assert named == ["f/Sin", "dense/MatMul", "g/Sin", "Cos"]


def test_a_scope_stays_together_when_one_of_its_nodes_collides():
    f, g = "__inference_f_1", "__inference_g_2"

    named = distinguish([(f, "dense/MatMul"), (f, "dense/Relu"), (g, "dense/MatMul")])

    assert named == ["f/dense/MatMul", "f/dense/Relu", "g/dense/MatMul"]


def test_an_eager_op_keeps_its_name_when_a_function_has_a_node_of_that_name():
    assert distinguish([("", "MatMul"), ("__inference_f_1", "MatMul")]) == ["MatMul", "f/MatMul"]


def test_two_traces_of_one_function_are_numbered():
    named = distinguish([("__inference_f_1", "Sin"), ("__inference_f_27", "Sin")])

    assert named == ["f_1/Sin", "f_27/Sin"]
