"""The report in JupyterLab and Notebook 7, in reopened notebooks, and in a saved page."""

import re
import shutil

import nbformat
import pytest
from nbconvert import HTMLExporter
from support.apps import Explorer, Lab, Notebook, until
from support.lab import server, write_notebook
from support.pictures import TOP, take

pytestmark = [pytest.mark.tensorflow, pytest.mark.notebook, pytest.mark.browser]

QUICKSTART = TOP / "examples" / "notebooks" / "quickstart.ipynb"
WARM_UP = "model.fit(pictures[:64], upright[:64], batch_size=64, verbose=0);"
FIT = "%%tfprof op\nhistory = model.fit(pictures[:512], upright[:512], batch_size=64, verbose=2)"
LIVE = """%%tfprof op -explore -o live
for _ in range(7):
    product = tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
'the value'"""
ASK = """explorer = live.explore()
print(explorer.line, explorer.time_range)
explorer.selection[["name", "run_count"]]"""
FEW_RUNS = """import nbprof.display.explorer.payload as payload
most, payload.MOST_TIMED = payload.MOST_TIMED, 3
few = live.profile.scope().explore()
payload.MOST_TIMED = most
few"""
CURVE = "import nbprof\ncurve = nbprof.last().process_memory().explore()\ncurve"
MANY_ROWS = f"""import gc, sys, weakref
sys.path.append({str(TOP / "tests" / "benchmarks")!r})
from explorer import view_of_100_000_rows
wide = view_of_100_000_rows()"""
CLOSE = """many.close()
left = weakref.ref(many)
del many
gc.collect()
print("freed in Python:", left() is None)"""
REPORT, TREE, CODE, WIDGET, ASKED = range(2, 7)
"""Positions of the cells in the notebook."""

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
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="module")
def address(folder):
    with server(folder) as address:
        yield address


@pytest.fixture(scope="module", params=[Lab, Notebook], ids=lambda app: app.__name__.lower())
def app(request, chrome, folder, address):
    cells = {cell.id: cell.source for cell in nbformat.read(QUICKSTART, as_version=4).cells}
    write_notebook(
        folder / request.param.file,
        *(cells["load-code"], f"{cells['data-code']}\n{WARM_UP}", FIT),
        *("%tfprof scope", "%tfprof code", LIVE, ASK),
    )
    app = request.param(chrome, address)
    app.open(app.file)
    app.run_all()
    app.cell(ASKED).locator(".jp-OutputArea-output").nth(1).wait_for()
    for place in (REPORT, TREE, CODE, WIDGET):
        app.explorer(place).root.wait_for()
    yield app
    app.close()


@pytest.fixture
def keep(request, app):
    """Take pictures of cells; the docs show some of JupyterLab's."""

    def keep(name, *places):
        docs = isinstance(app, Lab)
        update = request.config.getoption("--update-golden") and docs
        take(
            app.page,
            [app.cell(place) for place in places],
            f"{'' if docs else 'notebook-'}{name}",
            update,
        )

    return keep


def test_the_report_follows_what_the_cell_printed(app, keep):
    outputs = app.cell(REPORT).locator(".jp-OutputArea-output")

    assert "8/8" in outputs.nth(0).inner_text()
    row = Explorer(outputs.nth(1).locator(".nbx")).row("Conv2DBackpropFilter")
    assert row.get_by_role("gridcell").all_inner_texts()[-2:] == ["16", "2"]
    assert "profiler_session" not in app.cell(REPORT).inner_text()
    keep("report.png", REPORT)


def test_the_value_of_the_cell_follows_the_report(app):
    outputs = app.cell(WIDGET).locator(".jp-OutputArea-output")

    assert outputs.nth(0).locator(".nbx").count() == 1
    assert outputs.nth(1).inner_text().strip() == "'the value'"


def test_the_tree_has_aria_levels_and_a_sticky_header(app):
    tree = app.explorer(TREE)

    levels = [row.get_attribute("aria-level") for row in tree.root.get_by_role("row").all()[1:3]]
    assert levels == ["1", "2"]
    assert tree.root.locator(".nbx-heads").evaluate("e => getComputedStyle(e).position") == "sticky"


def test_source_text_does_not_overflow_its_cell(app):
    cells = app.explorer(CODE).root.get_by_role("rowheader")

    assert "history = model.fit(" in " ".join(cells.all_inner_texts())
    for cell in cells.all():
        box, beside = cell.bounding_box(), cell.locator("small").bounding_box()
        assert beside is None or beside["x"] + beside["width"] <= box["x"] + box["width"]


def test_keys_in_the_table_do_not_reach_the_notebook(app):
    grid = app.explorer(TREE).root.locator(".nbx-grid")
    before = app.page.locator(".jp-Cell").count()

    grid.focus()
    for key in ("b", "d", "d", "ArrowDown", "Enter"):
        app.page.keyboard.press(key)

    assert grid.evaluate("e => e === document.activeElement")
    app.explorer(TREE).button("Flame").focus()
    for key in ("b", "d", "d"):
        app.page.keyboard.press(key)
    assert app.page.locator(".jp-Cell").count() == before


def test_clicking_a_heading_sorts(app):
    report = app.explorer(REPORT)
    heaviest = report.names[0]

    report.heading("node name").click()
    assert report.names == sorted(report.names, key=str.lower)
    report.heading("node name").click()
    report.heading("node name").click()
    assert report.names[0] == heaviest


def test_a_search_keeps_the_rows_above_a_match(app):
    tree = app.explorer(TREE)

    tree.search("conv2dbackprop", "match")
    assert tree.names[0] == "_TFProfRoot"
    assert "Conv2DBackpropFilter" in tree.names
    assert "MaxPoolGrad" not in tree.names
    tree.search("", re.compile(r"^\d+ rows$"))


def test_rows_open_and_close(app, keep):
    tree = app.explorer(TREE)
    before = tree.count

    tree.row("adam").locator(".nbx-toggle").click()
    assert tree.count > before
    keep("explorer-tree.png", TREE)
    app.page.keyboard.press("ArrowLeft")
    assert tree.count == before


def test_views_can_be_switched(app):
    tree = app.explorer(TREE)

    tree.button("op").click()
    assert tree.root.get_by_role("row").filter(has_text="Conv2DBackpropFilter").count() == 1
    tree.button("scope").click()


def test_clicking_a_block_of_the_flame_zooms_to_it(app, keep):
    tree = app.explorer(TREE)
    tree.button("Flame").click()
    canvas = tree.root.locator(".nbx-flame canvas:visible")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()

    app.page.mouse.click(box["x"] + 40, box["y"] + 50)
    assert tree.root.locator(".nbx-crumbs button").count() > 1
    assert "1 selected" in tree.status
    keep("explorer-flame.png", TREE)
    tree.button("Flame").click()


def test_a_stretch_of_time_restricts_the_table(app, keep):
    report = app.explorer(REPORT)
    whole = report.status

    report.button("Timeline").click()
    report.choose_time(0.4, 0.7)
    assert "the table shows what began from" in report.root.inner_text()
    assert re.fullmatch(f"[1-9][0-9]* of {whole}", report.status)
    keep("explorer-timeline.png", REPORT)
    report.button("Whole time").click()
    report.button("Timeline").click()
    assert report.status == whole


def test_the_widget_reports_the_selection_to_python(app, keep):
    live = app.explorer(WIDGET)
    live.row("MatMul").locator(".nbx-name").click()
    live.button("Timeline").click()
    live.choose_time(0.1, 0.9)

    app.run_until(ASKED, re.compile(r"%tfprof op .*\(\d"))
    app.run_until(ASKED, re.compile(r"\bMatMul\s+7\b"))
    keep("explorer-python.png", WIDGET, ASKED)
    live.button("Whole time").click()
    live.row("MatMul").locator(".nbx-name").click()
    app.run_until(ASKED, "None")


def test_the_kernel_adds_up_a_stretch_of_time_if_the_browser_lacks_runs(app):
    app.write(ASKED, FEW_RUNS)
    app.run(ASKED)
    live = app.explorer(ASKED)
    live.button("Timeline").click()
    live.root.locator("canvas").first.focus()

    app.page.keyboard.press("r")

    status = live.root.locator(".nbx-flame .nbx-status", has_text="the table shows what began")
    status.wait_for()
    assert "whole parts" not in status.inner_text()
    app.write(ASKED, ASK)
    app.run(ASKED)


def test_keys_move_on_the_memory_curve_and_python_knows_the_range(app):
    app.write(ASKED, CURVE)
    app.run(ASKED)
    curve = app.cell(ASKED).get_by_role("slider")
    curve.wait_for()
    height = curve.evaluate("element => element.closest('.nbx').offsetHeight")
    curve.focus()

    app.page.keyboard.press("p")

    assert re.match(r"[\d.]+ [µm]?s: [\d.]+ MiB held", curve.get_attribute("aria-valuetext"))
    app.page.keyboard.press("+")
    assert curve.evaluate("element => element.closest('.nbx').offsetHeight") == height
    app.write(CODE, "print('zoomed', curve.time_range is not None)")
    app.run_until(CODE, "zoomed True")
    app.write(CODE, "%tfprof code")
    app.run(CODE)
    app.write(ASKED, ASK)
    app.run(ASKED)


@pytest.mark.parametrize("shade", ["dark", "light"])
def test_the_report_is_readable_in_dark_and_light_themes(app, keep, shade):
    app.theme(shade)

    app.page.wait_for_function(f"({CONTRAST})() >= 4.5")
    for place in (REPORT, TREE, WIDGET):
        keep(f"cell-{place}-{shade}.png", place)


@pytest.mark.parametrize("app", [Lab], indirect=True, ids=["lab"])
def test_closing_a_widget_of_100_000_rows_frees_its_memory(app):
    app.write(ASKED, MANY_ROWS)
    app.run(ASKED)
    before = app.held()
    app.write(ASKED, "many = wide.explore()\ndisplay(many)")
    app.run(ASKED)
    many = app.explorer(ASKED)
    many.root.wait_for()
    many.search("op_42424", "1 of 100,000 rows match")
    assert many.names == ["_TFProfRoot", "layer_42", "block_42", "op_42424"]
    taken = app.held() - before

    app.write(ASKED, CLOSE)
    app.run(ASKED)
    app.cell(ASKED).get_by_text("freed in Python: True").wait_for()
    many.root.wait_for(state="detached")
    # Chromium keeps the last edited box, for undo, until another one is edited.
    app.cell(ASKED).locator(".cm-content").click()
    app.page.keyboard.type("#")
    assert taken > 5e6
    until(app.page, lambda: app.held() - before < 0.2 * taken)


@pytest.fixture(scope="module")
def saved(app, folder):
    """The notebook on disk, with its outputs."""
    app.command("docmanager:save")
    return folder / app.file


@pytest.fixture(scope="module")
def page_on_disk(saved):
    html, _ = HTMLExporter().from_filename(str(saved))
    path = saved.with_suffix(".html")
    path.write_text(html, encoding="utf-8")
    return path


def test_a_saved_page_shows_the_explorer_without_a_network(chrome, page_on_disk):
    context = chrome.new_context(offline=True)
    page = context.new_page()
    page.goto(page_on_disk.as_uri(), wait_until="domcontentloaded")

    report = Explorer(page.locator(".nbx").first)
    report.root.wait_for()
    report.heading("node name").click()
    assert report.names == sorted(report.names, key=str.lower)
    report.search("conv2dbackprop", "2 of")
    report.button("scope").click()
    assert report.names[0] == "_TFProfRoot"
    context.close()


def test_a_saved_page_shows_a_table_and_a_tree_without_scripts(chrome, page_on_disk):
    context = chrome.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(page_on_disk.as_uri(), wait_until="domcontentloaded")

    _table_and_tree(page)
    context.close()


def _table_and_tree(page):
    row = page.locator(".nbprof").first.locator("tr", has_text="Conv2DBackpropFilter")
    assert row.inner_text().strip().endswith("16|2")
    tree = page.locator(".nbprof").nth(1)
    tree.locator("summary", has_text="the same as a tree").click()
    inside = tree.locator("details details summary").first
    assert inside.is_visible()
    assert page.locator(".nbx").count() == 0


def test_an_untrusted_notebook_shows_a_table_and_a_tree(app, saved):
    other = saved.with_name(f"other-{saved.name}")
    notebook = nbformat.read(saved, as_version=4)
    notebook.metadata["title"] = "from someone else"  # changes the signature
    nbformat.write(notebook, other)

    with app.opened_without_kernel(other.name) as opened:
        opened.page.locator(".nbprof").nth(1).wait_for()
        _table_and_tree(opened.page)


def test_a_reopened_notebook_shows_the_explorer_without_a_kernel(app, saved):
    # A copy, because the notebook itself would find its kernel, which later tests may need.
    copy = shutil.copy(saved, saved.with_name(f"copy-{saved.name}"))

    with app.opened_without_kernel(copy.name) as opened:
        report = opened.explorer(REPORT)
        report.root.wait_for()

        assert app.has_kernel(app.file)
        assert not app.has_kernel(copy.name)
        report.heading("node name").click()
        assert report.names == sorted(report.names, key=str.lower)
        report.button("scope").click()
        assert report.names[0] == "_TFProfRoot"
