"""`MAGICS`: every magic, declared once: what it does, how its line looks, what it refuses.

Their flags are in `nbprof.flags.FLAGS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nbprof.flags import MEMIT, MEMOBJ, MPRUN, PYPROF, TFPROF
from nbprof.options import TFPROF_SELECTED, ViewOptions
from nbprof.view_kinds import VIEWS, python_views

ADVISE, SET, HELP, RESET = "advise", "set", "help", "reset"


def _no_views() -> tuple[str, ...]:
    return ()


def _all_views() -> tuple[str, ...]:
    return tuple(VIEWS)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A word that a magic takes instead of a view."""

    does: str
    arguments: str = ""
    """What may follow it, for the help."""


@dataclass(frozen=True, kw_only=True)
class Magic:
    """A magic that can be used on a line and on a cell."""

    does: str
    forms: tuple[tuple[str, str], ...]
    """The ways to write it, each with what that does; `{views}` stands for the names of views."""
    remark: str
    """What the help ends with."""
    block: str
    """The `with` statement that does the same for a block."""
    block_result: str
    """Where the result is after that block."""
    views: Callable[[], tuple[str, ...]] = _no_views
    """Returns the views that a line may begin with; the first one is the default."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """The other words that a line may begin with."""
    takes_code: bool = False
    """Whether the rest of the line is code or names, kept as typed; its flags then come first."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The flags of memory_profiler that it does not have, each with the error that says why."""

    @property
    def words(self) -> tuple[str, ...]:
        """All words that a line may begin with."""
        return (*self.views(), *self.commands)


_SET_AND_HELP = {
    SET: Command(
        does="keep options for later lines; set reset forgets them", arguments="[options]"
    ),
    HELP: Command(does="print this help"),
}
_OP = VIEWS["op"]

MAGICS = {
    TFPROF: Magic(
        does="Profile a TensorFlow cell, or look at the last profile again.",
        forms=(
            ("%%tfprof [{views}] [options]", "profile the cell below"),
            ("%tfprof [{views}] [options]", "view the last profile without running anything"),
        ),
        remark="The cell runs unchanged, and the report follows its output. Defaults: the op "
        f"view, -order_by {_OP.order_by}, -select {','.join(_OP.select)} "
        f"({','.join(TFPROF_SELECTED)} for tfprof's inputs), "
        f"-max_depth {ViewOptions().max_depth}.",
        block="with nbprof.profile() as run",
        block_result="run.profile",
        views=_all_views,
        commands={ADVISE: Command(does="suggest improvements"), **_SET_AND_HELP},
    ),
    PYPROF: Magic(
        does="Profile the Python of a cell, or look at the last profile again.",
        forms=(
            ("%%pyprof [{views}] [options]", "profile the cell below"),
            ("%pyprof [{views}] [options]", "view the last profile without running anything"),
        ),
        remark="The cell runs unchanged, and the report follows its output. TensorFlow is not "
        "watched: %%tfprof shows its ops below the lines that ran them. The default is the call "
        "view.",
        block="with nbprof.profile(tensorflow=False) as run",
        block_result="run.profile",
        views=python_views,
        commands=_SET_AND_HELP,
    ),
    MEMIT: Magic(
        does="Measure the memory of a statement or a cell: before, at the peak, after, and the "
        "curve in between.",
        forms=(
            ("%memit [options] STATEMENT", "run the statement once"),
            ("%%memit [options] [SETUP]", "run the cell below; SETUP runs first, unmeasured"),
        ),
        remark="The code runs unchanged, in this process. Amounts are resident memory (RSS). "
        "Reusing memory that the allocator kept from earlier code does not show.",
        block="with nbprof.memory.measure() as run",
        block_result="run.result",
        takes_code=True,
    ),
    MPRUN: Magic(
        does="Measure memory line by line: what each line leaves behind, and how high it rises.",
        forms=(
            ("%mprun -f FUNCTION [options] STATEMENT", "run the statement, watch the function"),
            ("%%mprun [options]", "run the cell below and watch its lines"),
            ("%%mprun -f FUNCTION [options]", "run the cell below and watch the function"),
        ),
        remark="The code runs once, unchanged, in this process. A line's numbers include what it "
        "calls. Memory is read after every line that takes 20 µs or more, and at least every "
        "200 µs; memory of shorter lines counts toward the line after which it is read.",
        block="with nbprof.memory.measure() as run",
        block_result="run.result",
        takes_code=True,
        refused={
            "c": "%mprun has no -c, because there is no telling which line a child's memory "
            "belongs to; %memit -c adds children to the peak of a statement or cell."
        },
    ),
    MEMOBJ: Magic(
        does="Show what the notebook's names hold, or what a cell left behind.",
        forms=(
            ("%memobj [options] [NAME ...]", "measure all names, or these"),
            ("%%memobj [options]", "run the cell below and show what it left in names"),
        ),
        remark="Arrays count with their data, DataFrames with their strings, and tensors, "
        "variables and models with what TensorFlow holds for them. Data that several names "
        "share counts once. A ~ marks what took too long to measure in full. Values that the shell "
        "keeps in Out count, too.",
        block="with nbprof.memory.measure() as run",
        block_result="run.result",
        takes_code=True,
    ),
}
"""All magics by name."""
