"""The grammar of the program: every column of a view, declared once.

`-select`, `-order_by`, `-min_*`, legends, help texts, frame and CSV headers and the docs page are
all read from `COLUMNS`, which stands in the order of tfprof's legend.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nbprof.units import format_bytes, format_count, format_micros

ROOT = "_TFProfRoot"
"""The name of a tree's first row."""


@dataclass(frozen=True)
class Column:
    """One thing a user can select, and the metrics it stands for."""

    name: str
    """What the user types after `-select`, `-order_by` and `-min_`."""
    title: str
    """tfprof's legend text."""
    help: str
    """What the number is, in a sentence that can follow `name: `."""
    metrics: tuple[str, ...] = ()
    """The frame's columns it brings; children add up to their parent in each of them. A column
    without any is a label."""
    format: Callable[[float], str] = format_count
    brings: tuple[str, ...] = ()
    """Columns that come along when this one is selected, behind it."""
    tree_title: str = ""
    """The legend text in tree views where tfprof words it differently."""
    unit: str = ""
    """What tfprof writes behind the number in the op view."""
    tree_unit: str = ""
    """What it writes behind the pair of numbers in tree views."""
    leads_trees: bool = False
    """Whether tree views have it before all others."""
    no_share_of_zero: bool = False
    """Whether the op view prints both shares as 0 beside a zero, as tfprof does for bytes."""


COLUMNS = {
    column.name: column
    for column in (
        Column(
            "bytes",
            "requested bytes",
            "memory the op asked the allocator for, summed over all runs",
            ("bytes",),
            format_bytes,
            no_share_of_zero=True,
        ),
        Column(
            "peak_bytes",
            "peak bytes",
            "the most memory the op held at once during a run, summed over all runs",
            ("peak_bytes",),
            format_bytes,
            no_share_of_zero=True,
        ),
        Column(
            "residual_bytes",
            "residual bytes",
            "memory the op had not given back when its run ended, summed over all runs; "
            "an output that is handed on counts",
            ("residual_bytes",),
            format_bytes,
            no_share_of_zero=True,
        ),
        Column(
            "output_bytes",
            "output bytes",
            "the size of the op's outputs, also of those that it only handed on or wrote over an "
            "input, summed over all runs",
            ("output_bytes",),
            format_bytes,
            no_share_of_zero=True,
        ),
        Column(
            "micros",
            "total execution time",
            "time the op ran, cpu_micros + accelerator_micros, summed over all runs; "
            "waiting for other ops or for input is not included",
            ("micros",),
            format_micros,
            brings=("accelerator_micros", "cpu_micros"),
        ),
        Column(
            "accelerator_micros",
            "accelerator execution time",
            "the part of micros spent on a GPU or TPU; 0 for ops that run on the CPU",
            ("accelerator_micros",),
            format_micros,
        ),
        Column(
            "cpu_micros",
            "cpu execution time",
            "the part of micros that host threads spent in the op's kernel, "
            "from its start to its end",
            ("cpu_micros",),
            format_micros,
        ),
        Column(
            "params",
            "# parameters",
            "elements of the variables that the cell's functions, layers and graphs hold, those of "
            "optimizers and metrics among them; op types tell the trainable ones; in tfprof's "
            "inputs, of every node with a shape of its own",
            ("params",),
            format_count,
            unit=" params",
            tree_unit=" params",
            leads_trees=True,
        ),
        Column(
            "float_ops",
            "# float_ops",
            "float operations by TensorFlow's registered formulas on the shapes of each run, "
            "summed over all runs; in tfprof's inputs, what the op log says of one run",
            ("float_ops",),
            format_count,
            unit=" float_ops",
            tree_unit=" flops",
            leads_trees=True,
        ),
        Column(
            "tensor_value",
            "",
            "the value of a variable in the checkpoint given with the graph, below its row",
        ),
        Column(
            "device",
            "assigned devices",
            "where the op ran",
        ),
        Column(
            "op_types",
            "op types",
            "the op's type, its device, and _trainable_variables for what a model learns",
        ),
        Column(
            "occurrence",
            "op occurrence (run|defined)",
            "how often the op ran, and how many nodes of that name or type ran; constants and "
            "NoOps are never seen running",
            ("run_count", "defined_count"),
            format_count,
            tree_title="op count (run|defined)",
        ),
        Column(
            "input_shapes",
            "input shapes",
            "the shapes of the inputs with which the op ran, and how often and how long with each",
        ),
    )
}

METRICS = tuple(column.name for column in COLUMNS.values() if column.metrics)
"""The columns that are numbers: those one can sort by and set a minimum for."""


def selected(names: Iterable[str], view: str) -> tuple[Column, ...]:
    """List the selected columns and those they bring, each once, in the view's legend order."""
    wanted = set(names)
    for name in tuple(wanted):
        wanted.update(COLUMNS[name].brings)
    chosen = [column for column in COLUMNS.values() if column.name in wanted]
    if view not in ("op", "code"):
        chosen.sort(key=lambda column: not column.leads_trees)
    return tuple(chosen)
