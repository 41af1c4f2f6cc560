"""The faces of a profile of Python in a real Chromium: source heat map, pictures, callers."""

import pytest
from playwright.sync_api import expect
from support.python_profiles import ORDERS

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
