"""`COLUMNS`: every column of a view, declared once, in the order of tfprof's legend.

`-select`, `-order_by`, `-min_*`, legends, cells, help, frames, table files, the explorer and the
docs page all read this table: where a number comes from, how it adds up and how it is shown.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from nbprof.units import BYTES, COUNT, MICROS, Unit
from nbprof.view_kinds import VIEWS

ROOT = "_TFProfRoot"
"""The name of a tree's first row."""
TOTAL = "total_"
"""What the name of a metric begins with in a tree's frame if it includes the rows below."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One number of a row: where it comes from and how it adds up.

    Metrics from `events` are summed over the runs of a node; `-step -1` divides the sum by the
    steps in which the node ran. Metrics from `nodes` count once per node, however often it ran.
    """

    name: str
    """Its column in the frame; the only metric of a Column has the Column's name."""
    table: Literal["events", "nodes", "python"] = "events"
    """The table of the Profile that has it; `python`: the table that the view is made of."""
    column: str = ""
    """The column of that table; empty: every row of the table counts as 1."""
    dtype: Literal["float64", "int64"] = "float64"
    """How the table keeps it; only floats can be NaN, which means "not recorded"."""
    divisor: float = 1.0
    """What to divide the sum by to get the column's unit."""
    devices: Literal["all", "cpu", "accelerator"] = "all"
    """The devices whose events count."""
    adds: tuple[str, ...] = ()
    """The metrics it is the sum of, if it does not come from a table."""
    counts: bool = False
    """Whether it is a whole number of things, which `-account_type_regexes` never multiplies."""
    at_one_moment: bool = False
    """Whether it is an amount at one moment of the cell, which no average over steps divides."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """Something a user can select: numbers, or text beside them."""

    name: str
    """What the user types after `-select`, `-order_by` and `-min_`."""
    title: str
    """tfprof's legend text; empty if it is printed below a row."""
    help: str
    """What it is, worded to follow `name: `."""
    measures: tuple[Metric, ...] = ()
    """The numbers it adds to the frame; a column without any is a text column."""
    unit: Unit = COUNT
    """What the numbers are counted in, which also decides how they are written."""
    shows: Literal["words", "shapes", "lines"] = "words"
    """What a text column shows: words with `|` between them, input shapes, or lines below the
    row."""
    words_of: tuple[str, ...] = ()
    """The columns of `nodes` whose words a text column shows."""
    label: str = ""
    """A text column that tree views add to the frame and print before the numbers."""
    brings: tuple[str, ...] = ()
    """Columns that are selected along with this one."""
    views: tuple[str, ...] = ()
    """The views that have it; empty: all whose rows have ops."""
    needs: str = ""
    """What must have been watched for it to be shown unasked; empty: what its view needs."""
    always: bool = False
    """Whether it is measured even if it is not selected, because rows are filtered by it."""
    tree_title: str = ""
    """The legend text in tree views, if tfprof words it differently there."""
    suffix: str = ""
    """What tfprof writes after the number in the op view."""
    tree_suffix: str = ""
    """What tfprof writes after the pair of numbers in tree views."""
    leads_trees: bool = False
    """Whether tree views put it before all others."""
    no_share_of_zero: bool = False
    """Whether the op view prints both shares of a zero as 0, as tfprof does for bytes."""
    not_in_traces: str = ""
    """What to call it in the note that a trace without the program's graph lacks it."""
    not_in_tfprof: str = ""
    """What to call it in the note that tfprof's inputs lack it."""
    from_allocator: bool = False
    """Whether it is computed from allocations, which may not have been recorded."""
    from_shapes: bool = False
    """Whether it is computed from shapes, which may be unknown for some runs."""
    not_for_lines: bool = False
    """Whether tfprof prints `N/A` for it in the code view."""
    optional: bool = False
    """Whether a tree row omits the cell if it has no text."""
    orders_by_total: bool = False
    """Whether `-order_by total_NAME` sorts by totals in views that sort by what is a row's own."""

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The frame's columns that hold its numbers."""
        return tuple(metric.name for metric in self.measures)

    @property
    def has_shares(self) -> bool:
        """Whether the op view prints two percentages with it; pairs of counts have none."""
        return len(self.measures) == 1

    @property
    def of_ops(self) -> bool:
        """Whether it says something about TensorFlow's ops."""
        return all(metric.table != "python" for metric in self.measures)

    @cached_property
    def format(self) -> Callable[[float], str]:
        """The function that writes its numbers."""
        return self.unit.format


COLUMNS: dict[str, Column] = {
    column.name: column
    for column in (
        Column(
            name="wall_micros",
            title="wall time",
            help="time that the cell's own thread spent there, whatever it did; adds up to the "
            "cell's wall time",
            measures=(Metric(name="wall_micros", table="python"),),
            unit=MICROS,
            views=("call", "function", "line"),
            orders_by_total=True,
        ),
        Column(
            name="hits",
            title="hits",
            help="how often the line began; for a function that it led to, how often it was called",
            measures=(Metric(name="hits", table="python", counts=True),),
            views=("line",),
        ),
        Column(
            name="hit_micros",
            title="time per hit",
            help="wall time by hits, with the functions that the line led to",
            measures=(Metric(name="hit_micros", table="python"),),
            unit=MICROS,
            views=("line",),
        ),
        Column(
            name="calls",
            title="calls (all|primitive)",
            help="how often it was called, and how often not by way of itself; in recursion only "
            "the first call is primitive",
            measures=(
                Metric(name="calls", table="python", counts=True),
                Metric(name="primitive_calls", table="python", counts=True),
            ),
            views=("function",),
        ),
        Column(
            name="thread_micros",
            title="time on other threads",
            help="time that other threads of the cell spent there, waiting included, where "
            "-threads sampled them; no part of the cell's wall time",
            measures=(Metric(name="thread_micros", table="python"),),
            needs="threads",
            unit=MICROS,
            views=("call",),
        ),
        Column(
            name="bytes",
            title="requested bytes",
            help="memory the op asked the allocator for, summed over all runs",
            measures=(Metric(name="bytes", column="bytes"),),
            unit=BYTES,
            no_share_of_zero=True,
            from_allocator=True,
        ),
        Column(
            name="peak_bytes",
            title="peak bytes",
            help="the most memory the op held at once during a run, summed over all runs",
            measures=(Metric(name="peak_bytes", column="peak_bytes"),),
            unit=BYTES,
            no_share_of_zero=True,
            from_allocator=True,
        ),
        Column(
            name="residual_bytes",
            title="residual bytes",
            help="memory the op had not freed when its run ended, summed over all runs; an output "
            "that is passed on counts",
            measures=(Metric(name="residual_bytes", column="residual_bytes"),),
            unit=BYTES,
            no_share_of_zero=True,
            from_allocator=True,
        ),
        Column(
            name="output_bytes",
            title="output bytes",
            help="the size of the op's outputs, including those it only forwarded or wrote over "
            "an input, summed over all runs; for a copy on a GPU, the bytes copied",
            measures=(Metric(name="output_bytes", column="output_bytes"),),
            unit=BYTES,
            no_share_of_zero=True,
            from_shapes=True,
        ),
        Column(
            name="micros",
            title="total execution time",
            help="time the op ran, cpu_micros + accelerator_micros, summed over all runs; waiting "
            "for other ops or for input is not included",
            measures=(Metric(name="micros", adds=("cpu_micros", "accelerator_micros")),),
            unit=MICROS,
            brings=("accelerator_micros", "cpu_micros"),
            always=True,
        ),
        Column(
            name="accelerator_micros",
            title="accelerator execution time",
            help="the part of micros spent on a GPU or TPU; 0 for ops that run on the CPU",
            measures=(
                Metric(
                    name="accelerator_micros",
                    column="self_ns",
                    dtype="int64",
                    divisor=1e3,
                    devices="accelerator",
                ),
            ),
            unit=MICROS,
            always=True,
        ),
        Column(
            name="cpu_micros",
            title="cpu execution time",
            help="the part of micros that host threads spent in the op's kernel, from its start "
            "to its end",
            measures=(
                Metric(
                    name="cpu_micros",
                    column="self_ns",
                    dtype="int64",
                    divisor=1e3,
                    devices="cpu",
                ),
            ),
            unit=MICROS,
            always=True,
        ),
        Column(
            name="live_bytes",
            title="live bytes",
            help="of the memory that was alive when the cell held the most, what the op allocated; "
            "adds up to that peak; with oneDNN, tensors below 256 KiB are left out",
            measures=(Metric(name="live_bytes", column="live_bytes", at_one_moment=True),),
            unit=BYTES,
            no_share_of_zero=True,
            from_allocator=True,
            not_in_tfprof="what was alive at the peak",
        ),
        Column(
            name="alloc_bytes",
            title="left behind",
            help="memory of Python that was allocated there and still is after the cell; if "
            "tracemalloc was on before the cell, the difference to before",
            measures=(Metric(name="alloc_bytes", table="python", column="left_bytes"),),
            unit=BYTES,
            views=("alloc",),
        ),
        Column(
            name="alloc_count",
            title="blocks left behind",
            help="in how many blocks of memory, of one object or array each",
            measures=(
                Metric(name="alloc_count", table="python", column="left_count", counts=True),
            ),
            views=("alloc",),
        ),
        Column(
            name="alloc_peak_bytes",
            title="at the peak",
            help="memory of Python that was allocated there when the cell held the most",
            measures=(Metric(name="alloc_peak_bytes", table="python", column="peak_bytes"),),
            unit=BYTES,
            views=("alloc",),
        ),
        Column(
            name="alloc_before_bytes",
            title="before the cell",
            help="memory of Python that was allocated there before the cell; known only if "
            "tracemalloc was on",
            measures=(Metric(name="alloc_before_bytes", table="python", column="before_bytes"),),
            unit=BYTES,
            views=("alloc",),
        ),
        Column(
            name="params",
            title="# parameters",
            help="elements of the variables that the cell's functions, layers and graphs hold, "
            "including those of optimizers and metrics; op types mark the trainable ones; for "
            "tfprof's inputs, elements of every node that has a shape of its own",
            measures=(Metric(name="params", table="nodes", column="params"),),
            label="shape",
            always=True,
            suffix=" params",
            tree_suffix=" params",
            leads_trees=True,
            not_in_traces="parameters",
        ),
        Column(
            name="float_ops",
            title="# float_ops",
            help="float operations, counted on the shapes of each run and summed over all runs; "
            "for tfprof's inputs, the op log's number for one run",
            measures=(Metric(name="float_ops", column="float_ops"),),
            suffix=" float_ops",
            tree_suffix=" flops",
            leads_trees=True,
            from_shapes=True,
        ),
        Column(
            name="tensor_value",
            title="",
            help="the value of a variable in the checkpoint given with the graph, below its row",
            shows="lines",
        ),
        Column(
            name="device",
            title="assigned devices",
            help="where the op ran",
            words_of=("device",),
            optional=True,
        ),
        Column(
            name="op_types",
            title="op types",
            help="the op's type, its device, _trainable_variables for what a model learns, the "
            "kernel that ran in its place, and what it was fused with",
            words_of=("op_type", "kernel", "types", "device"),
        ),
        Column(
            name="occurrence",
            title="op occurrence (run|defined)",
            help="how often the op ran, and how many nodes of that name or type ran; constants "
            "and NoOps are never seen running",
            measures=(
                Metric(name="run_count", column="is_run", dtype="int64", counts=True),
                Metric(name="defined_count", table="nodes", counts=True),
            ),
            always=True,
            tree_title="op count (run|defined)",
            not_for_lines=True,
        ),
        Column(
            name="input_shapes",
            title="input shapes",
            help="the shapes of the inputs the op ran with, and how often and how long with each",
            shows="shapes",
            not_for_lines=True,
        ),
    )
}


def summed_columns() -> tuple[str, ...]:
    """Return the columns of `events` that views add up and that are NaN where not recorded.

    Each has the same name as its metric.
    """
    return tuple(
        metric.column
        for column in COLUMNS.values()
        for metric in column.measures
        if metric.table == "events" and metric.column and metric.dtype == "float64"
    )


def allocator_columns() -> tuple[str, ...]:
    """Return the columns that are computed from allocations."""
    return tuple(column.name for column in COLUMNS.values() if column.from_allocator)


def op_times() -> frozenset[str]:
    """Return the metrics of op time, which a node that was fused into another does not have."""
    measured = [metric for column in COLUMNS.values() for metric in column.measures]
    own = {metric.name for metric in measured if metric.column == "self_ns"}
    return frozenset(own.union(metric.name for metric in measured if own & set(metric.adds)))


def counts() -> frozenset[str]:
    """Return the metrics that are whole numbers of things, such as runs."""
    measured = (metric for column in COLUMNS.values() for metric in column.measures)
    return frozenset(metric.name for metric in measured if metric.counts)


def views_with(column: Column) -> tuple[str, ...]:
    """Return the views that have a column."""
    return column.views or tuple(name for name, kind in VIEWS.items() if kind.has_ops)


def selected(names: Iterable[str], view: str) -> tuple[Column, ...]:
    """Return the selected columns and those they bring, each once, in the view's legend order."""
    wanted = set(names)
    for name in tuple(wanted):
        wanted.update(COLUMNS[name].brings)
    chosen = [
        column
        for column in COLUMNS.values()
        if column.name in wanted and view in views_with(column)
    ]
    if VIEWS[view].tree_legend:
        chosen.sort(key=lambda column: not column.leads_trees)
    return tuple(chosen)


def title_in(view: str, column: Column) -> str:
    """Return the legend text of a column in a view."""
    return (VIEWS[view].tree_legend and column.tree_title) or column.title
