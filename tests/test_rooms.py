"""A room imports only the value it receives, the value it returns, and the shelves."""

import ast
import subprocess
import sys

import pytest
from support.paths import PACKAGE

from nbprof.view_kinds import VIEWS

SHELVES = {
    *("arrays", "columns", "options", "units", "errors", "file_format", "protos", "progress"),
    *("op_types", "float_op_table", "view_kinds", "step_ranges", "flags", "flag_values", "note"),
    *("lifetimes", "user_files", "categories", "recording", "library_frames", "call_places"),
    "python_code",
}
"""Modules that every room may import; they import only each other."""

MAY_IMPORT = {
    **{shelf: set() for shelf in SHELVES - {"protos"}},
    "protos": {"protos"},
    "capture": {"capture"},
    "ingest": {"ingest"},
    "ingest/protobuf": {"ingest.protobuf"},
    "ingest/xspace": {"ingest.xspace", "ingest.protobuf"},
    "ingest/trace": {
        *("ingest.trace", "ingest.xspace", "ingest.protobuf"),
        *("capture.capture", "capture.kerases", "capture.python", "_profile", "lazy_tables"),
    },
    **{
        f"ingest/trace/{part}": {
            *(f"ingest.trace.{name}" for name in (part, *parts, "function_names", "stages")),
            *("ingest.xspace", "ingest.protobuf", "capture.capture", "capture.kerases"),
        }
        for part, parts in {
            "work": (),
            "program": ("work",),
            "attribution": ("work", "program"),
            "shapes": ("work", "program", "attribution"),
            "cell_time": ("work", "attribution"),
        }.items()
    },
    "ingest/tfprof": {"ingest.tfprof", "ingest.protobuf", "_profile", "lazy_tables"},
    "ingest/saved": {"ingest.saved", "_profile", "lazy_tables"},
    "ingest/python": {"ingest.python", "_profile", "lazy_tables"},
    "views": {"views", "_profile", "memory.result", "memory.sampler"},
    "display": {
        *("display", "views.view", "views.report", "_profile"),
        *("memory.result", "memory.line_result", "memory.namespace"),
    },
    "export": {"export", "views.view", "_profile"},
    # profile.view() and profile.export() import the rooms after it when they are called.
    "_profile": {"lazy_tables", "views", "views.view", "export", "memory.result"},
    "lazy_tables": set(),
    "run": {
        *("capture.recorder", "capture.tracing", "capture.capture", "capture.python.watches"),
        *("ingest", "_profile", "magics.host_shell"),
        *("memory.meter", "memory.malloc_stats", "memory.result", "memory.watermark"),
    },
    "files": {"files", "ingest", "views.collapse", "_profile"},
    "tfprof_inputs": {"ingest", "_profile"},
    "memory": {"memory"},
    "magics": {
        *("magics", "run", "files", "_profile", "display.advice"),
        *("memory", "capture.step_watch"),
    },
    "__init__": {
        *("run", "files", "magics", "views.printed", "views.view", "tfprof_inputs"),
        "capture.python.marks",
    },
}
LATE_IMPORTS = {
    *(("views", "display"), ("views", "display.text"), ("views", "memory.malloc_stats")),
    *(("views", f"display.explorer.{file}") for file in ("page", "explorer_widget")),
    ("_profile", "display.explorer.page"),
    *(("views", f"export.{file}") for file in ("table", "parquet", "outputs", "whole_file")),
    *(("_profile", "export.own_file"), ("_profile", "export.whole_file")),
    ("memory", "export.whole_file"),
    ("views", "display.plots.bars"),
    *(("_profile", f"display.plots.{file}") for file in ("timeline", "live_memory_plot")),
    *(
        ("memory", f"display.memory.{file}")
        for file in (
            *("result_report", "curve_plot"),
            *("line_table", "object_table", "curve_widget"),
        )
    ),
}
"""Imports allowed inside methods only: views and memory results show themselves, profiles save and
plot themselves; views give back the memory that this took."""

FOR_TYPE_CHECKERS = {("views", "matplotlib.axes"), ("_profile", "matplotlib.axes")}
"""Imports allowed for type checkers only."""

OUTSIDERS = {
    "tensorflow": {"capture"},
    "IPython": {"magics", "__init__"},
    "pandas": {
        *("ingest/trace", "ingest/trace/attribution", "ingest/trace/cell_time"),
        *("ingest/tfprof", "ingest/saved", "ingest/python"),
        *("views", "export", "_profile", "lazy_tables", "memory"),
    },
    "matplotlib": {"display"},
    **{name: {"display"} for name in ("anywidget", "ipywidgets", "traitlets")},
    "psutil": {"memory"},
    "memory_profiler": {"memory"},
    "pyarrow": {"export"},
    **{name: {"files"} for name in ("dask", "distributed", "fsspec")},
    "tqdm": {"progress"},
}


def room_of(file):
    """Return the room of a file; the rooms inside `ingest` and `ingest/trace` are ones, too."""
    folders = file.relative_to(PACKAGE).parent.parts
    if folders[:1] == ("ingest",):
        return "/".join(folders[:3] if folders[:2] == ("ingest", "trace") else folders[:2])
    return folders[0] if folders else file.stem


def imports(tree):
    """Yield (module, whether at import time, whether for type checkers only) of every import."""
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        named = id(node) in typing_only
        at_import = id(node) in top or named
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_import, named) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((found, at_import, named) for found in targets(node))


def targets(node):
    """Spell `from nbprof.display import text` as nbprof.display.text when that is a module."""
    for alias in node.names:
        path = PACKAGE.parent / node.module.replace(".", "/") / alias.name
        is_module = path.is_dir() or path.with_suffix(".py").exists()
        yield f"{node.module}.{alias.name}" if is_module else node.module


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_room_imports_only_what_it_may(file):
    room = room_of(file)
    for module, at_import, named in imports(ast.parse(file.read_text(encoding="utf-8"))):
        top, _, inner = module.partition(".")
        if top != "nbprof":
            if named and (room, module) in FOR_TYPE_CHECKERS:
                continue
            assert room in OUTSIDERS.get(top, {room}), f"{file.name} imports {module}"
            continue
        if not at_import and (room, inner) in LATE_IMPORTS:
            continue
        allowed = SHELVES | MAY_IMPORT[room]
        assert not inner or any(
            inner == name or inner.startswith(f"{name}.") for name in allowed
        ), f"{file.name} imports {module}"


@pytest.mark.parametrize("file", sorted((PACKAGE / "display").rglob("*.py")), ids=lambda f: f.stem)
def test_display_makes_no_view(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))

    for module, _, for_type_checkers in imports(tree):
        assert for_type_checkers or not module.startswith("nbprof.views"), module
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = ast.unparse(call.func)
        assert not called.endswith((".view", *(f".{name}" for name in VIEWS))), called


def test_every_file_and_folder_of_the_package_is_in_the_table():
    rooms = {room_of(file) for file in FILES}

    assert rooms == set(MAY_IMPORT)


def test_the_public_function_is_not_hidden_by_a_module_of_its_name():
    import nbprof
    import nbprof._profile
    import nbprof.ingest
    import nbprof.views

    assert callable(nbprof.profile)
    assert callable(nbprof.last)


def test_showing_and_exporting_a_view_does_not_import_matplotlib():
    script = (
        "import sys, nbprof, nbprof.display, nbprof.views.view, nbprof._profile, nbprof.export\n"
        "assert 'matplotlib' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", script], check=True)
