"""A LineMemory as memory_profiler's table and as HTML with a heat map behind the numbers."""

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from nbprof.units import format_mebibytes

if TYPE_CHECKING:
    from nbprof.memory.line_result import Line, LineMemory, Table

ROW = "{:>6} {:>12} {:>12}  {:>11} {:>12}   {}"
"""Format of a row: memory_profiler's columns, with the peak before the line itself."""
TITLES = ("Line #", "Mem usage", "Increment", "Occurrences", "Peak", "Line Contents")
"""Column titles in memory_profiler's words."""

STYLE = """<style>
.nbprof-lines{font-size:90%}
.nbprof-lines p{margin:.3em 0}
.nbprof-lines div{max-height:30em;overflow:auto}
.nbprof-lines table{border-collapse:separate;border-spacing:0;margin:0}
.nbprof-lines th,.nbprof-lines td{padding:.1em .7em;text-align:right;white-space:nowrap;
 font-variant-numeric:tabular-nums}
.nbprof-lines th{position:sticky;top:0;
 background:var(--jp-layout-color0,var(--vscode-editor-background,Canvas))}
.nbprof-lines th:last-child,.nbprof-lines td:last-child{text-align:left}
.nbprof-lines td code{white-space:pre!important;background:none!important;padding:0!important}
.nbprof-lines small{opacity:.75}
</style>"""


def text_report(result: "LineMemory") -> str:
    """Write the tables as text."""
    parts = ["\n".join(_table(table)) for table in result.tables]
    parts += [f"note: {note}" for note in result.notes]
    return "\n\n".join(parts)


def _table(table: "Table") -> Iterator[str]:
    header = ROW.format(*TITLES)
    yield f"Filename: {table.file}"
    yield ""
    yield header
    yield "=" * len(header)
    for line in table.lines:
        yield ROW.format(line.number, *_numbers(line), line.source).rstrip()


def _numbers(line: "Line") -> tuple[str, str, str, str]:
    if not line.hits:
        return "", "", "", ""
    # As the increment of a `def` line, memory_profiler shows all memory that is held.
    growth = line.usage if line.defines else line.growth
    peak = "" if line.defines else format_mebibytes(line.peak)
    return format_mebibytes(line.usage), format_mebibytes(growth), str(line.hits), peak


def html_report(result: "LineMemory") -> str:
    """Write the tables as one HTML fragment."""
    parts = [f'<div class="nbprof-lines">{STYLE}']
    for table in result.tables:
        where = "" if table.file == table.name else f" <small>{escape(table.file)}</small>"
        parts += [f"<p><b>{escape(table.name)}</b>{where}</p>", *_html_table(table)]
    parts += [f"<p><small>note: {escape(note)}</small></p>" for note in result.notes]
    return "\n".join([*parts, "</div>"])


def _html_table(table: "Table") -> Iterator[str]:
    counted = [line for line in table.lines if not math.isnan(line.growth)]
    most_growth = max((abs(line.growth) for line in counted), default=0.0)
    most_peak = max((line.peak for line in counted), default=0.0)
    yield (
        '<div role="region" tabindex="0" aria-label="memory by line"><table><thead><tr>'
        '<th scope="col">line</th><th scope="col">hits</th>'
        '<th scope="col" title="how much more is held after the line, summed over its hits, '
        'including what it calls">growth</th>'
        '<th scope="col" title="how far memory rose above its level before the line">peak</th>'
        '<th scope="col">source</th></tr></thead><tbody>'
    )
    for line in table.lines:
        hits = f"{line.hits:,}" if line.hits else ""
        yield (
            f"<tr><td><small>{line.number}</small></td><td>{hits}</td>"
            f"{_heat(line.growth, most_growth, '217,74,56')}"
            f"{_heat(line.peak, most_peak, '66,133,244')}"
            f"<td><code>{escape(line.source)}</code></td></tr>"
        )
    yield "</tbody></table></div>"


def _heat(size: float, most: float, colour: str) -> str:
    if math.isnan(size):
        return "<td></td>"
    share = abs(size) / most if most >= 2**20 else 0.0
    style = f' style="background:rgba({colour},{0.45 * share:.2f})"' if share > 0.02 else ""
    return f"<td{style}>{format_mebibytes(size)}</td>"
