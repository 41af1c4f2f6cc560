"""Recording: how a profile was recorded, and what its headline says about that."""

from dataclasses import dataclass

from nbprof.units import format_seconds

MEMORY_ERRORS = ("ResourceExhaustedError", "MemoryError")
"""Exceptions that say that memory ran out."""
SLOWER = 1.1
"""Slowdown from which one decimal is enough."""


@dataclass(frozen=True)
class Recording:
    """How a profile was recorded: what ran, how it was watched, and at what cost."""

    what: str
    """What was profiled, such as `In [3]`."""
    how: str
    """The source of the numbers, such as `TensorFlow 2.21.0 trace, every op run`."""
    wall_ns: int
    """The cell's own time, without starting, stopping and reading the trace, in ns."""
    cost_ns: int
    """What profiling added before and after the cell, in ns."""
    traced_ns: int = 0
    """How much of the wall time was traced, in ns; the tables lack the op runs of the rest."""
    watched: tuple[str, ...] = ("ops",)
    """What was recorded: some of what views need."""
    refused: str = ""
    """Why Python could not be watched as asked for, in a sentence; empty if it was."""
    tfprof: bool = False
    """Whether the numbers are tfprof's own: whole, and 0 where nothing was recorded."""
    has_stacks: bool = True
    """Whether any lines of Python are known."""
    timed: bool = True
    """Whether samples stand for times; otherwise 1 µs stands for a sample of unknown length."""
    single_runs: bool = True
    """Whether an event is one run; otherwise it is the sum of a node's runs in a step."""
    has_definitions: bool = True
    """Whether functions, layers and variables are known; a trace alone has none."""
    error: str = ""
    """The exception that ended the cell, such as `ValueError`; empty if it ran to its end."""
    memory_error: str = ""
    """The one of `MEMORY_ERRORS` that it is, was raised from or while it was handled."""
    error_message: str = ""
    """What that exception says, or else the one that ended the cell; a very long message lacks its
    middle."""
    error_line: str = ""
    """The innermost of the user's lines it came through, such as `In [3]:4:<module>`."""
    memory: str = ""
    """What the process held in RAM, in words; empty if it was not measured."""
    peak_is_exact: bool = True
    """Whether the peak in RAM is exact; otherwise it is the highest sample."""
    kept_bytes: float = -1.0
    """Bytes freed by the cell but kept by the C library's allocator; -1: not known."""
    children_bytes: float = -1.0
    """The most bytes that all child processes held in a sample; -1: there were none."""
    left_out_bytes: float = 0.0
    """Estimated bytes of profiling itself that were left out of the peak in RAM."""
    outside_ops_bytes: float = 0.0
    """Bytes alive at the peak of live memory that no known op run had allocated."""
    slowdown: float = -1.0
    """Estimated time of the cell, as a multiple of its time without profiling; -1: not known."""
    slowdown_is_least: bool = False
    """Whether `slowdown` is a lower bound, not an estimate."""

    @property
    def cost(self) -> str:
        """What profiling cost, for the headline; empty if no cost is known."""
        parts = []
        if self.cost_ns:
            parts.append(f"profiling added {format_seconds(self.cost_ns)} around it")
        if self.slowdown > 0:
            about = "at least" if self.slowdown_is_least else "about"
            digits = 1 if self.slowdown >= SLOWER else 2
            parts.append(f"cell slowed {about} {self.slowdown:.{digits}f} ×")
        return " · ".join(parts)

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether memory ran out when the cell ended."""
        return self.memory_error != "" or self.error in MEMORY_ERRORS

    @property
    def ended(self) -> str:
        """How the cell ended, before how long it ran; empty if it ran to its end."""
        if self.error == "KeyboardInterrupt":
            return "interrupted after "
        return f"raised {self.error} after " if self.error else ""
