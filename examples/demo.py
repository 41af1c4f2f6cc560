"""Run the quickstart notebook for real and print its reports in the terminal (`make demo`)."""

import copy
import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from jinja2 import DictLoader
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter
from nbformat import NotebookNode

TOP = Path(__file__).parent.parent.resolve()
NOTEBOOK = TOP / "examples" / "notebooks" / "quickstart.ipynb"
RESULT = TOP / "build" / "demo"
LOG = RESULT / "kernel.log"  # TensorFlow's own messages
ROWS_SHOWN = 12
LINES_SHOWN = 24
WIDGET = "application/vnd.jupyter.widget-view+json"

# nbconvert's own page without the scripts it would fetch: it must also work offline.
OFFLINE_PAGE = """{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
"""


def main() -> int:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    RESULT.mkdir(parents=True, exist_ok=True)
    try:
        with private_jupyter():
            run(notebook)
    except CellExecutionError as error:
        print(f"failed\n\n{essence(error)}")
        return 1
    except DeadKernelError as error:
        print(f"failed\n\n{error}: see the end of {LOG.relative_to(TOP)} for the cause.")
        return 1
    except KeyboardInterrupt:
        print("interrupted")
        return 130
    finally:
        nbformat.write(notebook, RESULT / NOTEBOOK.name)

    page = RESULT / NOTEBOOK.with_suffix(".html").name
    page.write_text(to_html(notebook), encoding="utf-8")
    print(f"The executed notebook  {(RESULT / NOTEBOOK.name).relative_to(TOP)}")
    print(f"The same as a page     {page.relative_to(TOP)}")
    print("Try it yourself        make lab   (opens the notebook in JupyterLab)")
    return 0


@contextmanager
def private_jupyter() -> Iterator[None]:
    """Keep the user's Jupyter settings and kernels out, so that the kernel is this Python."""
    before = dict(os.environ)
    for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "PYTHONSTARTUP"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="nbprof-demo-") as folder:
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            os.environ[name] = folder
        os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def run(notebook: NotebookNode) -> None:
    """Execute the cells one by one, printing a line for each and its reports below."""
    print(f"Running {NOTEBOOK.relative_to(TOP)}\n")
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(RESULT)}})
    steps = list(titled_cells(notebook))
    with LOG.open("w") as log, client.setup_kernel(stderr=log):
        for number, (title, index, cell) in enumerate(steps, start=1):
            print(f"[{number}/{len(steps)}] {title} ... ", end="", flush=True)
            start = time.perf_counter()
            client.execute_cell(cell, index)
            print(f"{time.perf_counter() - start:.1f} s", flush=True)
            shown = list(texts(cell))
            if shown:
                print("\n" + "\n\n".join(shown) + "\n", flush=True)
    print()


def titled_cells(notebook: NotebookNode) -> Iterator[tuple[str, int, NotebookNode]]:
    """Yield the code cells with their heading and index."""
    title = NOTEBOOK.stem
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            yield title, index, cell
        elif heading := re.search(r"^#+ (.+)", cell.source, re.MULTILINE):
            title = heading[1]


def texts(cell: NotebookNode) -> Iterator[str]:
    """Yield what a cell shows as text: reports, tables, values, and a line per figure or widget."""
    for output in cell.outputs:
        data = output.get("data", {})
        text = data.get("text/plain", "")
        if "Profile:" in text.splitlines():
            yield excerpt(text)
        elif "image/png" in data:
            yield "a figure: see the notebook or the page"
        elif text.startswith("Empty DataFrame"):
            yield "no rows: nothing has been selected in a browser"
        elif text:
            yield fitted(text.splitlines(), LINES_SHOWN, "lines")
        if WIDGET in data:
            yield "a live widget: make lab opens the notebook in a browser"


def excerpt(report: str) -> str:
    """Return the start of a report, without the explanations of its columns."""
    head, _, table = report.partition("Profile:\n")
    legend, *rows = table.partition("\n\n")[0].splitlines()
    prose = [text for text in head.split("\n\n") if not text.startswith("Doc:")]
    lines = [
        line for text in "\n".join(prose).splitlines() for line in textwrap.wrap(text, width())
    ]
    fitting = fitted([legend, *rows], ROWS_SHOWN + 1, "rows")
    return "\n".join([*lines, "", "Profile:", fitting])


def fitted(lines: list[str], most: int, what: str) -> str:
    """Return the first lines, cut to the terminal's width; in a pipe they stay whole."""
    room = width()
    shown = [line if len(line) <= room else line[: room - 1] + "…" for line in lines[:most]]
    if len(lines) > most:
        shown.append(f"… and {len(lines) - most} more {what} in the notebook")
    return "\n".join(shown)


def width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def essence(error: CellExecutionError) -> str:
    """Return the failing line of the cell and the error; the notebook has the other frames."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", error.traceback)
    frames = re.findall(r"^Cell In.*?(?=\n\n|\Z)", plain, re.MULTILINE | re.DOTALL)
    return "\n".join([*frames[-1:], f"{error.ename}: {error.evalue}"])


def to_html(notebook: NotebookNode) -> str:
    loader = DictLoader({"offline.html.j2": OFFLINE_PAGE})
    exporter = HTMLExporter(extra_loaders=[loader], template_file="offline.html.j2")
    page, _ = exporter.from_notebook_node(without_widgets(notebook))
    return page


def without_widgets(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of the notebook in which plain tables replace widgets, which need a kernel."""
    shown = copy.deepcopy(notebook)
    shown.metadata.pop("widgets", None)
    for cell in shown.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(WIDGET, None)
    return shown


if __name__ == "__main__":
    sys.exit(main())
