"""Ask TensorFlow for the nodes, stacks and variables of functions and v1 graphs."""

from functools import lru_cache
from typing import Any

from nbprof.capture.capture import Variable

VARIABLE_OPS = frozenset(("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp"))
"""Op types of variables."""


def function_def(name: str) -> Any:
    """Return the FunctionDef of a function that the runtime knows, or None."""
    from tensorflow.python.eager import context
    from tensorflow.python.framework import errors

    if not _has_context():
        return None
    try:
        return context.context().get_function_def(name)
    except errors.NotFoundError:
        return None


@lru_cache(4096)
def function_size(name: str) -> int:
    """Count the nodes of a function and of the functions it calls."""
    message = function_def(name)
    if message is None:
        return 1
    called = (
        function.name
        for node in message.node_def
        for value in node.attr.values()
        for function in (value.func, *value.list.func)
        if function.name and function.name != name
    )
    return len(message.node_def) + sum(map(function_size, called))


def function_stacks(name: str) -> Any:
    """Return the GraphDebugInfo of a function (the Python stacks that made its nodes), or None."""
    from tensorflow.python.eager import context
    from tensorflow.python.framework import errors

    if not _has_context():
        return None
    try:
        return context.context().get_graph_debug_info(name)
    except (errors.NotFoundError, RuntimeError):  # RuntimeError if a file name is not UTF-8
        return None


def dataset_functions() -> list[str]:
    """List the functions that tf.data made from the user's functions."""
    return [name for name in all_functions() if name.startswith("__inference_Dataset_")]


def all_functions() -> list[str]:
    """List the functions that the runtime knows."""
    from tensorflow.python.eager import context

    return sorted(context.context().list_function_names()) if _has_context() else []


def graph_as_function(graph: Any) -> Any:
    """Return the nodes of a v1 graph as a FunctionDef whose arguments are its variables."""
    from tensorflow.core.framework.function_pb2 import FunctionDef

    function = FunctionDef(node_def=graph.as_graph_def().node)
    for node in function.node_def:
        if node.op in VARIABLE_OPS:
            function.signature.input_arg.add(name=node.name)
    return function


def functions_of_graph(graph: Any) -> dict[str, Any]:
    """Return the FunctionDefs in the library of a v1 graph, by name."""
    return {function.signature.name: function for function in graph.as_graph_def().library.function}


def graph_stacks(graph: Any) -> Any:
    """Return the GraphDebugInfo of a v1 graph."""
    from tensorflow.python.util import tf_stack

    builder = tf_stack.GraphDebugInfoBuilder()
    for operation in graph.get_operations():
        if operation.traceback is not None:
            builder.AccumulateStackTrace("", operation.name, operation.traceback)
    return builder.Build()


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


def _has_context() -> bool:
    """Return whether the eager runtime is up; starting it would freeze device settings."""
    from tensorflow.python.eager import context

    return context.context()._context_handle is not None
