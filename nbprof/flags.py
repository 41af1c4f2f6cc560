"""`FLAGS`: every flag of every magic, declared once.

The parsing of magic lines, their help, completion, the reference page and the keywords of
`profile.view` all come from this table.
"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from nbprof import flag_values as values
from nbprof.columns import COLUMNS
from nbprof.errors import NbprofError
from nbprof.flag_values import PRESETS

TFPROF, PYPROF, MEMIT, MPRUN, MEMOBJ = "tfprof", "pyprof", "memit", "mprun", "memobj"
PROFILING = (TFPROF, PYPROF)
"""The magics that show views."""
MEMORY = (MEMIT, MPRUN, MEMOBJ)
"""The magics that measure memory."""

BACKENDS = ("nbprof", "memory_profiler")
"""The meters that `%memit` can measure with."""


def _no_choices() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One flag of one or more magics."""

    name: str
    """What is typed after the dash."""
    help: str
    magics: tuple[str, ...]
    """The magics that have it."""
    value: str = ""
    """The placeholder of its value in the help; empty for a switch."""
    parser: Callable[[str, object], Any] | None = None
    """Converts `(name, value)`; without one, the value must be a choice, if there are choices."""
    choices: Callable[[], tuple[str, ...]] = _no_choices
    """Returns the values that completion offers."""
    if_alone: str = ""
    """Its value when none follows; empty if it needs one."""
    repeatable: bool = False
    """Whether it may be given more than once; its value is then a list."""
    is_option: bool = False
    """Whether it is also a keyword of `profile.view` and kept by `%tfprof set`."""
    only_for: Literal["", "cell", "line"] = ""
    """The only form of the magic that has it; empty: both."""

    @property
    def is_switch(self) -> bool:
        """Whether it never takes a value."""
        return not self.value

    @property
    def usage(self) -> str:
        """The flag as it is typed, with the placeholder of its value."""
        return f"-{self.name} {self.value}".rstrip()

    def parse(self, value: object) -> Any:
        """Check and convert a value; raise NbprofError for a bad one."""
        if self.parser is not None:
            return self.parser(self.name, value)
        choices = self.choices()
        return values.parse_choice(self.name, value, choices) if choices else value


def _output_choices() -> tuple[str, ...]:
    return ("stdout", "none", *(f"{kind}:outfile=" for kind in values.FILE_OUTPUTS))


def _by_name(*flags: Flag) -> dict[str, Flag]:
    """Key flags by name; where an earlier flag has the same name, by magic and name."""
    table: dict[str, Flag] = {}
    for flag in flags:
        key = f"{flag.magics[0]} -{flag.name}" if flag.name in table else flag.name
        table[key] = flag
    return table


FLAGS = _by_name(
    Flag(
        name="o",
        value="NAME",
        help="bind the View to NAME and still show it",
        magics=PROFILING,
        parser=values.parse_variable,
    ),
    Flag(
        name="q",
        help="show nothing",
        magics=(*PROFILING, *MEMORY),
    ),
    Flag(
        name="T",
        value="FILE",
        help="save the text report to FILE",
        magics=(*PROFILING, *MEMORY),
        parser=values.parse_file,
    ),
    Flag(
        name="from",
        value="PATH",
        help="view a file instead of the last profile: a trace, a run's folder, a logdir, or a "
        "file saved by nbprof, tfprof, cProfile, py-spy or pyinstrument",
        magics=PROFILING,
        only_for="line",
    ),
    Flag(
        name="explore",
        help="show the live explorer, a widget with all rows; with -o NAME, also NAME.explore()",
        magics=PROFILING,
    ),
    Flag(
        name="steps",
        value="N|A:B",
        help="trace N warm steps in detail, or the steps from A up to B, and let the rest of the "
        "cell run bare; by default, the first steps and as many warm ones as a budget allows",
        magics=(TFPROF,),
        parser=values.parse_steps,
        only_for="cell",
    ),
    Flag(
        name="limit",
        value="SECONDS",
        help="trace up to this long while the cell runs on, even beyond the budget (default: 60, "
        "within the budget)",
        magics=(TFPROF,),
        parser=values.parse_seconds,
        only_for="cell",
    ),
    Flag(
        name="light",
        help="trace less, at less cost: no memory, no lines that ran ops, and cheap ops are not "
        "counted once they are warm",
        magics=(TFPROF,),
        only_for="cell",
    ),
    Flag(
        name="threads",
        help="sample the threads of the cell, too: each has a row of its own in the call view",
        magics=PROFILING,
        only_for="cell",
    ),
    Flag(
        name="preset",
        value="NAME",
        help=f"start from a ready-made set of options: {', '.join(PRESETS)}",
        magics=(TFPROF,),
        choices=lambda: tuple(PRESETS),
        is_option=True,
    ),
    Flag(
        name="max_depth",
        value="N",
        help="show at most N levels of a tree, counting the root; in the op view, as in tfprof, N "
        "rows after the first",
        magics=PROFILING,
        parser=values.parse_depth,
        is_option=True,
    ),
    Flag(
        name="order_by",
        value="COLUMN",
        help="sort by this column, largest first, or by name",
        magics=PROFILING,
        choices=values.order_names,
        is_option=True,
    ),
    Flag(
        name="select",
        value="COLUMN,…",
        help="show these columns",
        magics=PROFILING,
        parser=values.parse_columns,
        choices=values.column_names,
        is_option=True,
    ),
    Flag(
        name="step",
        value="N",
        help="show one step; -1 is the average over the steps in which a node ran, all is their "
        "sum; the default is all for a recorded cell and -1 for tfprof's inputs",
        magics=(TFPROF,),
        parser=values.parse_step,
        choices=lambda: ("all", "-1"),
        is_option=True,
    ),
    Flag(
        name="account_type_regexes",
        value="REGEX,…",
        help="count only nodes that have a matching op type; a node's device and the kind of a "
        "variable are types, too",
        magics=(TFPROF,),
        parser=values.parse_regexes,
        is_option=True,
    ),
    Flag(
        name="start_name_regexes",
        value="REGEX,…",
        help="start at rows that match",
        magics=PROFILING,
        parser=values.parse_regexes,
        is_option=True,
    ),
    Flag(
        name="trim_name_regexes",
        value="REGEX,…",
        help="show nothing below rows that match",
        magics=PROFILING,
        parser=values.parse_regexes,
        is_option=True,
    ),
    Flag(
        name="show_name_regexes",
        value="REGEX,…",
        help="show only rows that match",
        magics=PROFILING,
        parser=values.parse_regexes,
        is_option=True,
    ),
    Flag(
        name="hide_name_regexes",
        value="REGEX,…",
        help="hide rows that match",
        magics=PROFILING,
        parser=values.parse_regexes,
        is_option=True,
    ),
    Flag(
        name="account_displayed_op_only",
        value="[true|false]",
        help="add up only the rows that are shown",
        magics=(TFPROF,),
        parser=values.parse_boolean,
        choices=lambda: ("true", "false"),
        if_alone="true",
        is_option=True,
    ),
    Flag(
        name="output",
        value="WHERE",
        help="stdout, none, file:outfile=PATH, timeline:outfile=PATH (a Chrome trace for each "
        "step, named PATH_STEP; not for the op view) or pprof:outfile=PATH (code view only)",
        magics=PROFILING,
        parser=values.parse_output,
        choices=_output_choices,
        is_option=True,
    ),
    Flag(
        name="frames",
        value="WHOSE",
        help="in the code view, show only your own lines (user) or also those of installed "
        "packages (all); in the call view, fold or unfold the frames of packages",
        magics=PROFILING,
        choices=lambda: ("user", "all"),
        is_option=True,
    ),
    Flag(
        name="o",
        help="return a MemoryResult instead of the cell's own value",
        magics=(MEMIT,),
    ),
    Flag(
        name="o",
        help="return a LineMemory instead of the cell's own value",
        magics=(MPRUN,),
    ),
    Flag(
        name="o",
        help="return an ObjectMemory instead of the cell's own value",
        magics=(MEMOBJ,),
    ),
    Flag(
        name="r",
        value="N",
        help="run the code N times and keep the highest peak",
        magics=(MEMIT,),
        parser=values.parse_count,
    ),
    Flag(
        name="t",
        value="SECONDS",
        help="stop measuring after this long while the code runs on",
        magics=(MEMIT,),
        parser=values.parse_seconds,
    ),
    Flag(
        name="i",
        value="SECONDS",
        help="time between samples of the curve (default 0.01); the peak does not depend on it",
        magics=(MEMIT,),
        parser=values.parse_seconds,
    ),
    Flag(
        name="c",
        help="include child processes; the peak is then a lower bound",
        magics=(MEMIT,),
    ),
    Flag(
        name="v",
        help="also report what Python objects and tensors hold, and what the allocator could "
        "return",
        magics=(MEMIT,),
    ),
    Flag(
        name="trim",
        help="first make the allocator return its unused memory, so that reusing it counts",
        magics=(MEMIT,),
    ),
    Flag(
        name="backend",
        value="NAME",
        help="nbprof, the exact meter (default), or memory_profiler, for comparison",
        magics=(MEMIT,),
        choices=lambda: BACKENDS,
    ),
    Flag(
        name="f",
        value="FUNCTION",
        help="watch this function or method, defined in a cell or in a file; may be repeated",
        magics=(MPRUN,),
        repeatable=True,
    ),
    Flag(
        name="f",
        value="FUNCTION",
        help="in the line view, also count the lines of this function or method, defined in a "
        "file; may be repeated",
        magics=PROFILING,
        repeatable=True,
        only_for="cell",
    ),
    Flag(
        name="m",
        value="MODULE",
        help="in the line view, also count the lines of all functions of this module; may be "
        "repeated",
        magics=PROFILING,
        repeatable=True,
        only_for="cell",
    ),
    Flag(
        name="r",
        help="same as -o, as in memory_profiler",
        magics=(MPRUN,),
    ),
    Flag(
        name="n",
        value="N",
        help="show N rows (default 15)",
        magics=(MEMOBJ,),
        parser=values.parse_count,
    ),
)
"""All flags in the order of the help. `flags_of` adds a `-min_*` flag for each metric."""


def flags_of(magic: str) -> dict[str, Flag]:
    """Return the flags of a magic by name, with those that come from `COLUMNS`."""
    flags = {flag.name: flag for flag in FLAGS.values() if magic in flag.magics}
    if magic in PROFILING:
        shown = [name for name in values.metric_names() if magic == TFPROF or _is_of_python(name)]
        flags |= {flag.name: flag for flag in map(_minimum_flag, shown)}
    return flags


def _is_of_python(column: str) -> bool:
    return not COLUMNS[column].of_ops


def _minimum_flag(column: str) -> Flag:
    title = COLUMNS[column].title.partition(" (")[0].removeprefix("# ")
    unit = COLUMNS[column].unit.symbol
    return Flag(
        name=f"min_{column}",
        value="N",
        help=f"hide rows with {title} below N {'' if unit in title else unit}".rstrip(),
        magics=PROFILING,
        parser=values.parse_number,
        is_option=True,
    )


def view_options() -> dict[str, Flag]:
    """Return the keywords of `profile.view`, by name."""
    return {name: flag for name, flag in flags_of(TFPROF).items() if flag.is_option}


def unknown_flag(name: str, known: Iterable[str]) -> NbprofError:
    """Return the error for a flag that does not exist; it suggests the closest one that does."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean -{close[0]}?" if close else f"known options: {dashed(known)}."
    return NbprofError(f"there is no option -{name}; {hint}")


def dashed(names: Iterable[str]) -> str:
    """Return flags with their dashes, separated by commas."""
    return ", ".join(f"-{name}" for name in names)
