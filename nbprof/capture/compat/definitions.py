"""Ask TensorFlow for the nodes and variables of functions and v1 graphs."""

from typing import Any

from nbprof.capture.capture import Variable
from nbprof.capture.compat import doors

VARIABLE_OPS = frozenset(("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp"))
"""Op types of variables."""


def function_def(name: str) -> Any:
    """Return the FunctionDef of a function that the runtime knows, or None."""
    import tensorflow as tf

    context = runtime()
    if context is None or doors.FUNCTION_DEF.open() is None:
        return None
    try:
        return context.get_function_def(name)
    except tf.errors.NotFoundError:
        return None


def dataset_functions() -> list[str]:
    """List the functions that tf.data made from the user's functions."""
    return [name for name in all_functions() if name.startswith("__inference_Dataset_")]


def all_functions() -> list[str]:
    """List the functions that the runtime knows."""
    context = runtime()
    if context is None or doors.FUNCTION_NAMES.open() is None:
        return []
    return sorted(context.list_function_names())


def graph_as_function(graph: Any) -> Any:
    """Return the nodes of a v1 graph as a FunctionDef whose arguments are its variables."""
    import tensorflow as tf

    function = tf.compat.v1.GraphDef().library.function.add()  # FunctionDef itself is private
    function.node_def.extend(graph.as_graph_def().node)
    for node in function.node_def:
        if node.op in VARIABLE_OPS:
            function.signature.input_arg.add(name=node.name)
    return function


def functions_of_graph(graph: Any) -> dict[str, Any]:
    """Return the FunctionDefs in the library of a v1 graph, by name."""
    return {function.signature.name: function for function in graph.as_graph_def().library.function}


def graph_variables(graph: Any) -> list[Variable]:
    """List the variables of a v1 graph."""
    trainable = {variable.op.name for variable in graph.get_collection("trainable_variables")}
    found = []
    for operation in graph.get_operations():
        if operation.type in VARIABLE_OPS:
            shape = operation.get_attr("shape")
            dims = tuple(dimension.size for dimension in shape.dim)
            known = not shape.unknown_rank and all(size >= 0 for size in dims)
            found.append(
                Variable(
                    name=operation.name,
                    dims=dims if known else None,
                    trainable=operation.name in trainable,
                    itemsize=int(operation.get_attr("dtype").size),
                    op_type=operation.type,
                )
            )
    return found


def runtime() -> Any:
    """Return the context of the eager runtime if it is up; starting it would freeze settings."""
    get_context = doors.CONTEXT.open()
    if get_context is None or doors.CONTEXT_HANDLE.open() is None:
        return None
    context = get_context()
    try:
        return context if context._handle is not None else None
    except AssertionError:  # it is not up yet
        return None
