"""The report as a person sees it: in JupyterLab, in both themes, and in a saved page."""

import re

import nbformat
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
  const ratios = [...document.querySelectorAll('.nbprof td, .nbprof th')].map(cell => {
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
        page.locator(".nbprof").nth(2).wait_for(timeout=120_000)
        yield page


def test_jupyterlab_shows_the_report_and_below_it_the_cells_value(page):
    outputs = page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output")

    assert outputs.nth(0).locator("tr", has_text="MatMul").inner_text().split()[-1] == "7|1"
    assert outputs.nth(1).inner_text().strip() == "'the value'"


def test_the_report_brings_no_log_lines_of_tensorflow_with_it(page):
    shown = page.locator(".jp-Cell").nth(1).inner_text()

    assert "profiler_session" not in shown


def test_the_tree_is_indented_and_its_header_stays(page):
    tree = page.locator(".nbprof").nth(1)

    assert tree.locator("td").first.inner_text() == "_TFProfRoot"
    assert tree.locator("tbody tr").nth(1).locator("td").first.inner_text().startswith("\xa0")
    assert tree.locator("th").first.evaluate("e => getComputedStyle(e).position") == "sticky"


def test_the_source_beside_a_line_stays_in_its_cell(page):
    code = page.locator(".nbprof").nth(2).locator("td code")

    assert "tf.matmul(tf.ones([8, 8])" in code.first.inner_text()
    for shown in code.all():
        cell = shown.locator("xpath=ancestor::td").bounding_box()
        box = shown.bounding_box()
        assert box["x"] + box["width"] <= cell["x"] + cell["width"]
        assert box["height"] < 30


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_report_is_readable_in_the_theme_of_the_host(page, theme):
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme
    )
    page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")

    page.wait_for_function(f"({CONTRAST})() >= 4.5", timeout=15_000)


def test_a_saved_page_shows_the_numbers_from_disk_without_any_network(opened, tmp_path):
    kernel = Kernel()
    try:
        for cell in CELLS:
            kernel.run(cell)
    finally:
        kernel.close()
    nbformat.write(kernel.notebook, tmp_path / "saved.ipynb")
    html, _ = HTMLExporter().from_notebook_node(kernel.notebook)
    (tmp_path / "saved.html").write_text(html, encoding="utf-8")

    page = opened.new_context(offline=True, java_script_enabled=False).new_page()
    page.goto((tmp_path / "saved.html").as_uri(), wait_until="domcontentloaded")
    row = page.locator(".nbprof").first.locator("tr", has_text="MatMul").inner_text()

    assert re.search(r"7\|1$", row.strip())
