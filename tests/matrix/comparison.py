"""Compare what nbprof reports of the programs in `tests/core` across environments."""

from dataclasses import dataclass

from differences import DIFFERENCES, REFERENCE

COMPARED = ("run_count", "float_ops", "params", "layers", "layer_float_ops", "steps")
"""The facts that must be equal; each is a number by row, or the list of steps."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A number that differs from that of the reference."""

    place: tuple[str, str, str, str]
    """The environment, the program, the fact and the row."""
    expected: object
    found: object

    @property
    def is_declared(self):
        return any(difference.explains(*self.place) for difference in DIFFERENCES)

    def __str__(self):
        where = ", ".join(filter(None, self.place))
        return f"{where}: {self.found}, but {self.expected} in {REFERENCE}"


def undeclared(facts):
    """Return the differences that DIFFERENCES does not have, given the facts by environment."""
    return [found for found in _all_found(facts) if not found.is_declared]


def not_seen(facts):
    """Return the entries of DIFFERENCES that none of their environments shows any more."""
    found = _all_found(facts)
    return [
        difference
        for difference in DIFFERENCES
        if difference.shown and difference.environments and {*difference.environments} <= {*facts}
        if not any(difference.explains(*one.place) for one in found)
    ]


def _all_found(facts):
    """Compare every environment with the reference, if that is there."""
    if REFERENCE not in facts:
        return []
    return [
        found
        for environment, there in facts.items()
        for program in facts[REFERENCE]
        if program in there and program != "tensorflow"
        for found in _compare((environment, program), facts[REFERENCE][program], there[program])
    ]


def _compare(place, expected, there):
    """Yield the differences of one program."""
    ran = "error" not in {*expected, *there}
    compared = COMPARED if ran else ("error",)
    for fact in compared:
        here, other = _by_row(expected.get(fact)), _by_row(there.get(fact))
        for row in sorted({*here, *other}):
            if here.get(row) != other.get(row):
                yield Found(
                    place=(*place, fact, row),
                    expected=here.get(row),
                    found=other.get(row),
                )


def _by_row(fact):
    """Return the numbers of a fact by row; another fact is one row without a name."""
    return fact if isinstance(fact, dict) else {"": fact}
