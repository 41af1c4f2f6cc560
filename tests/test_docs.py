"""The documentation: generated pages are current, links lead somewhere, code on pages runs."""

import json
import re
import runpy
import shutil
import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from support.paths import TOP
from support.pictures import IN_DOCS

import nbprof
from nbprof.flag_values import PRESETS
from nbprof.view_kinds import VIEWS

DOCS = TOP / "docs"
VIEW_PAGES = [DOCS / "views" / f"{view}.md" for view in VIEWS]
MAKE_EXAMPLES = DOCS / "make_examples.py"
examples = runpy.run_path(str(MAKE_EXAMPLES))["examples"]


def test_the_page_of_columns_is_what_its_script_writes(request):
    page = DOCS / "columns.md"
    written = runpy.run_path(str(DOCS / "make_columns.py"))["columns_page"]()
    if request.config.getoption("--update-golden"):
        page.write_text(written, encoding="utf-8")

    assert page.read_text(encoding="utf-8") == written


def test_the_page_of_float_ops_is_what_its_script_writes(request):
    page = DOCS / "float-ops.md"
    written = runpy.run_path(str(DOCS / "make_float_ops.py"))["float_ops_page"]()
    if request.config.getoption("--update-golden"):
        page.write_text(written, encoding="utf-8")

    assert page.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    "page",
    [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))],
    ids=lambda p: p.name,
)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", ["architecture.md", "how-it-works.md"])
def test_every_file_named_in_the_architecture_exists(page):
    text = (DOCS / page).read_text(encoding="utf-8")

    named = set(re.findall(r"`((?:\w+/)?\w+\.py)`", text))
    there = {file.name for file in (TOP / "nbprof").rglob("*.py")}
    there |= {file.name for file in (TOP / "tests").rglob("*.py")}
    assert {name.rpartition("/")[2] for name in named} <= there | {"utils.py"}


def test_every_page_is_in_the_navigation():
    named = re.findall(r": (\S+\.md)$", (DOCS / "mkdocs.yml").read_text(encoding="utf-8"), re.M)

    assert sorted(named) == sorted(
        str(page.relative_to(DOCS).as_posix()) for page in DOCS.rglob("*.md")
    )


@pytest.mark.parametrize("page", VIEW_PAGES, ids=lambda page: page.stem)
def test_the_page_of_a_view_shows_reports_of_that_view(page):
    shown = examples(page)

    assert shown
    for line, text in shown:
        assert line.split()[1] == page.stem
        assert len(nbprof.parse_text(text).frame) > 1


@pytest.mark.tensorflow
def test_the_examples_are_what_the_program_prints():
    pytest.importorskip("tensorflow")
    shown = dict(example for page in VIEW_PAGES for example in examples(page))

    printed = subprocess.run(
        [sys.executable, MAKE_EXAMPLES, "--print", *shown],
        capture_output=True,
        check=True,
        text=True,
    )

    found = json.loads(printed.stdout.splitlines()[-1])
    assert set(found) == set(shown)
    for line, (names, text) in found.items():
        there, again = nbprof.parse_text(shown[line]).frame, nbprof.parse_text(text).frame
        without_times = [re.sub(r"[\d.]+", "", it.splitlines()[0]) for it in (shown[line], text)]
        assert without_times[0] == without_times[1]
        assert list(there.columns) == list(again.columns)
        # The rows that a minimum time hides differ from run to run.
        assert set(there["name"]) <= set(names), line


def test_the_program_on_the_page_is_the_one_that_ran():
    text = (DOCS / "views" / "index.md").read_text(encoding="utf-8")
    program = runpy.run_path(str(MAKE_EXAMPLES))

    assert f"```python\n{program['PREPARE']}```" in text
    assert f"```python\n%%tfprof\n{program['PROFILED']}```" in text


@pytest.fixture
def shell(tmp_path, monkeypatch):
    for file in (TOP / "tests" / "data" / "tfprof").iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def run_page(shell, name):
    text = (DOCS / name).read_text(encoding="utf-8")
    cells = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert len(cells) > 4
    for cell in cells:
        shell.run_cell(cell).raise_error()


def test_the_code_for_tfprof_users_runs(shell, tmp_path, capsys):
    run_page(shell, "coming-from-tfprof.md")

    assert (tmp_path / "op.txt").read_text(encoding="utf-8").count("Profile:") == 1
    assert "traceEvents" in json.loads((tmp_path / "model.json_0").read_text(encoding="utf-8"))
    assert "UsageError" not in "".join(capsys.readouterr())


@pytest.mark.tensorflow
def test_the_code_for_users_of_the_v1_profiler_runs(shell, tmp_path, capsys):
    pytest.importorskip("tensorflow")

    run_page(shell, "coming-from-v1-profiler.md")

    assert "logits" in shell.user_ns["view"].text
    assert (tmp_path / "model.pb.gz").stat().st_size


@pytest.mark.tensorflow
def test_the_page_for_v1_users_has_every_method_of_the_builder():
    tf = pytest.importorskip("tensorflow")
    text = (DOCS / "coming-from-v1-profiler.md").read_text(encoding="utf-8")

    methods = {name for name in dir(tf.compat.v1.profiler.ProfileOptionBuilder) if name[0] != "_"}
    assert {name for name in methods if f"{name}(" not in text} == set()
    assert all(f'preset="{name}"' in text for name in PRESETS)


def test_sentences_quoted_on_the_page_about_empty_columns_are_in_the_code():
    text = (DOCS / "why-is-this-empty.md").read_text(encoding="utf-8")
    code = "".join(file.read_text(encoding="utf-8") for file in (TOP / "nbprof").rglob("*.py"))
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # join strings split over several lines

    first_table = re.search(r"## The whole report.*?\n\n(.*?)\n\n", text, re.S)[1]
    quoted = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\|([^|]+)\|", first_table, re.M)))
    quoted += re.findall(r"(?:note:?|error:) `([^`]+)`", text)
    parts = [part.strip() for words in quoted for part in re.split("…| N$", words) if part.strip()]
    assert len(parts) > 15
    assert [part for part in parts if part not in code] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_pictures_drawn_for_a_page_exist_and_are_small(page):
    for _, file in runpy.run_path(str(MAKE_EXAMPLES))["pictures"](page):
        assert 0 < file.stat().st_size < 60_000


def test_every_picture_on_a_page_is_made_by_a_script():
    pages = [TOP / "README.md", *DOCS.rglob("*.md")]
    shown = {
        (page.parent / file).resolve()
        for page in pages
        for file in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8"))
    }
    drawn = {
        file.resolve()
        for page in pages[1:]
        for _, file in runpy.run_path(str(MAKE_EXAMPLES))["pictures"](page)
    }

    assert shown == drawn | {DOCS / "images" / name for name in IN_DOCS}
    assert shown == set((DOCS / "images").iterdir())
    assert all(file.stat().st_size < 150_000 for file in shown)
