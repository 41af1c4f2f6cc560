"""Find the node whose gradient a node of a graph computes, by names and by calls.

TensorFlow names the nodes of a gradient after the node that it is the gradient of, or after the
name scope of that node: `gradients/MatMul_grad/MatMul_1`, `gradient_tape/dense/MatMul/MatMul_1` or
just `gradient_tape/dense/ReluGrad`. The gradient of a called function is a function of its own,
which states the one it belongs to.
"""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.function_defs import DefinedNode, FunctionBody, Functions

_GRADIENT = re.compile(r"(?:gradient_tape/|(?:^|.*/)gradients(?:_\d+)?/)(?P<forward>.+)")
_GRADIENT_OP = re.compile(r"(?P<forward>.+?)_grad(?:_\d+)?(?:/.*)?")
_GRADIENT_TYPE = re.compile(r"Grad|Backprop(?:Input|Filter)?")
_GRADIENT_BODY = re.compile(r"(?P<forward>.+)_grad_\d+")


class Forward(NamedTuple):
    """A node of the forward pass."""

    function: str
    """The function that defines it, which may be the body of a loop or a branch."""
    node: str
    owner: str
    """The tf.function, or other group, that it belongs to."""


def forward_name(name: str) -> tuple[str, bool]:
    """Return the name of the node whose gradient this one computes and True, or (name, False).

    What the gradient calls its own parts may follow the name.
    """
    name, backward = _without_scopes(name)
    op = _GRADIENT_OP.fullmatch(name) if backward else None
    return op["forward"] if op else name, backward


def _without_scopes(name: str) -> tuple[str, bool]:
    """Return a name without the scopes that TensorFlow puts around gradients, and if it had any."""
    backward = False
    while "gradient" in name and (found := _GRADIENT.fullmatch(name)):
        backward, name = True, found["forward"]
    return name, backward


class Gradients:
    """Finds the forward nodes of gradients."""

    def __init__(self, functions: "Functions") -> None:
        self._functions = functions

    def forward(self, function: str, node: str, owner: str) -> list[Forward]:
        """Return the nodes that this may be the gradient of; none if it is no gradient."""
        called = self.forward_call(function, node)
        if called:
            return [Forward(function, called, owner)]
        name, backward = _without_scopes(node)
        if not backward:
            return []
        gradient = self._functions.body(owner)
        of_owner = (gradient.forward if gradient else "") or owner
        place = of_owner
        if function != owner:  # the body of a loop or a branch
            found = _GRADIENT_BODY.fullmatch(function)
            place = found["forward"] if found else function
        body = self._functions.body(place)
        written = self._functions.node(function, node)
        names = _candidates(body, name, written) if body else []
        return [Forward(place, each, of_owner) for each in names]

    def forward_call(self, function: str, node: str) -> str:
        """Return the node that calls the function whose gradient a node calls, else an empty text.

        If several nodes call that function, it is the one whose results the gradient uses.
        """
        body, called = self._functions.body(function), self.called(function, node)
        if body is None or not called:
            return ""
        callers = body.callers.get(called, ())
        used = [name for name in callers if name in body.nodes[node].inputs]
        return next(iter(used or callers), "")

    def called(self, function: str, node: str) -> str:
        """Return the function whose gradient a node calls, else an empty text."""
        body = self._functions.body(function)
        gradient = self._functions.body(body.callee(node)) if body else None
        return gradient.forward if gradient else ""


def _candidates(body: "FunctionBody", name: str, gradient: "DefinedNode") -> list[str]:
    """Return the nodes of a function that a gradient of this name may belong to.

    That is the node that the name begins with. If it begins with a scope only, the nodes directly
    in that scope: those of the gradient's type whose results it uses, all of its type, or all.
    """
    op = _GRADIENT_OP.fullmatch(name)
    scope = op["forward"] if op else name.rpartition("/")[0]
    longest = scope
    while longest and longest not in body.nodes:
        longest = longest.rpartition("/")[0]
    if longest or op:
        return [longest] if longest else []
    direct = [*body.by_scope.get(scope, ())]
    op_type = _GRADIENT_TYPE.sub("", gradient.op)
    typed = [each for each in direct if body.op(each) == op_type != gradient.op]
    return [each for each in typed if each in gradient.inputs] or typed or direct
