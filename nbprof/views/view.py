"""View: rows with their column descriptions, ready to be shown or exported."""

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
    """Note that a view with an outfile has not written it by itself."""
    path = options.output.outfile
    return (f"view.write_output() writes {path}; until then nothing is written",) if path else ()


@dataclass(frozen=True, eq=False)
class Origin:
    """What the rows of a tree were made of: for files that say more than the frame does."""

    rows: "npt.NDArray[np.intp]"
    """The row of the whole tree that each row of the frame shows, -1 for the root."""
    end: "npt.NDArray[np.intp]"
    """For each row of the whole tree, the one behind its subtree."""
    total_micros: "npt.NDArray[np.float64]"
    """Of each row of the frame, selected or not."""
    node: "npt.NDArray[np.intp]"
    """The nodes, or parts of nodes, that the tree adds up."""
    row: "npt.NDArray[np.intp]"
    """The row of the whole tree in which each of them counts; negative: in none."""
    lines: "Lines | None" = None


@dataclass(frozen=True, eq=False)
class Lines:
    """What the code view was made of."""

    frames: "pd.DataFrame"
    """The line that each row of the whole tree is: `file`, `line`, `function`, `function_line`."""
    metrics: "Mapping[str, npt.NDArray[np.float64]]"
    """What each of the nodes or parts of nodes cost."""


@dataclass(frozen=True, eq=False)
class Places:
    """In which row of a view each event of the profile counts."""

    of_event: "npt.NDArray[np.intp]"
    """The member that each event belongs to: a node, or a part of one."""
    row: "npt.NDArray[np.intp]"
    """The row of the frame that each member counts in; of a hidden one, the nearest above."""
    own: "npt.NDArray[np.bool_]"
    """Whether it counts as that row's own; else only in its total, or where the row is -1, not."""


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """One way of looking at a profile; `frame` is the thing itself, the rest shows it."""

    name: str
    """Which view this is, such as "op"."""
    frame: "pd.DataFrame"
    """The rows in display order, raw numbers (µs, counts)."""
    columns: "tuple[Column, ...]"
    """The selected columns, in legend order."""
    options: "ViewOptions"
    headline: str
    """What was profiled, in one line."""
    notes: tuple[str, ...] = ()
    accounted: "npt.NDArray[np.bool_] | None" = None
    """Which rows of a tree count for themselves; tfprof prints `--` for the others."""
    exact: bool = False
    """Whether the numbers are tfprof's own, so that the text must be, too."""
    origin: Origin | None = None
    """Of a tree that goes into a timeline or to pprof."""
    places: "Callable[[], Places] | None" = None
    """Says where the events count; None: a printed report."""
    profile: "Profile | None" = None
    """What it is a view of, for the explorer to show other views of; None: a printed report."""

    @property
    def is_tree(self) -> bool:
        """Tell whether rows have a parent row."""
        return "parent" in self.frame.columns

    @property
    def text(self) -> str:
        """The report as tfprof prints it: header, notes, a line `Profile:`, legend, rows."""
        from nbprof.display import text

        return text.report(self)

    def write_output(self) -> "tuple[Path, ...]":
        """Write the files that the option `output` names and return their paths."""
        from nbprof.export import outputs

        return outputs.write(self)

    def to_csv(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as CSV, one header line, raw numbers."""
        from nbprof.export import table

        self._write(table.write_csv, path)

    def to_json(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as JSON: `data` is a list of rows, `{"name": …, "micros": …}`.

        Before it stand the view's `name`, `title` (the headline), `notes`, `options`, and a
        `schema` with the type and unit of each column. `pandas.read_json(path, orient="table")`
        gives the frame back. What was not recorded is null.
        """
        from nbprof.export import table

        self._write(table.write_json, path)

    def to_parquet(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as Parquet; `pip install 'nbprof[parquet]'` brings what this needs.

        `pandas.read_parquet(path)` gives the frame back, with the view's `name`, `title` (the
        headline), `notes` and `options` in its `attrs`. Units stand in the metadata of the fields;
        what was not recorded is null.
        """
        from nbprof.export import parquet

        self._write(parquet.write_parquet, path)

    def plot(self, column: str | None = None, top: int = 20, ax: "Axes | None" = None) -> "Axes":
        """Draw the rows that have the most of a column as bars, and the others as one.

        Without a column it is the one the view is ordered by. In a tree that is `total_micros` and
        the like: rows stand as in the tree, and the dark part of a bar is the row's own; with
        `micros`, rows are ranked by their own alone. Without an Axes a figure is made; in a given
        one fewer rows are drawn where `top` of them have no room.
        """
        from nbprof.display.plots import bars

        return bars.plot(self, column, top, ax)

    def to_html(self, path: "str | os.PathLike[str]") -> None:
        """Write the explorer of this view into one file that needs nothing else, nor a network."""
        from nbprof.display.explorer import page

        self._write(page.write_view, path)

    def explore(self) -> Any:
        """Give the live explorer, a widget with up to 200,000 rows of each view.

        `.selection` is what is selected in it. A view has one, also if asked twice. It goes into
        any ipywidgets layout; `.close()` frees what it holds.
        """
        from nbprof.display.explorer import explorer_widget

        return explorer_widget.explorer_of(self)

    def _write(
        self, write: "Callable[[View, BinaryIO], None]", path: "str | os.PathLike[str]"
    ) -> None:
        """Write a file that is there whole or not at all."""
        from nbprof.export import whole_file

        with whole_file.whole_file(path) as file:
            write(self, file)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from nbprof.display import bundle

        return bundle(self)
