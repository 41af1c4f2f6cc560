"""What names hold, as tables in Pympler's manner and as HTML."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from nbprof.units import format_kilobytes, format_mebibytes

if TYPE_CHECKING:
    from nbprof.memory.namespace import Name, ObjectMemory

STYLE = """<style>
.nbprof-objects{font-size:90%}
.nbprof-objects p{margin:.3em 0}
.nbprof-objects table{display:inline-table;vertical-align:top;margin:.3em 2em .3em 0}
.nbprof-objects td{font-variant-numeric:tabular-nums;text-align:right}
.nbprof-objects small{opacity:.75}
</style>"""


def headline(result: "ObjectMemory") -> str:
    """Say in a line what all names hold, or hold more."""
    if result.change:
        return (
            f"names hold {_signed(result.total)} since before the cell; the process "
            f"{_signed(result.resident)}"
        )
    return (
        f"names hold {format_mebibytes(result.total)} of the {format_mebibytes(result.resident)} "
        "that the process holds in RAM"
    )


def report(result: "ObjectMemory") -> str:
    """Write both tables as text."""
    parts = [headline(result)]
    for table in (name_rows(result), kind_rows(result)):
        if len(table) > 1:
            parts.append("\n".join(_pympler(table)))
    return "\n\n".join([*parts, *_left_out(result)])


def name_rows(result: "ObjectMemory") -> list[list[str]]:
    """Write the names, the largest first, under their titles."""
    shares = any(each.reached != each.bytes for each in result.names[: result.rows])
    titles = ["names", "type", "total size"]
    titles += ["with shared"] if shares else []
    titles += ["state"] if result.change else []
    rows = [titles]
    for each in result.names[: result.rows]:
        row = [each.name, each.type, _size(each, each.bytes)]
        row += [_size(each, each.reached)] if shares else []
        row += [(result.states or {}).get(each.name, "grown" if each.bytes > 0 else "shrunk")][
            : result.change
        ]
        rows.append(row)
    return rows


def kind_rows(result: "ObjectMemory") -> list[list[str]]:
    """Write the types, the largest first, under Pympler's titles."""
    return [
        ["types", "# objects", "total size"],
        *(
            [each.type, str(each.count), format_kilobytes(each.bytes)]
            for each in result.kinds[: result.rows]
        ),
    ]


def _size(name: "Name", size: float) -> str:
    return f"{'' if name.exact else '~'}{format_kilobytes(size)}"


def _signed(size: float) -> str:
    more = format_mebibytes(abs(size))
    if more == format_mebibytes(0):
        return "nothing more"
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
        yield f"… and {more} more names: -n N shows more, and the frame of -o has them all."


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
