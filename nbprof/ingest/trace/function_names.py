"""Names of functions: as TensorFlow and XLA spell them, and as they are shown."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

INPUT_PIPELINE = "tf.data"
"""The function that nodes of input pipelines are listed under."""
NOT_KNOWN = "unknown"
"""The function of nodes whose function is unknown; that of eager ops is an empty text. With `:` and
a number: a function that its nodes may identify."""

_TRACED = re.compile(r"__(?:inference|forward|backward)_(?P<name>.*)_\d+")
_HLO_MODULE = re.compile(r"a(?P<function>_(?:inference|forward|backward)_.*_\d+)__.*")


def is_traced(function: str) -> bool:
    """Return whether this is a traced tf.function, not the body of a loop or branch."""
    return _TRACED.fullmatch(function) is not None


def short_name(function: str) -> str:
    """Return the Python name of a traced function."""
    pipeline, colon, captured = function.partition(":")
    found = _TRACED.fullmatch(captured if colon else function)
    name = found["name"] if found else pipeline
    return "<lambda>" if name == "_lambda_" else name


def is_of_pipeline(function: str) -> bool:
    """Return whether tf.data made this function from one of the user's."""
    return function.startswith("__inference_Dataset_")


def trace_number(function: str) -> int:
    """Return the number that ends a function's name, which grows with every trace; 0 if none."""
    digits = function.rpartition("_")[2]
    return int(digits) if digits.isdigit() else 0


def function_of_module(module: str) -> str:
    """Return the function that XLA compiled, given the name of its module or of its call."""
    found = _HLO_MODULE.fullmatch(module)
    # XLA names modules after functions, with `_` for all but letters and digits.
    return re.sub(r"\W", "_", f"_{found['function']}" if found else module)


def distinguish(nodes: Sequence[tuple[str, str]]) -> list[str]:
    """Name each (function, node) so that nodes of different functions stay different.

    A node keeps its own name unless its function shares a node name with another function under
    the same first scope; then the function's name is put before everything the function has in
    that scope. A name that begins with `/` is always put under its function.
    """
    functions_of = defaultdict(set)
    for function, node in nodes:
        functions_of[node].add(function)
    shared = {
        (function, _first_scope(node))
        for node, functions in functions_of.items()
        if len(functions) > 1 or node.startswith("/")
        for function in functions
    }
    labels = _labels({function for function, _ in shared})
    return [
        f"{labels[function]}/{node.lstrip('/')}".rstrip("/")
        if function and (function, _first_scope(node)) in shared
        else node
        for function, node in nodes
    ]


def _labels(functions: set[str]) -> dict[str, str]:
    """Label each function with its Python name, plus its number if others have the same name."""
    names = Counter(short_name(function) for function in functions)
    return {
        function: short_name(function)
        if names[short_name(function)] == 1
        else re.sub(rf"^({INPUT_PIPELINE}:)?__(inference|forward|backward)_", "", function)
        for function in functions
    }


def _first_scope(node: str) -> str:
    return node.partition("/")[0]
