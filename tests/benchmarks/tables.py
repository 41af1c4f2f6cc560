"""Write figures as tables for a terminal and for Markdown; rows are dicts with the same keys."""

from typing import NamedTuple


class Column(NamedTuple):
    """The heading and format of a figure."""

    title: str
    format: str = "{}"


COLUMNS = {
    "cell": Column("cell"),
    "trace": Column("trace"),
    "events": Column("events", "{:,}"),
    "file_megabytes": Column("MB", "{:,.1f}"),
    "nodes": Column("nodes", "{:,}"),
    "view": Column("view"),
    "way": Column("way"),
    "ratio": Column("ratio", "{:.3g} ×"),
    "of_floor": Column("of the floor", "{:.2f} ×"),
    "seconds": Column("seconds", "{:,.3f}"),
    "events_per_second": Column("events/s", "{:,.0f}"),
    "megabytes": Column("memory, MB", "{:,.0f}"),
    "of_file": Column("of the file", "{:.1f} ×"),
    "own_megabytes": Column("own file, MB", "{:,.1f}"),
    "of_trace": Column("of the trace", "{:.2f} ×"),
    "spike": Column("spike"),
    "mebibytes": Column("found, MiB", "{:,.1f}"),
    "least_mebibytes": Column("at worst, MiB", "{:,.1f}"),
    "added_milliseconds": Column("added, ms", "{:,.2f}"),
    "added_seconds": Column("added, s", "{:,.3f}"),
    "of_memory_profiler": Column("of memory_profiler's", "{:.3f} ×"),
    "family": Column("family"),
    "percent_of_time": Column("of op time, %", "{:.1f}"),
    "percent_of_pixels": Column("of pixels, %", "{:.1f}"),
    "figure": Column("until"),
    "milliseconds": Column("ms", "{:,.0f}"),
    "ours": Column("nbprof is", "{:.3f} ×"),
    "with_pauses": Column("with pauses", "{:.3g} ×"),
    "cpu_ratio": Column("CPU with pauses", "{:.3g} ×"),
    "seconds_to_report": Column("end to report, s", "{:,.2f}"),
    "peak_megabytes": Column("peak above bare, MB", "{:,.0f}"),
    "grown_megabytes": Column("peak growth, MB", "{:,.0f}"),
    "kept_megabytes": Column("kept, MB", "{:,.0f}"),
    "not_watched_percent": Column("not watched", "{:.2g} %"),
    "steps": Column("steps", "{:,.0f}"),
    "in_detail": Column("in detail", "{:,.0f}"),
    "limited": Column("of what"),
    "limit": Column("limit"),
    "found": Column("found"),
    "holds": Column("holds"),
    "of_bare": Column("of bare", "{:.2f} ×"),
    "of_tracemalloc": Column("of tracemalloc", "{:.2f} ×"),
    "nanoseconds": Column("ns per use", "{:,.0f}"),
    "error": Column("error", "{:.1%}"),
    "exponent": Column("exponent", "{:.2f}"),
}
TEXTS = {"cell", "figure", "holds", "limited", "spike", "trace", "view", "way"}
"""Columns of text, aligned left."""


def column(key):
    """Return the column of a figure; those made by `spread` are already text."""
    return COLUMNS.get(key, Column(key))


def write(key, value):
    return "–" if value is None else column(key).format.format(value)


def spread(rows, down, across, value):
    """Pivot one figure: a row per value of `down`, a column per value of `across`."""
    titles = dict.fromkeys(write(across, row[across]) for row in rows)
    found = {}
    for row in rows:
        line = found.setdefault(row[down], {down: row[down]} | dict.fromkeys(titles, "–"))
        line[write(across, row[across])] = write(value, row[value])
    return list(found.values())


def as_text(rows):
    """Return the table with aligned columns, for a terminal."""
    table = [[column(key).title for key in rows[0]]]
    table += [[write(key, value) for key, value in row.items()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        aligned = (
            cell.ljust(width) if key in TEXTS else cell.rjust(width)
            for key, cell, width in zip(rows[0], cells, widths, strict=True)
        )
        lines.append("  " + "  ".join(aligned).rstrip())
    return "\n".join(lines)


def as_markdown(rows):
    """Return the table as Markdown."""
    lines = [
        [column(key).title for key in rows[0]],
        ["---" if key in TEXTS else "--:" for key in rows[0]],
        *([write(key, value) for key, value in row.items()] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
