"""The explorer, itables and ipydatagrid with the same frame in a real JupyterLab.

The clock runs in the page. It starts when the kernel reaches the end of the cell, or with the event
of a click or of typing, and stops after the first frame that shows the expected row: as an element
of the table or, for ipydatagrid, as text drawn on its canvas.
"""

import json
import re
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from ways import TOP

TITLE = "A table of 100,000 rows in JupyterLab"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CLOCK = Path(__file__).with_name("clock.js").read_text(encoding="utf-8")
PATHS = [str(TOP), str(TOP / "tests" / "benchmarks")]
PREPARE = f"""
import sys
sys.path[:0] = {PATHS!r}
import json, itables, nbprof
from ipydatagrid import DataGrid
from explorer import expected, view_of_100_000_rows

view = view_of_100_000_rows()
frame = view.frame
itables.init_notebook_mode(connected=False, all_interactive=False)
print(json.dumps(expected(frame)))
"""
ENDED = "\nimport time; print(time.time())"
NODES = 90_825
"""Number of nodes that make 100,000 rows with their scopes and the root."""
WANTED = "op_42424"
INDEX, NAMES, WIDTH = 64, 240, 90
"""Widths of ipydatagrid's columns in pixels: index, names, others."""
PAINTED, AGAIN = "painted", "painted again"
SORTED, SEARCHED = "sorted", "searched"


def view_of_100_000_rows():
    """Make a scope view from tfprof's inputs; no two ops take the same time or memory."""
    import random

    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    import nbprof

    graph, run, rng = GraphDef(), RunMetadata(), random.Random(0)
    device = run.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    micros, sizes = (rng.sample(range(1, 1_000_000), NODES) for _ in range(2))
    for number in range(NODES):
        name = f"layer_{number // 1000}/block_{number // 10 % 100}/op_{number}"
        graph.node.add(name=name, op=f"Op{number % 40}")
        record = device.node_stats.add(node_name=name, op_end_rel_micros=micros[number])
        record.all_start_micros = 1_500_000_000_000_000 + number
        record.memory.add(allocator_name="cpu", total_bytes=sizes[number])
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "graph"), Path(folder, "run_meta")
        for path, message in zip(paths, (graph, run), strict=True):
            path.write_bytes(message.SerializeToString())
        return nbprof.load_tfprof(*paths).scope(select="micros,bytes,occurrence")


def expected(frame):
    """Return the first row of each table: at first, after sorting by bytes, after a search.

    In the explorer, a tree with the heaviest rows first, that is the first row below the root.
    """
    below = frame[frame["parent"] == 0]
    tree = [below.iloc[0], below.sort_values("total_bytes").iloc[-1]]
    flat = [frame.iloc[0], frame.sort_values("total_bytes").iloc[0]]
    (found,) = frame["name"][frame["name"].str.endswith(f"/{WANTED}")]
    return {
        "columns": list(frame.columns),
        "tree": [*(row["name"] for row in tree), WANTED],
        "flat": [*(row["name"] for row in flat), found],
    }


class Table:
    """One way to show a frame, to sort it and to search it."""

    kind, again, end = "flat", None, "pass"
    sorting, searching = "click", "input"
    """The events that start the clock."""
    first = found = None
    """Selectors of the first row's name, before and after a search; None if a canvas draws it."""

    def __init__(self, app, place):
        self.app, self.page, self.place = app, app.page, place

    @classmethod
    def cells(cls):
        """Return its cells: show the table, show it again, close it."""
        return [f"{cls.show}{ENDED}", f"{cls.again or 'pass'}{ENDED}", cls.end]

    @property
    def output(self):
        return self.app.cell(self.place)

    def figures(self, rows):
        """Show, sort, search and close the table; return the milliseconds of each."""
        first, by_bytes, found = rows[self.kind]
        taken = {PAINTED: self.painted(first, self.place)}
        if self.again:
            taken[AGAIN] = self.painted(first, self.place + 1)
            self.app.clear(self.place + 1)
        taken[SORTED] = self.timed(by_bytes, self.first, self.sorting, self.sort)
        taken[SEARCHED] = self.timed(found, self.found, self.searching, self.search)
        self.app.run(self.place + 2)
        self.app.clear(self.place)
        return taken

    def painted(self, row, place):
        """Return the milliseconds from the end of the cell until its table is painted."""
        self.page.evaluate("options => clock.start(...options)", [place, self.first, row, None])
        self.app.run(place)
        seen = self.page.evaluate("clock.seen()")
        printed = self.app.cell(place).locator(".jp-OutputArea-output > pre").last
        return seen - 1000 * float(printed.inner_text())

    def timed(self, row, elements, event, action):
        """Return the milliseconds from an event until the row is shown."""
        self.page.evaluate("options => clock.start(...options)", [self.place, elements, row, event])
        action()
        return self.page.evaluate("clock.passed()")


class Nbprof(Table):
    name, kind = "nbprof", "tree"
    show, again = "explorer = view.explore(); display(explorer)", "display(explorer)"
    end = "explorer.close()"
    first, found = (f'.nbx-body [data-place="{place}"] .nbx-name' for place in (1, 3))

    def sort(self):
        self.output.get_by_role("columnheader", name="requested bytes total").click()

    def search(self):
        self.output.get_by_role("searchbox").fill(WANTED)


class Itables(Table):
    name, show = "itables", "itables.show(frame, maxBytes=0)"
    first = found = "table.dataTable tbody tr:first-child td"

    def sort(self):
        heading = self.output.locator("thead th").filter(has_text=re.compile("^total_bytes$"))
        heading.first.locator(".dt-column-order").click()

    def search(self):
        self.output.locator(".dt-search input").fill(WANTED)


class Ipydatagrid(Table):
    """Sorts and filters through menus: the clock starts when an item is clicked."""

    name = "ipydatagrid"
    show = (
        f"grid = DataGrid(frame, base_row_header_size={INDEX}, base_column_size={WIDTH},"
        f" column_widths={{'name': {NAMES}}})\ndisplay(grid)"
    )
    end = "grid.close()"
    sorting = searching = "mouseup"

    def timed(self, row, elements, event, action):
        """Open the menu of a column before the clock starts."""
        column = "total_bytes" if action == self.sort else "name"
        self.open_menu(list(self.app.columns).index(column))
        if action == self.search:
            self.page.locator(".lm-Menu-item", has_text="Filter by condition").click()
            dialog = self.page.locator(".ipydatagrid-filterMenu")
            dialog.locator("select").select_option("contains")
            dialog.locator("input:visible").fill(WANTED)
        return super().timed(row, elements, event, action)

    def open_menu(self, place):
        """Click the menu of a column, at the right end of its heading."""
        canvas = self.output.locator("canvas").first
        canvas.evaluate("canvas => canvas.scrollIntoView({block: 'center'})")
        box = canvas.bounding_box()
        end = INDEX + NAMES + WIDTH * place
        self.page.mouse.click(box["x"] + end - 10, box["y"] + 10)

    def sort(self):
        self.page.locator(".lm-Menu-item", has_text="Sort Ascending").click()

    def search(self):
        self.page.locator(".ipydatagrid-filterMenu button", has_text="Apply").click()


WAYS = (Nbprof, Itables, Ipydatagrid)


def measure(settings):
    """Show the tables in turn, after one round that is not counted."""
    sys.path.append(str(TOP / "tests"))
    from support.apps import Lab
    from support.lab import browser, server, write_notebook

    with tempfile.TemporaryDirectory() as folder, chromium(browser) as chrome:
        cells = [cell for way in WAYS for cell in way.cells()]
        write_notebook(Path(folder, "tables.ipynb"), PREPARE, *cells)
        with server(Path(folder)) as address:
            app = Lab(chrome, address)
            app.page.set_default_timeout(300_000)
            app.page.add_init_script(CLOCK)
            app.open("tables.ipynb")
            app.wait_for_kernel()
            app.run(0)
            rows = json.loads(app.cell(0).locator(".jp-OutputArea-output > pre").last.inner_text())
            app.columns = rows["columns"]
            tables = [way(app, 1 + 3 * number) for number, way in enumerate(WAYS)]
            rounds = [[table.figures(rows) for table in tables] for _ in range(settings.rounds + 1)]
            app.close()
    return _compared({way.name: each[1:] for way, *each in zip(WAYS, *rounds, strict=True)})


def chromium(browser):
    """Start Chromium; end the benchmark if there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        sys.exit("This benchmark needs Chromium on the PATH; install it first.")
    return browser(path)


def _compared(found):
    medians = {
        (way, figure): statistics.median(each[figure] for each in rounds)
        for way, rounds in found.items()
        for figure in rounds[0]
    }
    return [
        {
            "way": way,
            "figure": figure,
            "milliseconds": taken,
            "ours": medians[Nbprof.name, figure] / taken,
        }
        for (way, figure), taken in medians.items()
    ]
