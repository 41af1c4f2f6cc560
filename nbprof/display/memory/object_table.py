"""An ObjectMemory as tables like Pympler's and as HTML."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from nbprof.units import format_kilobytes, format_mebibytes

if TYPE_CHECKING:
    from nbprof.memory.namespace import Name, ObjectMemory

NO_MORE = "no more"
STYLE = """<style>
.nbprof-objects{font-size:90%}
.nbprof-objects p{margin:.3em 0}
.nbprof-objects table{display:inline-table;vertical-align:top;margin:.3em 2em .3em 0}
.nbprof-objects td{font-variant-numeric:tabular-nums;text-align:right}
.nbprof-objects small{opacity:.75}
</style>"""


def headline(result: "ObjectMemory") -> str:
    """Write one line: what all names hold, or how much more they hold than before."""
    about = "" if all(each.exact for each in result.names) else "about "
    if result.change:
        more = _change(result.total)
        return (
            f"names hold {'' if more == NO_MORE else about}{more} than before the cell; "
            f"the process holds {_change(result.resident)}"
        )
    return (
        f"names hold {about}{format_mebibytes(result.total)} of the "
        f"{format_mebibytes(result.resident)} the process holds in RAM"
    )


def text_report(result: "ObjectMemory") -> str:
    """Write both tables as text."""
    parts = [headline(result)]
    for table in (name_rows(result), kind_rows(result)):
        if len(table) > 1:
            parts.append("\n".join(_pympler(table)))
    return "\n\n".join([*parts, *_left_out(result)])


def name_rows(result: "ObjectMemory") -> list[list[str]]:
    """Return the table of names, titles first, then the largest."""
    shares = any(each.reached != each.bytes for each in result.names[: result.rows])
    titles = ["names", "type", "total size"]
    titles += ["with shared"] if shares else []
    titles += ["state"] if result.change else []
    rows = [titles]
    for each in result.names[: result.rows]:
        row = [each.name, each.type, _format_size(each, each.bytes)]
        row += [_format_size(each, each.reached)] if shares else []
        row += [_state(result, each)] if result.change else []
        rows.append(row)
    return rows


def kind_rows(result: "ObjectMemory") -> list[list[str]]:
    """Return the table of types under Pympler's titles, the largest first."""
    return [
        ["types", "# objects", "total size"],
        *(
            [each.type, str(each.count), format_kilobytes(each.bytes)]
            for each in result.kinds[: result.rows]
        ),
    ]


def _state(result: "ObjectMemory", name: "Name") -> str:
    default = "grown" if name.bytes > 0 else "shrunk"
    return (result.states or {}).get(name.name, default)


def _format_size(name: "Name", size: float) -> str:
    return f"{'' if name.exact else '~'}{format_kilobytes(size)}"


def _change(size: float) -> str:
    more = format_mebibytes(abs(size))
    if more == format_mebibytes(0):
        return NO_MORE
    return f"{more} {'more' if size >= 0 else 'less'}"


def _pympler(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        yield " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        if number == 0:
            yield " | ".join("=" * width for width in widths)


def _left_out(result: "ObjectMemory") -> Iterator[str]:
    more = len(result.names) - result.rows
    if more > 0:
        names = "name" if more == 1 else "names"
        yield f"… and {more} more {names}: -n N shows more, -o returns them all."
    if result.unknown_names:
        yield (
            "There was no time to size these names in full again, so it is not known whether they "
            f"hold more or less: {_listed(result.unknown_names, result.rows)}."
        )
    if result.unknown_kinds:
        yield (
            "There was no time to count all objects of these types, so they are not compared: "
            f"{_listed(result.unknown_kinds, result.rows)}."
        )


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def html_report(result: "ObjectMemory") -> str:
    """Write both tables as one HTML fragment."""
    return "\n".join(
        [
            f'<div class="nbprof-objects">{STYLE}',
            f"<p><b>{escape(headline(result))}</b></p>",
            *_html_table(name_rows(result)),
            *_html_table(kind_rows(result)),
            *(f"<p><small>{escape(line)}</small></p>" for line in _left_out(result)),
            "</div>",
        ]
    )


def _html_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if len(rows) < 2:
        return
    titles, *rest = rows
    cells = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    yield f"<table><thead><tr>{cells}</tr></thead><tbody>"
    for row in rest:
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</tbody></table>"
