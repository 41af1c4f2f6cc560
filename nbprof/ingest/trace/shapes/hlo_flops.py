"""Float operations of HLO ops, counted on the modules that XLA compiled, as the trace has them.

An instruction has the shapes it works on. A fusion counts what is inside it; a loop, a branch or a
call counts nothing where what is inside ran as HLO ops of its own.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from math import nan, prod
from typing import TYPE_CHECKING

from nbprof.arrays import NONE
from nbprof.errors import NbprofError
from nbprof.ingest.trace.shapes.hlo_instructions import (
    Computation,
    Instruction,
    read_computations,
)

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.hlo_modules import StoredModule
    from nbprof.ingest.trace.work.op_runs import Executed

_FREE = """
    parameter constant iota tuple get-tuple-element broadcast reshape transpose reverse slice
    dynamic-slice dynamic-update-slice dynamic-reshape concatenate pad gather bitcast
    bitcast-convert convert copy copy-start copy-done select and or not xor shift-left
    shift-right-arithmetic shift-right-logical popcnt count-leading-zeros real imag complex
    after-all add-dependency opt-barrier optimization-barrier domain get-dimension-size
    set-dimension-size partition-id replica-id infeed outfeed send send-done recv recv-done
    rng-bit-generator rng-get-and-update-state all-gather all-gather-start all-gather-done
    all-to-all collective-permute collective-permute-start collective-permute-done
    async-update async-done
"""
FREE = frozenset(_FREE.split())
"""Opcodes that compute nothing with floats."""
_ELEMENTWISE = """
    add subtract multiply divide remainder maximum minimum power compare abs negate sign floor
    ceil round-nearest-afz round-nearest-even exponential exponential-minus-one log
    log-plus-one logistic tanh tan sine cosine atan2 sqrt rsqrt cbrt erf is-finite acos acosh
    asin asinh atanh cosh sinh
"""
ELEMENTWISE = frozenset(_ELEMENTWISE.split())
"""Opcodes that compute one operation per element of their output."""
CONTAINERS = frozenset(("while", "conditional", "call", "async-start"))
"""Opcodes that run other instructions, which a trace lists by themselves."""


class HloCounts:
    """The float operations of the HLO ops that ran; modules are read on first use."""

    def __init__(self, modules: "Sequence[StoredModule]", nodes: "Sequence[Executed]") -> None:
        self._modules = modules
        self._ran: defaultdict[str, set[str]] = defaultdict(set)
        for node in nodes:
            if node.name.startswith("/"):
                self._ran[node.function].add(node.name[1:])

    def of(self, node: "Executed", program: int) -> float:
        """Count the float operations of one run of an HLO op, NaN if unknown.

        The run of a compiled function as a whole counts only what has no run of its own.
        """
        op = node.name[1:]
        if not op and len(self._ran[node.function]) > 1:
            return 0.0
        modules = [row for row in self._counts if row[0].function == node.function]
        own = [row for row in modules if row[0].program == program != NONE]
        found = {counts.get(op, nan) for _, counts in own or modules}
        return found.pop() if len(found) == 1 else nan

    @cached_property
    def _counts(self) -> "list[tuple[StoredModule, dict[str, float]]]":
        return [(module, self._count(module)) for module in self._modules]

    def _count(self, module: "StoredModule") -> dict[str, float]:
        """Count the instructions that ran, or the whole function, whose name is empty."""
        ran = self._ran[module.function]
        try:
            entry, bodies = read_computations(module.proto)
            count = _Count(bodies, ran)
            if len(ran) == 1:
                return {"": float(count.body(entry))}
            return {
                one.name: float(count.of(one, body))
                for body in bodies.values()
                for one in body.values()
                if one.name in ran
            }
        except (NbprofError, RecursionError, OverflowError):  # a damaged or absurd module
            return {}


class _Count:
    """Counts the float operations of the instructions of a module."""

    def __init__(self, bodies: Mapping[int, Computation], ran: Collection[str]) -> None:
        self._bodies = bodies
        self._ran = ran
        self._totals: dict[int, float] = {}

    def of(self, one: Instruction, body: Computation) -> float:
        """Count the float operations of one run of an instruction, NaN if unknown."""
        if one.opcode in FREE:
            return 0
        if one.opcode in ELEMENTWISE:
            return one.size
        rule = _RULES.get(one.opcode)
        if rule is None:
            return nan
        operands = [body[number] for number in one.operands if number in body]
        try:
            return rule(self, one, operands)
        except IndexError:
            return nan

    def body(self, number: int) -> float:
        """Count what is inside a computation."""
        if number not in self._totals:
            self._totals[number] = nan  # in case it calls itself
            body = self._bodies.get(number, {})
            self._totals[number] = sum(self.of(inner, body) for inner in body.values())
        return self._totals[number]

    def inside(self, one: Instruction) -> float:
        """Count what is inside the computations that an instruction calls, once each."""
        return sum(map(self.body, one.calls))

    def contained(self, one: Instruction, _: list[Instruction]) -> float:
        """Count nothing if the instructions inside ran as ops of their own, however often."""
        bodies = (self._bodies.get(number, {}) for number in one.calls)
        names = {inner.name for body in bodies for inner in body.values()}
        if names.intersection(self._ran):
            return 0
        inside = self.inside(one)
        return inside if one.opcode == "call" or inside == 0 else nan


def _dot(_: _Count, one: Instruction, operands: list[Instruction]) -> float:
    return 2 * one.size * prod(operands[0].shapes[0][axis] for axis in one.summed_over)


def _convolution(_: _Count, one: Instruction, operands: list[Instruction]) -> float:
    """Count the products of a convolution, or of one that computes a gradient."""
    meaning = one.convolution
    image, kernel, made = operands[0].shapes[0], operands[1].shapes[0], one.shapes[0]
    total = made[meaning.batch] * made[meaning.feature] * kernel[meaning.inputs]
    for taps, before, after in zip(one.window, meaning.space, meaning.made, strict=False):
        total *= taps.pairs(image[before], made[after])
    return 2 * total


def _reduce(count: _Count, one: Instruction, operands: list[Instruction]) -> float:
    return (operands[0].size - one.size) * count.inside(one)


def _reduce_window(count: _Count, one: Instruction, _: list[Instruction]) -> float:
    return one.size * (prod(taps.size for taps in one.window) - 1) * count.inside(one)


def _select_and_scatter(_: _Count, one: Instruction, operands: list[Instruction]) -> float:
    return operands[1].size * (prod(taps.size for taps in one.window) + 1)


def _scatter(count: _Count, one: Instruction, operands: list[Instruction]) -> float:
    return operands[-1].size * count.inside(one)


def _custom_call(_: _Count, one: Instruction, operands: list[Instruction]) -> float:
    if "matmul" not in one.target and "gemm" not in one.target:
        return nan
    left, made = operands[0].shapes[0], one.shapes[0]
    return 2 * prod(made) * (prod(left[-2:]) // made[-2]) if prod(made) else 0


Rule = Callable[[_Count, Instruction, list[Instruction]], float]
_RULES: dict[str, Rule] = {
    "dot": _dot,
    "convolution": _convolution,
    "fusion": lambda count, one, _: count.inside(one),
    "map": lambda count, one, _: one.size * count.inside(one),
    "clamp": lambda _, one, __: 2 * one.size,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "select-and-scatter": _select_and_scatter,
    "scatter": _scatter,
    "custom-call": _custom_call,
    **dict.fromkeys(CONTAINERS, _Count.contained),
}
"""How to count the float operations of other opcodes; those of the rest are unknown."""
