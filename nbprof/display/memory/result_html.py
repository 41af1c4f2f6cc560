"""Memory results as script-free HTML that reads well without its style sheet and drawing too."""

from html import escape
from typing import TYPE_CHECKING

from nbprof.display.memory import curve_svg, result_text

if TYPE_CHECKING:
    from nbprof.memory.result import MemoryResult

STYLE = """<style>
.nbprof-memory{font-size:90%}
.nbprof-memory p{margin:.2em 0}
.nbprof-memory small{opacity:.75}
</style>"""


def report(result: "MemoryResult") -> str:
    """Write a MemoryResult as one HTML fragment."""
    largest = result.largest
    return "\n".join(
        [
            f'<div class="nbprof-memory">{STYLE}',
            f"<p><b>{escape(result_text.headline(result))}</b></p>",
            *(f"<p><small>{escape(line)}</small></p>" for line in result_text.details(result)),
            curve_svg.svg(largest),
            "</div>",
        ]
    )
