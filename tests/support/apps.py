"""JupyterLab and Notebook 7 as a person uses them: a notebook, its cells, the explorers in it."""

import json
import re
import urllib.request

SIZE = {"width": 1200, "height": 1000}


class App:
    """A notebook in one of Jupyter's front ends; both have the same commands and cells."""

    file: str
    """The notebook that is run in it."""
    place: str

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.page = browser.new_page(viewport=SIZE)

    def open(self, notebook):
        """Open a notebook and wait until its cells are there."""
        self.page.goto(f"{self.address}/{self.place.format(notebook)}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=60_000)

    def run_all(self):
        """Run all cells; their outputs are still to come."""
        self.wait_for_kernel()
        self.command("notebook:run-all-cells")

    def wait_for_kernel(self):
        """Wait until cells can be run."""
        self.page.wait_for_function(
            "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
            " === 'idle'",
            timeout=60_000,
        )

    def run(self, place):
        """Run one cell to its end."""
        self.go_to(place)
        self.command("notebook:run-cell")

    def write(self, place, source):
        """Write another text into a cell."""
        self.page.evaluate(
            "([place, source]) => window.jupyterapp.shell.currentWidget.content.widgets[place]"
            ".model.sharedModel.setSource(source)",
            [place, source],
        )

    def held(self):
        """Give the bytes that the page holds, after a collection: its objects and its buffers."""
        cdp = self.page.context.new_cdp_session(self.page)
        cdp.send("HeapProfiler.collectGarbage")
        usage = cdp.send("Runtime.getHeapUsage")
        cdp.detach()
        return usage["usedSize"] + usage["backingStorageSize"]

    def clear(self, place):
        """Take away what stands below a cell."""
        self.go_to(place)
        self.command("notebook:clear-cell-output")

    def go_to(self, place):
        """Make a cell the active one."""
        self.page.evaluate(
            "place => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = place }",
            place,
        )

    def command(self, name, **arguments):
        """Do what a menu would, and wait until it is done."""
        self.page.evaluate(
            "([name, arguments]) => window.jupyterapp.commands.execute(name, arguments)",
            [name, arguments],
        )

    def theme(self, shade):
        """Change to the light or the dark theme."""
        name = f"JupyterLab {shade.title()}"
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_selector(f"body[data-jp-theme-name='{name}']", state="attached")

    def cell(self, place):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(place)

    def explorer(self, cell):
        return Explorer(self.cell(cell).locator(".nbx"))

    def reopen_without_kernel(self, notebook):
        """Close everything and open a notebook where no kernel can be started."""
        self.close()
        self.page = self.browser.new_page(viewport=SIZE)
        self.page.route("**/api/sessions*", _start_nothing)
        self.open(notebook)

    def close(self):
        """Close the notebook and end its kernel."""
        self.page.close()
        for session in self._ask("sessions"):
            self._ask(f"sessions/{session['id']}", "DELETE")

    def connected_kernels(self):
        """List the kernels with a page; one that a closed page had asked for may yet start."""
        return [kernel for kernel in self._ask("kernels") if kernel["connections"]]

    def _ask(self, what, method="GET"):
        request = urllib.request.Request(f"{self.address}/api/{what}", method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")


def _start_nothing(route):
    """Leave the wish for a kernel unanswered, which no dialog tells of."""
    if route.request.method != "POST":
        route.continue_()


class Lab(App):
    file = "lab.ipynb"
    place = "lab/tree/{}?reset"

    def open(self, notebook):
        """Open it with nothing beside it."""
        super().open(notebook)
        self.command("application:toggle-left-area")


class Notebook(App):
    file = "notebook.ipynb"
    place = "notebooks/{}"


class Explorer:
    """What a person sees and does in one explorer."""

    def __init__(self, root):
        self.root = root
        self.page = root.page

    @property
    def names(self):
        """The names in sight, from the top."""
        return self.root.evaluate(
            "root => [...root.querySelectorAll('.nbx-body .nbx-row:not([hidden])')]"
            ".sort((a, b) => a.dataset.place - b.dataset.place)"
            ".map(row => row.querySelector('.nbx-name').textContent)"
        )

    @property
    def count(self):
        """How many rows there are, also out of sight."""
        return int(self.root.locator(".nbx-grid").get_attribute("aria-rowcount")) - 1

    @property
    def status(self):
        return self.root.locator(".nbx-status[role=status]").first.inner_text()

    def row(self, name):
        whole = re.compile(f"^{re.escape(name)}$")
        return self.root.get_by_role("row").filter(
            has=self.page.locator(".nbx-name", has_text=whole)
        )

    def button(self, name):
        return self.root.get_by_role("button", name=name, exact=True)

    def heading(self, name):
        return self.root.get_by_role("columnheader", name=name)

    def search(self, text, found):
        """Search, and wait until the table says what was found."""
        self.root.get_by_role("searchbox").fill(text)
        self.root.locator(".nbx-status[role=status]", has_text=found).first.wait_for()

    def choose_time(self, first, last):
        """Drag over a stretch of the timeline, in shares of its width."""
        canvas = self.root.get_by_role("application", name="timeline of")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        height = box["y"] + 25
        self.page.mouse.move(box["x"] + first * box["width"], height)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + last * box["width"], height, steps=4)
        self.page.mouse.up()
        self.button("Whole time").wait_for()
