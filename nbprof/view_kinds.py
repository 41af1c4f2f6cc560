"""`VIEWS`: every view, declared once.

The words of `%tfprof`, completion, help, the methods of a Profile, the Doc block of a report, the
explorer's tabs, `parse_text` and the docs page all read this table. It names the functions that
make views instead of importing them, so that `%load_ext nbprof` imports neither pandas nor numpy.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Need = Literal["ops", "samples", "calls", "lines", "sites"]
"""What a view shows: TensorFlow's ops, or one of the four things that watching Python records."""


@dataclass(frozen=True)
class PrintedTable:
    """How the text of a view is written that has a table of its own instead of tfprof's."""

    legend: str
    """A part of its first line by which it is known."""
    writer: str
    """`module:function` that writes its lines, `(View) -> Iterator[str]`."""
    reader: str
    """`module:function` that reads them back, `(lines) -> (names of columns, rows)`."""


@dataclass(frozen=True, kw_only=True)
class ViewKind:
    """What the rest of the program needs to know about a view."""

    name: str
    """What the user types after `%tfprof`."""
    doc: str
    """One line that says what the rows are and how to read their numbers."""
    maker: str
    """`module:function` that makes the view, `(Profile, ViewOptions) -> View`."""
    needs: Need = "ops"
    """What must have been recorded."""
    select: tuple[str, ...] = ("micros", "live_bytes", "occurrence")
    """The columns of a recorded cell or a trace that are shown if none are selected."""
    order_by: str = "micros"
    """The column that rows are sorted by if none is named."""
    is_tree: bool = True
    """Whether rows have a parent row."""
    full_names: bool = False
    """Whether a row's whole name is shown; otherwise only the part after its last slash."""
    has_timeline: bool = True
    """Whether `-output timeline` can draw it."""
    has_pprof: bool = False
    """Whether `-output pprof` can write it."""
    tree_legend: bool = True
    """Whether params and float_ops come first and titles are those of tfprof's scope view."""
    has_ops: bool = True
    """Whether its rows have the columns of ops."""
    rows_are_lines: bool = False
    """Whether rows are lines of Python, for which tfprof prints neither counts nor shapes."""
    rows_are_calls: bool = False
    """Whether a row called the rows below it."""
    texts: tuple[str, ...] = ()
    """Text columns that its frame always has, shown beside the name."""
    not_in_traces: str = ""
    """What it shows that a trace without the program's graph lacks."""
    adds_up: bool = True
    """Whether a row's total is the sum of what is its own and of the rows below it."""
    printed: PrintedTable | None = None
    """The table in its text; None: tfprof's."""


VIEWS: dict[str, ViewKind] = {
    kind.name: kind
    for kind in (
        ViewKind(
            name="op",
            doc="one row per op type; each number is followed by the share of this row and all "
            "rows below it, then by the row's own share",
            maker="nbprof.views.op:view",
            is_tree=False,
            has_timeline=False,
            tree_legend=False,
        ),
        ViewKind(
            name="scope",
            doc="nodes by the parts of their names; each number is the row's own, then the total "
            "with everything below it",
            maker="nbprof.views.scope:view",
        ),
        ViewKind(
            name="graph",
            doc="nodes under the first node that uses them; each number is the row's own, then "
            "the total with everything it is made of",
            maker="nbprof.views.graph:view",
            full_names=True,
            not_in_traces="which nodes use which",
        ),
        ViewKind(
            name="code",
            doc="ops under the line of Python that ran them, and below it under the one that made "
            "them; each number is the line's own, then the total with the lines below it",
            maker="nbprof.views.code:view",
            full_names=True,
            has_pprof=True,
            tree_legend=False,
            rows_are_lines=True,
            texts=("source",),
        ),
        ViewKind(
            name="layer",
            doc="ops by Keras layer, forward and backward apart; each number is the row's own, "
            "then the total with everything below it",
            maker="nbprof.views.layer:view",
            texts=("kind",),
            not_in_traces="Keras layers",
        ),
        ViewKind(
            name="call",
            doc="Python as it ran: lines, the packages they call, and below those what they run in "
            "TensorFlow; each number is the row's own, then the total with everything it called",
            maker="nbprof.views.call:view",
            needs="samples",
            select=("wall_micros", "thread_micros", "micros", "live_bytes", "occurrence"),
            order_by="wall_micros",
            full_names=True,
            has_timeline=False,
            tree_legend=False,
            rows_are_lines=True,
            rows_are_calls=True,
            texts=("source",),
        ),
        ViewKind(
            name="function",
            doc="one row per function, and below it, after <-, those that called it; each number "
            "is the function's own, then the total with all it called; every call is counted",
            maker="nbprof.views.function:view",
            needs="calls",
            select=("wall_micros", "calls"),
            order_by="wall_micros",
            full_names=True,
            has_timeline=False,
            tree_legend=False,
            has_ops=False,
            adds_up=False,
            printed=PrintedTable(
                legend="filename:lineno(function)",
                writer="nbprof.display.function_table:lines",
                reader="nbprof.views.printed.function_rows:read",
            ),
        ),
        ViewKind(
            name="line",
            doc="source lines in their order, by file, and below each, after (call), the watched "
            "functions that it led to; each number is the line's own, then the total with those "
            "functions; every line is counted",
            maker="nbprof.views.line:view",
            needs="lines",
            select=("hits", "wall_micros", "hit_micros", "micros", "live_bytes", "occurrence"),
            order_by="name",
            full_names=True,
            has_timeline=False,
            tree_legend=False,
            rows_are_lines=True,
            texts=("source",),
            adds_up=False,
            printed=PrintedTable(
                legend="Total duration: ",
                writer="nbprof.display.hit_table:lines",
                reader="nbprof.views.printed.hit_rows:read",
            ),
        ),
        ViewKind(
            name="alloc",
            doc="memory of Python by the file, and below it by the line, that allocated it; each "
            "number is the row's own, then the total with everything below it",
            maker="nbprof.views.alloc:view",
            needs="sites",
            select=("alloc_bytes", "alloc_count", "alloc_peak_bytes"),
            order_by="alloc_bytes",
            full_names=True,
            has_timeline=False,
            tree_legend=False,
            has_ops=False,
            rows_are_lines=True,
            texts=("source",),
        ),
    )
}
"""All views, in the order of the explorer's tabs."""


def imported(name: str) -> Any:
    """Import the function that an entry names as `module:function`."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def view_names() -> str:
    """Return the names of all views, separated by commas."""
    return ", ".join(VIEWS)


def op_views() -> tuple[str, ...]:
    """Return the names of the views of TensorFlow's ops."""
    return tuple(name for name, kind in VIEWS.items() if kind.needs == "ops")


def python_views() -> tuple[str, ...]:
    """Return the names of the views that need no TensorFlow."""
    return tuple(name for name, kind in VIEWS.items() if kind.needs != "ops")
