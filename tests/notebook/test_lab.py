"""The report as a person sees it: in JupyterLab, in both themes, reopened, and in a saved page."""

import re

import pytest
from front_ends import Kernel
from lab import browser, run_all, server, write_notebook
from nbconvert import HTMLExporter

pytestmark = [pytest.mark.tensorflow, pytest.mark.notebook, pytest.mark.browser]

CELLS = (
    "%load_ext nbprof\nimport tensorflow as tf",
    "%%tfprof op\nfor _ in range(7):\n    product = tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))\n"
    "'the value'",
    "%tfprof scope",
    "%tfprof code",
)
SELECTED = (
    "shown = view.explore()\nprint(list(shown.selection['name']), shown.line)\n"
    "print('in time', shown.time_range is not None)"
)
FEW_RUNS = "import nbprof.display.explorer.payload as payload\npayload.MOST_TIMED = 3"

CONTRAST = """() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const cells = '.nbx-row > *, .nbx button, .nbx-line';
  const ratios = [...document.querySelectorAll(cells)].map(cell => {
    const a = luminance(parse(getComputedStyle(cell).color)), b = luminance(behind(cell));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
  return Math.min(...ratios);
}"""


@pytest.fixture(scope="module")
def opened(chromium):
    with browser(chromium) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(opened, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    write_notebook(folder / "cells.ipynb", *CELLS)
    with server(folder) as address:
        page = opened.new_page(viewport={"width": 1200, "height": 900})
        run_all(page, address, "cells.ipynb")
        page.locator(".nbx").nth(2).wait_for(timeout=120_000)
        yield page


def test_jupyterlab_shows_the_report_and_below_it_the_cells_value(page):
    outputs = page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output")

    row = outputs.nth(0).get_by_role("row").filter(has_text="MatMul")
    assert row.get_by_role("gridcell").all_inner_texts()[-2:] == ["7", "1"]
    assert outputs.nth(1).inner_text().strip() == "'the value'"


def test_the_report_brings_no_log_lines_of_tensorflow_with_it(page):
    shown = page.locator(".jp-Cell").nth(1).inner_text()

    assert "profiler_session" not in shown


def test_the_tree_says_its_levels_and_its_header_stays(page):
    tree = page.locator(".nbx").nth(1)

    levels = [row.get_attribute("aria-level") for row in tree.get_by_role("row").all()[1:3]]
    assert levels == ["1", "2"]
    assert tree.locator(".nbx-heads").evaluate("e => getComputedStyle(e).position") == "sticky"


def test_the_source_beside_a_line_stays_in_its_cell(page):
    cells = page.locator(".nbx").nth(2).get_by_role("rowheader")

    assert "tf.matmul(tf.ones([8, 8])" in " ".join(cells.all_inner_texts())
    for cell in cells.all():
        box, beside = cell.bounding_box(), cell.locator("small").bounding_box()
        assert beside is None or beside["x"] + beside["width"] <= box["x"] + box["width"]


def test_keys_in_the_table_are_not_the_notebooks(page):
    grid = page.locator(".nbx-grid").nth(1)
    before = page.locator(".jp-Cell").count()

    grid.focus()
    for key in ("b", "d", "d", "ArrowDown", "Enter"):
        page.keyboard.press(key)

    assert page.locator(".jp-Cell").count() == before
    assert grid.evaluate("e => e === document.activeElement")


def test_the_views_switch_in_the_output(page):
    explorer = page.locator(".nbx").nth(1)

    explorer.get_by_role("button", name="op", exact=True).click()
    assert explorer.get_by_role("row").filter(has_text="MatMul").count() == 1
    explorer.get_by_role("button", name="scope", exact=True).click()


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_report_is_readable_in_the_theme_of_the_host(page, theme):
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")

    page.wait_for_function(f"({CONTRAST})() >= 4.5", timeout=15_000)


def test_the_widget_tells_python_what_is_selected(opened, tmp_path):
    cells = (*CELLS[:2], f"{FEW_RUNS}\n%tfprof op -explore -o view")
    write_notebook(tmp_path / "widget.ipynb", *cells, SELECTED)
    with server(tmp_path) as address:
        page = opened.new_page(viewport={"width": 1200, "height": 900})
        run_all(page, address, "widget.ipynb")
        explorer = page.locator(".jp-Cell").nth(2).locator(".nbx")
        explorer.wait_for(timeout=120_000)
        row = explorer.get_by_role("row").filter(has_text="MatMul")
        row.locator(".nbx-name").click()
        explorer.get_by_role("button", name="Timeline", exact=True).click()
        explorer.locator("canvas").first.focus()
        page.keyboard.press("r")
        told = explorer.locator(".nbx-flame .nbx-status", has_text="the table shows what began")
        told.wait_for(timeout=20_000)  # the kernel has added it up, to the end
        assert "whole parts" not in told.inner_text()
        page.wait_for_timeout(500)
        last = page.locator(".jp-Cell").nth(3)
        last.locator(".cm-content").click()
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
        printed = last.locator(".jp-OutputArea-output", has_text="['MatMul'] %tfprof op")
        printed.wait_for(timeout=20_000)
        assert "in time True" in printed.inner_text()
        page.close()


def test_a_saved_notebook_reopened_without_a_kernel_is_still_the_explorer(opened, tmp_path):
    write_notebook(tmp_path / "again.ipynb", *CELLS[:3])
    with server(tmp_path) as address:
        page = opened.new_page(viewport={"width": 1200, "height": 900})
        run_all(page, address, "again.ipynb")
        page.locator(".nbx").nth(1).wait_for(timeout=120_000)
        page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(1500)
        page.close()
        page = opened.new_page(viewport={"width": 1200, "height": 900})
        page.goto(f"{address}/lab/tree/again.ipynb?reset")
        page.wait_for_function("window.jupyterapp !== undefined")
        explorer = page.locator(".nbx").first
        explorer.wait_for(timeout=60_000)
        assert explorer.get_by_role("row").filter(has_text="MatMul").count() == 1
        page.close()


def test_a_saved_page_is_the_explorer_from_disk_without_any_network(opened, tmp_path):
    page = opened.new_context(offline=True).new_page()
    page.goto(_saved_page(tmp_path).as_uri(), wait_until="domcontentloaded")

    explorer = page.locator(".nbx").first
    explorer.wait_for(timeout=20_000)
    assert explorer.get_by_role("row").filter(has_text="MatMul").count() == 1


def _saved_page(folder):
    kernel = Kernel()
    try:
        for cell in CELLS:
            kernel.run(cell)
    finally:
        kernel.close()
    html, _ = HTMLExporter().from_notebook_node(kernel.notebook)
    (folder / "saved.html").write_text(html, encoding="utf-8")
    return folder / "saved.html"


def test_a_saved_page_shows_the_numbers_without_scripts_and_network(opened, tmp_path):
    page = opened.new_context(offline=True, java_script_enabled=False).new_page()
    page.goto(_saved_page(tmp_path).as_uri(), wait_until="domcontentloaded")
    row = page.locator(".nbprof").first.locator("tr", has_text="MatMul").inner_text()

    assert re.search(r"7\|1$", row.strip())
