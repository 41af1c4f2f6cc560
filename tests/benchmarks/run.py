"""Measure nbprof beside its peers in one run, so that every figure is a ratio (`make bench`).

Prints a table per part and writes build/bench.json; parts that were not run keep their figures
there. `python tests/benchmarks/report.py` copies them to docs/benchmarks.md.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import import_module, metadata
from pathlib import Path

from tables import as_text
from traces import TRACES
from ways import FAILED, TOP

# On some processors TensorFlow runs oneDNN's kernels by default; figures must be comparable.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

RESULT = TOP / "build" / "bench.json"
PARTS = (
    *("explorer", "loading", "long_cells", "memory", "memory_lines", "profiling"),
    *("python_allocations", "python_functions", "python_marks", "python_side", "reading_traces"),
    *("saved_profiles", "tfprof_inputs", "timeline_pixels"),
)
PACKAGES = (
    *("tensorflow", "xprof", "protobuf", "numpy", "pandas", "memory_profiler", "psutil"),
    *("jupyterlab", "itables", "ipydatagrid", "line_profiler", "pyinstrument", "yappi"),
)


class Settings(argparse.Namespace):
    """What the command line asks to measure."""

    parts: list[str]
    sizes: list[str]
    nodes: int
    rounds: int
    folder: Path

    def trace(self, name):
        """Return the path of a trace; a process of its own records it the first time."""
        path = self.folder / f"{name}.xplane.pb"
        if not path.with_suffix(".json").exists():
            command = [sys.executable, Path(__file__).with_name("traces.py"), self.folder, name]
            subprocess.run(command, check=True, capture_output=True)
        return path


def main():
    settings = _parser().parse_args(namespace=Settings())
    results = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        settings.folder = settings.folder or Path(folder)
        settings.folder.mkdir(parents=True, exist_ok=True)
        for part in settings.parts or PARTS:
            module = import_module(part)
            results[part] = module.measure(settings)
            _show(module.TITLE, results[part])
            if part == "long_cells":
                results["limits"] = module.judge(results[part])
                _show("Limits of profiling a long cell", results["limits"])
            if part == "reading_traces":
                results["growth"] = module.growth(results[part])
                _show("How the time grows, from 100,000 events on", results["growth"])
            results["machine"] = _machine()
            RESULT.parent.mkdir(exist_ok=True)
            RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\nWritten to {RESULT.relative_to(TOP)}.")
    if FAILED:
        sys.exit(f"Failed: {', '.join(FAILED)}.")


def _parser():
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", choices=[*PARTS, []], help=str(PARTS))
    parser.add_argument(
        "--sizes", nargs="+", choices=TRACES, default=list(TRACES), help="traces to read"
    )
    parser.add_argument(
        "--nodes", type=int, default=1_000_000, help="largest graph for tfprof_inputs"
    )
    parser.add_argument("--rounds", type=int, default=3, help="times to repeat each measurement")
    parser.add_argument("--folder", type=Path, help="keep and reuse inputs here")
    return parser


def _show(title, rows):
    print(f"\n{title}", as_text(rows) if rows else "  nothing measured", sep="\n", flush=True)


def _machine():
    versions = {package: metadata.version(package) for package in PACKAGES}
    return {
        "cores": os.cpu_count(),
        "gigabytes": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        **versions,
    }


if __name__ == "__main__":
    main()
