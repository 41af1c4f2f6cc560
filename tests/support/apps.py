"""JupyterLab and Notebook 7 as a user sees them: a notebook, its cells and its explorers."""

import json
import re
import time
import urllib.request
from contextlib import contextmanager

from support.lab import PATIENCE

SIZE = {"width": 1200, "height": 1000}
COMMAND = """([name, arguments, patience]) => Promise.race([
    window.jupyterapp.commands.execute(name, arguments),
    new Promise((_, fail) => setTimeout(() => {
        const dialog = document.querySelector(".jp-Dialog")?.innerText;
        fail(new Error(`${name} did not end; dialog: ${dialog}`));
    }, patience * 1000)),
])"""
"""Runs a command; fails if it does not end, as when JupyterLab shows a dialog."""

FRAME = "new Promise(done => { requestAnimationFrame(done); setTimeout(done, 100) })"
"""Waits for the next frame, but not for long: a page that shows nothing new may draw none."""


def until(page, condition):
    """Check a condition after every frame of a page until it holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        page.evaluate(FRAME)


class App:
    """A notebook in one of Jupyter's front ends, which have the same commands and cells."""

    file: str
    """The notebook that is run in it."""
    url: str
    """The path of a notebook's page."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.page = browser.new_page(viewport=SIZE)

    def open(self, notebook):
        """Open a notebook and wait for its cells."""
        self.page.goto(f"{self.address}/{self.url.format(notebook)}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.page.wait_for_function("window.jupyterapp !== undefined")

    def run_all(self):
        """Start running all cells."""
        self.wait_for_kernel()
        self.command("notebook:run-all-cells")

    def wait_for_kernel(self):
        """Wait until the kernel is idle."""
        self.page.wait_for_function(
            "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
            " === 'idle'"
        )

    def run(self, place):
        """Run one cell and wait until it has ended."""
        self.go_to(place)
        self.command("notebook:run-cell")

    def run_until(self, place, text):
        """Run a cell until its output has a text: what a widget sends may reach Python later."""
        outputs = self.cell(place).locator(".jp-OutputArea-output", has_text=text)

        def has_text():
            self.run(place)
            return outputs.count()

        until(self.page, has_text)

    def write(self, place, source):
        """Replace the source of a cell."""
        self.page.evaluate(
            "([place, source]) => window.jupyterapp.shell.currentWidget.content.widgets[place]"
            ".model.sharedModel.setSource(source)",
            [place, source],
        )

    def held(self):
        """Return the bytes of the page's objects and buffers after a garbage collection."""
        cdp = self.page.context.new_cdp_session(self.page)
        cdp.send("HeapProfiler.collectGarbage")
        usage = cdp.send("Runtime.getHeapUsage")
        cdp.detach()
        return usage["usedSize"] + usage["backingStorageSize"]

    def clear(self, place):
        """Clear the outputs of a cell."""
        self.go_to(place)
        self.command("notebook:clear-cell-output")

    def go_to(self, place):
        """Make a cell active."""
        self.page.evaluate(
            "place => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = place }",
            place,
        )

    def command(self, name, **arguments):
        """Run a command of the application and wait until it has ended."""
        self.page.evaluate(COMMAND, [name, arguments, PATIENCE])

    def theme(self, shade):
        """Change to the light or the dark theme."""
        name = f"JupyterLab {shade.title()}"
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_selector(f"body[data-jp-theme-name='{name}']", state="attached")

    def cell(self, place):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(place)

    def explorer(self, cell):
        return Explorer(self.cell(cell).locator(".nbx"))

    @contextmanager
    def opened_without_kernel(self, notebook):
        """Open another notebook in a page of its own that cannot start kernels.

        Its requests for one wait until the end, as a refusal would open a dialog. They are refused
        before the page is closed, since Chromium sends what is still held back then.
        """
        waiting = []

        def hold_back(route):
            if route.request.method == "POST":
                waiting.append(route)
            else:
                route.continue_()

        other = type(self)(self.browser, self.address)
        other.page.route("**/api/sessions*", hold_back)
        try:
            other.open(notebook)
            yield other
        finally:
            for route in waiting:
                route.abort()
            other.page.close()

    def close(self):
        """Close the notebook and end its kernel."""
        self.page.close()
        for session in self._ask("sessions"):
            self._ask(f"sessions/{session['id']}", "DELETE")

    def has_kernel(self, notebook):
        """Return whether a kernel runs for a notebook."""
        return notebook in {session["path"] for session in self._ask("sessions")}

    def _ask(self, what, method="GET"):
        request = urllib.request.Request(f"{self.address}/api/{what}", method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or "null")


class Lab(App):
    file = "lab.ipynb"
    url = "lab/tree/{}?reset"

    def open(self, notebook):
        """Open a notebook without the left sidebar."""
        super().open(notebook)
        self.command("application:toggle-left-area")


class Notebook(App):
    file = "notebook.ipynb"
    url = "notebooks/{}"


class Explorer:
    """What a user sees and does in one explorer."""

    def __init__(self, root):
        self.root = root
        self.page = root.page

    @property
    def names(self):
        """The names in sight, from top to bottom."""
        return self.root.evaluate(
            "root => [...root.querySelectorAll('.nbx-body .nbx-row:not([hidden])')]"
            ".sort((a, b) => a.dataset.place - b.dataset.place)"
            ".map(row => row.querySelector('.nbx-name').textContent)"
        )

    @property
    def count(self):
        """The number of rows, including those out of sight."""
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
        """Search, and wait until the status contains `found`."""
        self.root.get_by_role("searchbox").fill(text)
        self.root.locator(".nbx-status[role=status]", has_text=found).first.wait_for()

    def choose_time(self, first, last):
        """Select a stretch of time, given as fractions of the timeline's width."""
        canvas = self.root.get_by_role("application", name="timeline of")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        height = box["y"] + 25
        self.page.mouse.move(box["x"] + first * box["width"], height)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + last * box["width"], height, steps=4)
        self.page.mouse.up()
        self.button("Whole time").wait_for()
