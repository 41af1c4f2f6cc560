"""Install a wheel into an empty environment outside the project and try it there (`make dist`)."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from venvs import TOP

TRACE = TOP / "tests" / "data" / "traces" / "small.xplane.pb"
PROGRAM = """
import importlib.util
import sys

from IPython.core.interactiveshell import InteractiveShell

import nbprof

_, version, trace = sys.argv
assert nbprof.__version__ == version, f"this is version {nbprof.__version__}, not {version}"
assert nbprof.__file__.startswith(sys.prefix), f"nbprof is imported from {nbprof.__file__}"
assert importlib.util.find_spec("tensorflow") is None, "TensorFlow is here"
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "nbprof")
shell.run_cell(f"%tfprof op -from {trace} -o shown -q").raise_error()
view = shell.user_ns["shown"]
assert view.text.count("MatMul"), "the report has no MatMul"
view.to_html("report.html")
"""


def main(wheel):
    """Try the wheel; an error shows what fails."""
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as place:
        python = Path(place) / "venv" / "bin" / "python"
        venv.create(python.parents[1], with_pip=True)
        environment = _environment(place)
        pip = [python, "-m", "pip", "install", "--quiet", "--progress-bar", "off", wheel.resolve()]
        subprocess.run(pip, cwd=place, env=environment, check=True)
        command = [python, "-I", "-c", PROGRAM, version, TRACE]
        subprocess.run(command, cwd=place, env=environment, check=True)
        size = (Path(place) / "report.html").stat().st_size
    print(f"{wheel.name} works in an empty environment (a report of {size / 1000:.0f} kB).")


def _environment(place):
    """Return variables with which Python sees neither the project nor the user's IPython."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"IPYTHONDIR": place}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
