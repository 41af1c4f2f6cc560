"""The faces of a profile of Python in a real Chromium: source heat map, pictures, callers."""

import math

import pytest
from playwright.sync_api import expect
from support.apps import until
from support.by_hand import profile
from support.explorer_profiles import TRAINED
from support.pictures import TAKEN, take
from support.python_profiles import ORDERS, with_calls

pytestmark = pytest.mark.browser

IN_SIGHT = """row => {
  const [inner, outer] = [row, row.closest(".nbx-source")].map(e => e.getBoundingClientRect());
  return inner.top >= outer.top && inner.bottom <= outer.bottom;
}"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "call.html"
    ORDERS.call().to_html(file)
    return file


@pytest.fixture
def page(chrome, file):
    context = chrome.new_context(offline=True, viewport={"width": 1200, "height": 800})
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.locator(".nbx").wait_for()
    yield page
    assert problems == []
    context.close()


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def line(page, text):
    return page.locator(".nbx-source tr", has_text=text)


def heat_of(row):
    return float(row.evaluate("row => row.style.getPropertyValue('--heat') || 0"))


def test_the_source_opens_with_the_hottest_line_in_sight(page):
    button(page, "Source").click()

    assert line(page, "result = report").evaluate(IN_SIGHT)
    assert not line(page, "import pandas").evaluate(IN_SIGHT)
    assert "1.08sec85.7%" in line(page, "result = report").inner_text()
    assert page.evaluate("scrollY") == 0


def test_lines_are_tinted_by_the_column_chosen(page):
    button(page, "Source").click()
    total, own = (line(page, text) for text in ("result = report", "return datetime"))
    assert heat_of(total) == 1 > heat_of(own) > heat_of(line(page, "orders = read")) > 0

    page.get_by_label("Heat").select_option("wall time self")

    assert heat_of(own) == 1 > heat_of(total) == 0
    assert own.evaluate(IN_SIGHT)
    assert "520.00ms41.3%" in own.inner_text()


def test_the_hottest_line_comes_back_into_sight(page):
    button(page, "Source").click()
    page.locator(".nbx-source").evaluate("box => { box.scrollTop = 0 }")
    assert not line(page, "result = report").evaluate(IN_SIGHT)

    page.get_by_label("Heat").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert line(page, "result = report").evaluate(IN_SIGHT)


def test_a_line_of_a_file_stands_among_its_neighbours_and_selects_its_row(page):
    button(page, "Source").click()
    assert line(page, "def parse_one").inner_text().split() == ["67", "def", "parse_one(text):"]

    line(page, "days.append").get_by_role("button").focus()
    page.keyboard.press("Enter")

    expect(page.locator(".nbx-row[aria-selected=true]")).to_contain_text("cleaning.py:63:parse")
    expect(page.locator(".nbx-source [aria-current=true]")).to_have_count(1)


def picture(page, name):
    page.get_by_label("Picture").select_option(name)
    return page.locator(".nbx-flame canvas").first


def tip(page):
    return page.locator(".nbx-flame .nbx-tip").first


def press(page, key):
    page.keyboard.press(key)
    return tip(page).inner_text().rpartition(": ")[0]


def test_an_icicle_grows_downwards_and_a_flame_upwards(page):
    tips = {}
    for name in ("icicle", "flame"):
        canvas = picture(page, name)
        box = canvas.bounding_box()
        assert canvas.get_attribute("aria-label").startswith(f"{name} of wall time")
        for end, y in (("top", 8), ("bottom", box["height"] - 8)):
            page.mouse.move(box["x"] + 40, box["y"] + y)
            tips[name, end] = tip(page).inner_text().rpartition(": ")[0]

    assert tips["icicle", "top"] == tips["flame", "bottom"] == "_TFProfRoot"
    assert tips["icicle", "bottom"] == tips["flame", "top"] == "cleaning.py:69:parse_one"


def test_arrow_keys_go_where_they_point_in_every_picture(page):
    inwards = {"icicle": "ArrowUp", "flame": "ArrowDown", "sunburst": "ArrowUp"}
    for name, inward in inwards.items():
        outward = {"ArrowUp": "ArrowDown", "ArrowDown": "ArrowUp"}[inward]
        picture(page, name).focus()
        assert press(page, "Home") == "_TFProfRoot", name
        assert press(page, outward) == "In [3]:41:<module>", name
        assert press(page, "ArrowRight") == "In [3]:40:<module>", name
        assert press(page, outward) == "pandas: read_csv", name
        assert press(page, inward) == "In [3]:40:<module>", name


def around(box, turn, part):
    """Return a point of a sunburst: turns from noon, and the part of the radius."""
    angle = 2 * math.pi * turn
    radius = part * box["height"] / 2
    middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    return middle["x"] + radius * math.sin(angle), middle["y"] - radius * math.cos(angle)


def test_a_sunburst_zooms_by_a_click_and_out_by_one_in_the_middle(page):
    canvas = picture(page, "sunburst")
    box = canvas.bounding_box()
    page.mouse.move(*around(box, 0.95, 0.35))
    assert tip(page).inner_text() == "In [3]:40:<module>: 180.00ms, 14.3%"

    page.mouse.click(*around(box, 0.4, 0.35))
    crumbs = page.locator(".nbx-crumbs button")
    expect(crumbs).to_have_text(["_TFProfRoot", "In [3]:41:<module>"])
    selected = page.locator(".nbx-row[aria-selected=true]")
    expect(selected).to_contain_text("In [3]:41:<module>")
    page.mouse.move(*around(box, 0.95, 0.35))
    assert tip(page).inner_text() == "pandas: groupby: 120.00ms, 9.5%"

    page.mouse.click(*around(box, 0, 0))
    expect(crumbs).to_have_count(0)
    expect(selected).to_contain_text("_TFProfRoot")
    assert canvas.bounding_box() == box


def test_keys_zoom_a_sunburst(page):
    picture(page, "sunburst").focus()
    press(page, "Home")
    press(page, "ArrowDown")

    page.keyboard.press("Enter")
    crumbs = page.locator(".nbx-crumbs button")
    expect(crumbs).to_have_text(["_TFProfRoot", "In [3]:41:<module>"])
    page.keyboard.press("Escape")

    expect(crumbs).to_have_count(0)
    assert tip(page).inner_text().startswith("In [3]:41:<module>: ")


def test_the_picture_stays_when_the_view_changes_and_lists_have_none(chrome, tmp_path):
    TRAINED.scope().to_html(tmp_path / "trained.html")
    page = chrome.new_page()
    page.goto((tmp_path / "trained.html").as_uri())
    page.locator(".nbx").wait_for()
    canvas = page.locator(".nbx-flame canvas").last
    page.get_by_label("Picture").select_option("sunburst")

    button(page, "op").click()
    assert not page.get_by_label("Picture").is_visible()
    until(page, lambda: canvas.get_attribute("aria-label").startswith("icicle of"))

    button(page, "graph").click()
    assert page.get_by_label("Picture").input_value() == "sunburst"
    until(page, lambda: canvas.get_attribute("aria-label").startswith("sunburst of"))


def test_a_sunburst_has_the_colours_of_the_flame(page):
    at = "([canvas, x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"
    handle = picture(page, "icicle").element_handle()
    in_icicle = page.evaluate(at, [handle, 380, 90])
    box = picture(page, "sunburst").bounding_box()
    x, y = around(box, 0.02, 0.96)

    assert page.evaluate(at, [handle, x - box["x"], y - box["y"]]) == in_icicle


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("width", "pixels", "zoom"), [(1200, 1, 1), (400, 1, 1), (640, 2, 1), (1280, 1, 2)]
)
@pytest.mark.parametrize("name", ["flame", "sunburst"])
def test_faces_fit_small_and_zoomed_pages(chrome, file, width, pixels, zoom, scheme, name):
    context = chrome.new_context(
        viewport={"width": width, "height": 900},
        device_scale_factor=pixels,
        color_scheme=scheme,
        reduced_motion="reduce",
        offline=True,
    )
    page = context.new_page()
    page.goto(file.as_uri())
    page.locator(".nbx").wait_for()
    page.evaluate("zoom => { document.body.style.zoom = zoom }", zoom)
    for panel in ("Source", "Calls"):
        button(page, panel).click()
    canvas = picture(page, name)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2
    page.mouse.move(middle, box["y"] + (box["height"] / 2 if name == "sunburst" else 90 * zoom))
    assert tip(page).inner_text().startswith("_TFProfRoot: 1.26sec")
    TAKEN.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=TAKEN / f"faces-{name}-{width}-{zoom}-{scheme}.png", full_page=True)
    context.close()


def select(page, name):
    page.locator(".nbx-body .nbx-row", has_text=name).first.locator(".nbx-name").click()


def parties(page, side):
    return page.get_by_role("list", name=side, exact=True).locator("li").all_inner_texts()


def test_the_calls_of_a_row_are_shown_and_lead_on(page):
    button(page, "Calls").click()
    select(page, "cleaning.py:63:parse")

    focus = page.locator(".nbx-callee")
    expect(focus).to_have_text("cleaning.py:63:parse870.00ms")
    assert [text.split() for text in parties(page, "called by")] == [
        ["In", "[3]:6:clean", "870.00ms", "100.0%"]
    ]
    assert [text.split() for text in parties(page, "calls")] == [
        ["cleaning.py:69:parse_one", "520.00ms", "59.8%"],
        ["cleaning.py:68:parse_one", "310.00ms", "35.6%"],
    ]

    page.locator(".nbx-calls").get_by_role("button", name="69:parse_one").focus()
    page.keyboard.press("Enter")

    expect(focus).to_have_text("cleaning.py:69:parse_one520.00ms")
    expect(focus).to_be_focused()
    selected = page.locator(".nbx-row[aria-selected=true]")
    expect(selected).to_contain_text("cleaning.py:69:parse_one")


def test_the_calls_of_a_function_are_counted(chrome, tmp_path):
    with_calls(profile()).function().to_html(tmp_path / "functions.html")
    page = chrome.new_page()
    page.goto((tmp_path / "functions.html").as_uri())
    page.locator(".nbx").wait_for()
    button(page, "Calls").click()

    select(page, "parse_one")

    expect(page.locator(".nbx-callee")).to_contain_text("5,000 calls")
    assert [text.split("\n")[0] for text in parties(page, "called by")] == ["cleaning.py:60(parse)"]
    split = page.locator(".nbx-calls button", has_text="{method 'split'")
    expect(split).to_contain_text("5,000 calls")
    page.locator(".nbx-calls button", has_text="(parse)").click()
    expect(page.locator(".nbx-callee")).to_have_text("cleaning.py:60(parse)0.90us1 call")


def test_the_code_view_whose_rows_do_not_call_each_other_has_no_calls(chrome, tmp_path):
    TRAINED.code().to_html(tmp_path / "code.html")
    page = chrome.new_page()
    page.goto((tmp_path / "code.html").as_uri())
    page.locator(".nbx").wait_for()

    assert button(page, "Source").count() == 1
    assert button(page, "Calls").count() == 0


def test_the_pictures_in_the_docs_show_these_faces(request, chrome, file):
    update = request.config.getoption("--update-golden")
    page = chrome.new_page(viewport={"width": 1000, "height": 1100})
    page.goto(file.as_uri())
    page.locator(".nbx").wait_for()
    picture(page, "sunburst")
    take(page, [page.locator(".nbx")], "explorer-sunburst.png", update)
    for name in ("Flame", "Source", "Calls"):
        button(page, name).click()
    page.get_by_label("Heat").select_option("wall time self")
    select(page, "cleaning.py:63:parse")
    expect(page.locator(".nbx-callee")).to_contain_text("cleaning.py:63:parse")
    take(page, [page.locator(".nbx")], "explorer-source.png", update)


def test_where_totals_overlap_the_flame_shows_own_times_side_by_side(chrome, tmp_path):
    with_calls(profile()).function().to_html(tmp_path / "functions.html")
    page = chrome.new_page()
    page.goto((tmp_path / "functions.html").as_uri())
    page.locator(".nbx").wait_for()
    canvas = page.locator(".nbx-flame canvas").last
    page.locator(".nbx-flame .nbx-legend", has_text="parse_one").wait_for()
    assert not page.get_by_label("Picture").is_visible()
    names = []
    canvas.focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
        names.append(page.locator(".nbx-flame .nbx-tip").last.inner_text())
    assert names == [
        "cleaning.py:67(parse_one): 0.50us, 50.0%",
        "{method 'split' of 'str' objects}: 0.31us, 31.0%",
        "_TFProfRoot: 0.09us, 9.0%",
        "cleaning.py:60(parse): 0.09us, 9.0%",
    ]

    page.keyboard.press("Enter")
    crumbs = page.locator(".nbx-crumbs button")
    expect(crumbs).to_have_text(["all", "cleaning.py:60(parse)"])
    page.keyboard.press("Escape")

    expect(crumbs).to_have_count(0)
