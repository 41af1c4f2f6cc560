"""Write docs/columns.md from `COLUMNS`: `python docs/make_columns.py`."""

import sys
from pathlib import Path

PAGE = Path(__file__).parent / "columns.md"

BELOW = """\
In the `op` view a metric `m` also has `m_percent`, the row's own share, and
`m_accumulated_percent`, the share of the row and all rows below it; counts have neither. In tree
views every metric `m` also has `total_m`, which includes everything below the row. Variables of a
profiled cell are rows only if `-select`, `-order_by` or `-min_params` names `params`.

`live_bytes` is not a sum over time: it is what was alive at one moment, when the live memory of
the cell was highest (`profile.memory().attrs["peak"]`; several devices count at the peak of each).
So all rows together are that peak to the byte, and a tensor that was passed on counts for the op
that allocated it. What no op allocated, such as tensors made from numpy arrays, has the row
`outside ops`, in the code view `no Python line known` and in the layer view `outside layers`.
`-step N` and a time range in the explorer show what the runs in them had allocated of it; `-step
-1` shows the whole, since a peak is not divided by steps.
"""


def columns_page():
    """Return the page as Markdown."""
    from nbprof.columns import COLUMNS

    lines = [
        "# Columns",
        "",
        "What each number means. This page is written by `python docs/make_columns.py`.",
        "",
        "| `-select` | legend | columns of the frame | unit | meaning |",
        "|---|---|---|---|---|",
        *map(row, COLUMNS.values()),
    ]
    return "\n".join([*lines, "", BELOW])


def row(column):
    """Return the row of a column."""
    frame = ", ".join(map(code, column.metrics or (column.name,)))
    brings = f" Also selects {', '.join(map(code, column.brings))}." if column.brings else ""
    views = f" Only in the views {', '.join(column.views)}." if column.views else ""
    meaning = f"{column.help}.{brings}{views}"
    unit = column.unit.symbol if column.metrics else ""
    cells = (code(column.name), column.title, frame, unit, meaning)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def code(name):
    """Format a name as code."""
    return f"`{name}`"


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parent.parent))
    PAGE.write_text(columns_page(), encoding="utf-8")
