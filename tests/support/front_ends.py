"""Two front ends that run cells: an IPython shell in this process and an ipykernel via nbclient.

Both return an Outcome, so that a test can run in both.
"""

import re
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from jupyter_client import KernelManager
from nbclient import NotebookClient

OUT = re.compile(r"^Out\[\d+\]: \n?(.*(?:\n .*)*)", re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ARROW = re.compile(r"^-+> (\d+) +(.*)$", re.MULTILINE)
CELL = re.compile(r"^(?:Cell In\[|<ipython-input-)(\d+)", re.MULTILINE)


@dataclass
class Outcome:
    """What a user sees of a cell's run."""

    values: list[str] = field(default_factory=list)
    """The texts of `Out[n]`, usually one."""
    shown: list[str] = field(default_factory=list)
    """What was displayed, reports included, in order."""
    printed: str = ""
    error: str | None = None
    """The name of the exception."""
    traceback: str = ""

    @property
    def of_nbprof(self) -> list[str]:
        """Traceback lines from nbprof's own code; paths of packages may also contain its name."""
        lines = (self.traceback + self.printed).splitlines()
        return [line for line in lines if "nbprof" in line and "site-packages" not in line]

    @property
    def pointed_at(self) -> list[tuple[int, str]]:
        """The lines, with their numbers, that the arrows of a traceback point at."""
        return [(int(number), line) for number, line in ARROW.findall(self.traceback)]

    @property
    def cells(self) -> set[int]:
        """The numbers of the cells that a traceback names; not every host names them."""
        return set(map(int, CELL.findall(self.traceback)))

    @property
    def value(self) -> str | None:
        return self.values[-1] if self.values else None

    @property
    def reports(self) -> list[str]:
        return [text for text in self.shown if "\nProfile:\n" in text]

    @property
    def report(self) -> str:
        (report,) = self.reports
        return report


class Shell:
    """IPython's shell in this process."""

    name = "shell"

    def __init__(self):
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(colors="nocolor")
        # Tests in the background may ignore interrupts; a terminal does not.
        self._interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(self, cell: str) -> Outcome:
        with capture_output() as captured:
            result = self.shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        return Outcome(
            values=OUT.findall(captured.stdout),
            shown=[output.data["text/plain"] for output in captured.outputs],
            printed=ANSI.sub("", captured.stdout),
            error=error and type(error).__name__,
            traceback=ANSI.sub("", captured.stdout + captured.stderr) if error else "",
        )

    def close(self):
        signal.signal(signal.SIGINT, self._interrupt)
        InteractiveShell.clear_instance()


@contextmanager
def shell_with_nbprof(first_cell):
    """Open a shell for one test; yield the function that runs a cell in it."""
    shell = Shell()
    shell.run("%load_ext nbprof")
    shell.run(first_cell)
    yield shell.run
    shell.run("%unload_ext nbprof")
    shell.close()


class Kernel:
    """A real ipykernel, driven by nbclient like a notebook."""

    name = "kernel"

    def __init__(self, python=sys.executable):
        self.notebook = nbformat.v4.new_notebook()
        manager = KernelManager()
        manager.kernel_spec.argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.client = NotebookClient(
            self.notebook, km=manager, allow_errors=True, timeout=300, shutdown_kernel="immediate"
        )
        self._running = self.client.setup_kernel(cleanup_kc=True)
        self._running.__enter__()

    def run(self, cell: str) -> Outcome:
        source = nbformat.v4.new_code_cell(cell)
        self.notebook.cells.append(source)
        self.client.execute_cell(source, len(self.notebook.cells) - 1)
        outcome = Outcome()
        for output in source.outputs:
            if output.output_type == "stream":
                outcome.printed += output.text
            elif output.output_type == "error":
                outcome.error = output.ename
                outcome.traceback = ANSI.sub("", "\n".join(output.traceback))
            elif output.output_type == "display_data":
                outcome.shown.append(output.data["text/plain"])
            else:
                outcome.values.append(output.data["text/plain"])
        # A usage error is a line on stderr; its error reply has no error output.
        if outcome.error is None and "UsageError:" in outcome.printed:
            outcome.error, outcome.traceback = "UsageError", outcome.printed
        return outcome

    def tell_widget(self, model: str, **content: object) -> None:
        """Send a message to a widget as its view in a browser does."""
        data = {"method": "custom", "content": content}
        client = self.client.kc
        client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": model, "data": data}))

    def close(self):
        self._running.__exit__(None, None, None)
