"""The interface of all sources of tfprof's numbers, whatever they were read from."""

from dataclasses import dataclass
from typing import Protocol

from nbprof.arrays import Ints, Mask
from nbprof.errors import NbprofError
from nbprof.protos.saved_profile import Traces

Dims = tuple[int, ...]
"""The dimensions of a shape; empty if it is unknown."""

LATEST = 9_000_000_000_000_000
"""Latest time in µs that fits into 64 bits as ns."""


@dataclass(frozen=True, eq=False)
class Records:
    """What ran: a row per record of a step, without those tfprof drops."""

    node: Ints
    step: Ints
    device: Ints
    """Index into the devices."""
    start: Ints
    """Start in µs; 0 if the record has none, so that it counts for nothing."""
    micros: Ints
    """Time in µs that counts for the node."""
    duration: Ints
    """Duration in µs, counted or not."""
    is_run: Mask
    """Whether it ran on the node's own device; only those have memory."""
    accelerator: Mask
    bytes: Ints
    peak_bytes: Ints
    residual_bytes: Ints
    output_bytes: Ints


@dataclass(frozen=True, eq=False)
class Edges:
    """Inputs of nodes."""

    node: Ints
    """The consumer."""
    position: Ints
    """Index among the consumer's inputs."""
    source: Ints
    """The producer, or NONE if it is unknown."""
    shapes: list[Dims]


class Source(Protocol):
    """Nodes, their runs, and where in Python they were made."""

    @property
    def names(self) -> list[str]:
        """Names of all nodes."""

    @property
    def ops(self) -> list[str]:
        """Op type of each node."""

    @property
    def devices(self) -> list[str]:
        """Distinct devices, in lower case."""

    @property
    def device_of_node(self) -> Ints:
        """Device of each node, or NONE."""

    @property
    def types(self) -> list[tuple[str, ...]]:
        """Types of each node besides its op type."""

    @property
    def float_ops(self) -> Ints:
        """Float operations of one run of each node."""

    @property
    def records(self) -> Records:
        """What ran."""

    @property
    def steps(self) -> list[int]:
        """Numbers of the steps with runs."""

    @property
    def misses_streams(self) -> bool:
        """Whether the records lack the streams of a GPU that was used."""

    @property
    def has_stack(self) -> Mask:
        """Whether each node has a call stack, possibly without frames."""

    @property
    def has_log(self) -> bool:
        """Whether anything is known that only an op log has."""

    @property
    def traces(self) -> Traces | None:
        """Frames of the call stacks."""

    def stack_entries(self) -> list[tuple[int, int]]:
        """Return each node that has a stack, with the owner of its frames."""

    def texts(self) -> dict[int, str]:
        """Return the texts that the frames refer to by number."""

    def shapes(self) -> list[Dims]:
        """Return the shape of each node itself, empty if it has none."""

    def data_formats(self) -> list[str]:
        """Return the attribute `data_format` of each node, empty if it has none."""

    def edges(self) -> Edges:
        """Return the inputs of all nodes."""


def check_times(start: Ints) -> None:
    """Refuse a start in µs that is too late to be a time."""
    latest = int(start.max(initial=0))
    if latest > LATEST:
        raise NbprofError(
            f"a record starts at {latest} µs, which cannot be a time: the file is damaged."
        )
