"""What a Profile of tfprof's numbers is made of, wherever it was read."""

from dataclasses import dataclass
from typing import Protocol

from nbprof.arrays import Ints, Mask
from nbprof.errors import NbprofError
from nbprof.protos.saved_profile import Traces

Dims = tuple[int, ...]

LATEST = 9_000_000_000_000_000
"""The latest time in µs that fits in ns."""


@dataclass(frozen=True, eq=False)
class Records:
    """What ran, a row per record of a step, those that tfprof drops left out."""

    node: Ints
    step: Ints
    device: Ints
    """A row of the devices."""
    start: Ints
    """In µs; 0 where the record has no start and adds nothing."""
    micros: Ints
    """What counts as time of the node."""
    duration: Ints
    """How long it took, also where that is not counted."""
    is_run: Mask
    """Whether it is on the node's own device; only those have memory."""
    accelerator: Mask
    bytes: Ints
    peak_bytes: Ints
    residual_bytes: Ints
    output_bytes: Ints


class Source(Protocol):
    """Nodes, what ran of them, and where in Python they were made."""

    @property
    def names(self) -> list[str]:
        """The names of all nodes."""

    @property
    def ops(self) -> list[str]:
        """The op type of each node."""

    @property
    def devices(self) -> list[str]:
        """The distinct devices, in lower case."""

    @property
    def device_of_node(self) -> Ints:
        """The device of each node, or NONE."""

    @property
    def types(self) -> list[tuple[str, ...]]:
        """The further types of each node."""

    @property
    def float_ops(self) -> Ints:
        """The float operations of one run of each node."""

    @property
    def records(self) -> Records:
        """What ran."""

    @property
    def steps(self) -> list[int]:
        """The steps that were added."""

    @property
    def misses_streams(self) -> bool:
        """Whether a GPU was used whose streams are not in the records."""

    @property
    def has_stack(self) -> Mask:
        """Whether a call stack is known of each node, be it of no frames."""

    @property
    def has_log(self) -> bool:
        """Whether anything is known that only an op log tells."""

    @property
    def traces(self) -> Traces | None:
        """The frames of the call stacks."""

    def stack_entries(self) -> list[tuple[int, int]]:
        """Pair each node that has a stack with the owner of its frames."""

    def texts(self) -> dict[int, str]:
        """The texts that the frames mean by number."""

    def shapes(self) -> list[Dims]:
        """The own shape of each node, empty where there is none."""

    def data_formats(self) -> list[str]:
        """The attribute `data_format` of each node, empty where there is none."""

    def edges(self) -> tuple[Ints, Ints, Ints, list[Dims]]:
        """Consumer, place, producer (NONE: unknown) and shape of each input."""


def check_times(start: Ints) -> None:
    """Refuse what cannot be a time in µs."""
    if len(start) and int(start.max()) > LATEST:
        raise NbprofError(f"a record starts at {int(start.max())} µs: no time.")
