"""Pages kept by hand where a table in the code says the same are compared with that table."""

import re
from pathlib import Path

import pytest

from nbprof.columns import COLUMNS
from nbprof.line import OWN_FLAGS
from nbprof.options import OPTIONS, ViewOptions

TOP = Path(__file__).parents[1]
DOCS = TOP / "docs"


def cell(text):
    return text.replace("|", "\\|")


def columns_page():
    """Write docs/columns.md from the tables in the code."""
    defaults = ViewOptions()
    lines = [
        "# Columns and options",
        "",
        "Made from `nbprof/columns.py` and `nbprof/options.py` by "
        "`pytest tests/test_docs.py --update-golden`.",
        "",
        "## Columns",
        "",
        "| `-select` | legend | columns of the frame | meaning |",
        "|---|---|---|---|",
    ]
    for column in COLUMNS.values():
        metrics = ", ".join(f"`{metric}`" for metric in column.metrics)
        brings = f" Brings {', '.join(f'`{name}`' for name in column.brings)} along."
        help_ = f"{column.help}.{brings if column.brings else ''}"
        lines.append(f"| `{column.name}` | {cell(column.title)} | {metrics} | {help_} |")
    lines += [
        "",
        "In the `op` view a time `m` also has `m_percent`, the row's own share, and "
        "`m_accumulated_percent`, the share of",
        "the row and all rows below it. In tree views every metric `m` also has `total_m`, with "
        "everything below the row.",
        "",
        "## Options",
        "",
        "With one dash or two on the magic's line, without on `profile.view(...)`. Defaults: "
        f"`-order_by {defaults.order_by}`,",
        f"`-select {','.join(defaults.select)}`, `-max_depth {defaults.max_depth}`.",
        "",
        "| option | meaning |",
        "|---|---|",
        *(
            f"| `{f'-{name} {option.value}'}` | {cell(option.help)} |"
            for name, option in OPTIONS.items()
        ),
        "",
        "On the magic's line only:",
        "",
        "| flag | meaning |",
        "|---|---|",
        *(
            f"| `{f'-{name} {value}'.strip()}` | {text} |"
            for name, (value, text) in OWN_FLAGS.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def test_the_page_of_columns_says_what_the_code_says(request):
    page = DOCS / "columns.md"
    if request.config.getoption("--update-golden"):
        page.write_text(columns_page(), encoding="utf-8")

    assert page.read_text(encoding="utf-8") == columns_page()


@pytest.mark.parametrize(
    "page", [TOP / "README.md", TOP / "CONTRIBUTING.md", *DOCS.glob("*.md")], ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_file_the_architecture_names_is_there():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")

    named = set(re.findall(r"`((?:\w+/)?\w+\.py)`", text))
    there = {file.name for file in (TOP / "nbprof").rglob("*.py")}
    there |= {file.name for file in (TOP / "tests").rglob("*.py")}
    assert {name.rpartition("/")[2] for name in named} <= there | {"utils.py"}
