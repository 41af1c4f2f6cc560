"""View: rows and the columns that describe them, ready to be shown or exported."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from nbprof._profile import Profile
    from nbprof.columns import Column
    from nbprof.options import ViewOptions


def unwritten(options: "ViewOptions") -> tuple[str, ...]:
    """Return a note that `write_output` writes the outfile, since making the view does not."""
    path = options.output.outfile
    return (f"view.write_output() writes {path}",) if path else ()


@dataclass(frozen=True, eq=False)
class Origin:
    """What the rows of a tree were made of, for files that hold more than the frame."""

    rows: "npt.NDArray[np.intp]"
    """The row of the whole tree that each row of the frame shows, -1 for the root."""
    end: "npt.NDArray[np.intp]"
    """For each row of the whole tree, the one after its subtree."""
    total_micros: "npt.NDArray[np.float64]"
    """The total µs of each row of the frame, even if not selected."""
    node: "npt.NDArray[np.intp]"
    """The nodes, or parts of nodes, that the tree adds up."""
    row: "npt.NDArray[np.intp]"
    """The row of the whole tree in which each of them counts, negative for none."""
    lines: "Lines | None" = None
    """Only for a pprof profile of the code view."""


@dataclass(frozen=True, eq=False)
class Lines:
    """What the code view adds to an `Origin`."""

    frames: "pd.DataFrame"
    """The line of each row of the whole tree: `file`, `line`, `function`, `function_line`."""
    metrics: "Mapping[str, npt.NDArray[np.float64]]"
    """What each node, or part of a node, cost."""


@dataclass(frozen=True, eq=False)
class RowLines:
    """The line of Python that each row is about."""

    file: "npt.NDArray[np.object_]"
    line: "npt.NDArray[np.int64]"
    """Counted from 1; 0 for a row that has no line of its own and belongs to the row above it."""

    def of_rows(self, rows: "npt.NDArray[np.intp]") -> "RowLines":
        """Return the lines of these rows."""
        return RowLines(self.file[rows], self.line[rows])


@dataclass(frozen=True, eq=False)
class Places:
    """The row of a view in which each event of the profile counts."""

    of_event: "npt.NDArray[np.intp]"
    """The member of each event: a node, or part of one."""
    row: "npt.NDArray[np.intp]"
    """The row of the frame in which each member counts; if hidden, the nearest one above."""
    own: "npt.NDArray[np.bool_]"
    """Whether a member is the row's own; otherwise only in its total, or nowhere if `row` is -1."""


@dataclass(frozen=True, kw_only=True)
class Lead:
    """What a report says before its notes: a title, sentences, and a short table."""

    title: str
    sentences: tuple[str, ...] = ()
    heading: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """Each as long as `heading`; the first cell is a number."""


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """One way of looking at a profile; `frame` is its content, the methods show it."""

    name: str
    """Which view this is, such as "op"."""
    frame: "pd.DataFrame"
    """The rows in display order, with raw numbers in µs, bytes and counts."""
    columns: "tuple[Column, ...]"
    """The selected columns, in legend order."""
    options: "ViewOptions"
    headline: str
    """What was profiled, in one line."""
    notes: tuple[str, ...] = ()
    lead: Lead | None = None
    """What matters more than any row, such as that the cell ran out of memory."""
    accounted: "npt.NDArray[np.bool_] | None" = None
    """Mask of the rows of a tree that count for themselves; the others show `--`."""
    exact: bool = False
    """Whether the numbers are tfprof's own, so that the text must match tfprof's, too."""
    origin: Origin | None = None
    """Only for a tree to be written as a timeline or a pprof profile."""
    places: "Callable[[], Places] | None" = None
    """Returns where the events count; None for a printed report."""
    row_lines: RowLines | None = None
    """The lines of the frame's rows; only where rows are lines, and None for a printed report."""
    row_functions: "npt.NDArray[np.intp] | None" = None
    """The rows of `profile.functions` that the frame's rows show, -1 for none; only where rows are
    functions."""
    profile: "Profile | None" = None
    """The profile, for the explorer's other views; None for a printed report."""

    @property
    def is_tree(self) -> bool:
        """Whether rows have a parent row."""
        return "parent" in self.frame.columns

    @property
    def text(self) -> str:
        """The report as tfprof prints it: header, notes, a line `Profile:`, legend, rows."""
        from nbprof.display import text

        return text.report(self)

    def write_output(self) -> "tuple[Path, ...]":
        """Write the files that the option `output` names and return their paths."""
        from nbprof.export import outputs
        from nbprof.views.timeline_steps import timeline_steps

        return outputs.write(self, timeline_steps(self))

    def to_csv(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as CSV, one header line, raw numbers."""
        from nbprof.export import table

        self._write(table.write_csv, path)

    def to_json(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as JSON: `data` is a list of rows, `{"name": …, "micros": …}`.

        Before it come the view's `name`, `title` (the headline), `notes`, `options`, and a
        `schema` with the type and unit of each column. `pandas.read_json(path, orient="table")`
        returns the frame. What was not recorded is null.
        """
        from nbprof.export import table

        self._write(table.write_json, path)

    def to_parquet(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as Parquet; needs `pip install 'nbprof[parquet]'`.

        `pandas.read_parquet(path)` returns the frame, with the view's `name`, `title` (the
        headline), `notes` and `options` in its `attrs`. Units are in the metadata of the fields;
        what was not recorded is null.
        """
        from nbprof.export import parquet

        self._write(parquet.write_parquet, path)

    def plot(self, column: str | None = None, top: int = 20, ax: "Axes | None" = None) -> "Axes":
        """Draw the rows with the highest numbers in a column as bars, and the rest as one bar.

        The default is the column the view is ordered by. In a tree that is `total_micros` or the
        like: rows keep the tree's order, and the dark part of a bar is the row's own. With
        `micros`, rows are ranked by their own numbers. Without an Axes a figure is made; a given
        one may have room for fewer than `top` rows.
        """
        from nbprof.display.plots import bars

        return bars.plot(self, column, top, ax)

    def to_html(self, path: "str | os.PathLike[str]") -> None:
        """Write the explorer of this view into one file that needs no other file and no network."""
        from nbprof.display.explorer import page
        from nbprof.memory.malloc_stats import trim
        from nbprof.views.report import report_of

        self._write(lambda view, file: page.write(report_of(view), file), path)
        trim()

    def explore(self) -> Any:
        """Return the live explorer, a widget with up to 200,000 rows of each view.

        `.selection` holds the selected rows. Calling this again returns the same widget until it
        is closed. It fits into any ipywidgets layout; `.close()` frees what it holds.
        """
        from nbprof.display.explorer import explorer_widget
        from nbprof.views.report import report_of

        return explorer_widget.open_explorer(self) or explorer_widget.Explorer(report_of(self))

    def _write(
        self, write: "Callable[[View, BinaryIO], None]", path: "str | os.PathLike[str]"
    ) -> None:
        """Write a file completely or not at all."""
        from nbprof.export import whole_file

        with whole_file.whole_file(path) as file:
            write(self, file)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from nbprof.display import bundle
        from nbprof.memory.malloc_stats import trim
        from nbprof.views.report import output_report

        shown = bundle(output_report(self))
        trim()  # making a report takes many times its size
        return shown
