from dataclasses import replace
from html.parser import HTMLParser

import pytest
from support.by_hand import node, profile

from nbprof.display import html
from nbprof.display.html import MAX_ROWS
from nbprof.display.text import MAX_ROWS as TEXT_ROWS

pytestmark = pytest.mark.core("reports")

SMALL = profile(
    node("dense/MatMul", "MatMul", micros=1234.5, runs=3, size=1_048_576),
    node("dense/BiasAdd", "BiasAdd", micros=10.25, runs=3),
    node("head/MatMul", "MatMul", micros=2_000_000, accelerator_micros=1_500_000, runs=1500),
    node("loss", "Sum", micros=0),
    notes=("one thing was not recorded",),
    steps=3,
)
HOSTILE = profile(
    node("<script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", micros=3),
    notes=('<b>bold</b> & "quoted"',),
)


class Page(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.ends, self.rows, self.attributes = [], [], [], []
        self.feed(html)

    def handle_endtag(self, tag):
        self.ends.append(tag)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("view", ["op", "scope"])
def test_the_text_report_looks_like_tfprofs(golden, view):
    golden.check(f"{view}.txt", SMALL.view(view).text)


@pytest.mark.parametrize("view", ["op", "scope"])
def test_the_html_report_is_a_plain_table(golden, view):
    golden.check(f"{view}.html", html.report(SMALL.view(view)))


def test_zero_bytes_have_zero_shares_as_in_tfprof():
    *_, bias, loss = SMALL.op(select="bytes,peak_bytes", order_by="name").text.splitlines()

    assert bias.split()[1:] == [
        "1.05MB",
        "(100.00%,",
        "100.00%),",
        "1.05MB",
        "(100.00%,",
        "100.00%)",
    ]
    assert loss.split()[1:] == ["0B", "(0.00%,", "0.00%),", "0B", "(0.00%,", "0.00%)"]


def test_memory_that_was_not_recorded_is_never_shown_as_zero():
    built = profile(node("a", "A", micros=1))
    unknown = replace(built, events=built.events.assign(bytes=float("nan")))

    assert unknown.op(select="bytes").frame["bytes"].isna().all()
    assert unknown.op(select="bytes").text.splitlines()[-1].split() == ["A", "n/a"]
    assert "a (n/a/n/a)" in unknown.scope(select="bytes").text
    assert ">n/a<" in unknown.op(select="bytes")._repr_mimebundle_()["text/html"]


def test_the_headline_names_what_was_profiled_and_the_overhead():
    headline, note, *_ = SMALL.op().text.splitlines()

    assert headline == (
        "nbprof In [1] · 2.5 ms wall · 3 steps · 1,507 op runs · a profile made by hand · "
        "profiling added 1 ms around it"
    )
    assert note == "note: one thing was not recorded"


def test_html_shows_the_rows_in_the_order_of_the_frame():
    view = SMALL.scope()
    page = Page(html.report(view))

    shown = [row[0].strip("\xa0") for row in page.rows[1:]]
    assert shown == [name.rpartition("/")[2] for name in view.frame["name"]]


def test_the_tree_folds_without_scripts():
    page = Page(html.report(SMALL.scope()))

    assert page.tags.count("details") == page.ends.count("details") == 4
    assert "details" not in Page(html.report(SMALL.op())).tags


def test_the_plain_report_runs_no_script_and_loads_nothing():
    page = Page(html.report(SMALL.scope()))

    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert not {"src", "href", "onclick"} & set(page.attributes)


@pytest.mark.parametrize("view", ["op", "scope"])
def test_names_and_notes_cannot_break_out_of_the_html(view):
    output = HOSTILE.view(view)._repr_mimebundle_()["text/html"]
    page = Page(output)

    assert page.tags.count("script") == page.ends.count("script") == 1
    assert "img" not in page.tags
    assert "onerror" not in page.attributes
    assert output.count("<style>") == output.count("</style>") == 1
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &quot;quoted&quot;" in output


def test_a_long_table_counts_the_rows_it_left_out():
    many = profile(*(node(f"n{i}", f"Op{i}", micros=1) for i in range(MAX_ROWS + 7)))

    report = html.report(many.op(max_depth=1000))

    assert report.count("<tr>") == MAX_ROWS + 1
    assert "and 7 more rows" in report


def test_a_very_long_report_is_cut_in_the_display_but_not_in_its_text():
    many = profile(*(node(f"n{i}", micros=1) for i in range(TEXT_ROWS + 7))).scope()

    shown = many._repr_mimebundle_()["text/plain"]

    assert shown.endswith("… and 8 more rows: -o NAME keeps the View and all its text\n")
    assert len(shown.splitlines()) == len(many.text.splitlines()) - 7
    assert many.text.splitlines()[-1].startswith("  n")


def test_printing_a_view_prints_its_text():
    view = SMALL.op()

    assert str(view) == repr(view) == view.text == view._repr_mimebundle_()["text/plain"]


def test_csv_is_the_frame_with_raw_numbers(tmp_path, golden):
    SMALL.scope().to_csv(tmp_path / "scope.csv")

    golden.check("scope.csv", (tmp_path / "scope.csv").read_text(encoding="utf-8"))
