"""The JavaScript modules: how they are joined, what they may use, and their own tests in Node."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.explorer_profiles import TIMED, TRAINED
from support.paths import PACKAGE

from nbprof.display.explorer import payload
from nbprof.display.explorer.script import EXPLORER, LOADER, modules, packed_explorer, script
from nbprof.display.memory.curve_widget import SCRIPT as MEMORY_CURVE
from nbprof.units import (
    format_bytes,
    format_count,
    format_mebibytes,
    format_micros,
    format_seconds,
)
from nbprof.view_kinds import op_views
from nbprof.views.report import report_of

DISPLAY = PACKAGE / "display"
SCRIPTS = sorted(DISPLAY.rglob("*.js"))
ENTRANCES = (EXPLORER, MEMORY_CURVE, LOADER)
TESTS = Path(__file__).parent.parent


def test_the_script_is_small_and_has_neither_comments_nor_imports():
    joined = script()

    assert len(packed_explorer()) < 52_000
    assert not re.search(r"/\*\*|^\s*//|^import |^export ", joined, re.M)
    assert "</" not in joined


def test_every_module_is_used():
    assert {module for first in ENTRANCES for module in modules(first)} == set(SCRIPTS)


def test_no_two_modules_declare_the_same_name():
    kinds = r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)"
    names = [name for file in SCRIPTS for name in re.findall(kinds, file.read_text(), re.M)]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_a_module_is_short_sets_no_markup_and_loads_nothing(file):
    text = file.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 400
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    assert not re.search(r"smooth|\.animate\(", text)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|https?://|import\([^\"]", text)
    assert max(map(len, text.splitlines())) <= 110


def numbers_by_path(view):
    """Return the numbers of each row by the row's path of names from the root."""
    frame = view.frame
    columns = [name for name in frame.columns if name.endswith(("micros", "bytes", "run_count"))]
    found, paths = {}, []
    for place, parent in enumerate(frame.get("parent", pd.Series([-1] * len(frame)))):
        paths.append((paths[parent] if parent >= 0 else "") + "\n" + frame["name"][place])
        numbers = frame.iloc[place][columns].astype(float)
        found[paths[-1]] = numbers.astype(object).where(numbers.notna(), None).to_dict()
    return found


@pytest.fixture(scope="module")
def node_folder(tmp_path_factory):
    """Return a folder with the modules, their tests and data, marked as ES modules for Node."""
    if shutil.which("node") is None:
        pytest.skip("no Node on this machine")
    folder = tmp_path_factory.mktemp("js")
    (folder / "package.json").write_text('{"type": "module"}')
    for file in SCRIPTS:
        copy = folder / file.relative_to(DISPLAY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    for file in TESTS.rglob("*.test.js"):
        shutil.copy(file, folder / file.parent.relative_to(TESTS) / "js")
    write_units(folder)
    write_payloads(folder)
    return folder


def write_units(folder):
    """Write numbers with the texts that Python formats them as."""
    numbers = [0, 0.5, 1.125, 1.375, 2.665, 2.675, 7, 999.994, 999.996, 1000, 1234.5, 12345.678]
    numbers += [10.0**power * 1.23456 for power in range(12)]
    formats = {"micros": format_micros, "bytes": format_bytes, "count": format_count}
    texts = {name: [[one, write(one)] for one in numbers] for name, write in formats.items()}
    (folder / "numbers.json").write_text(json.dumps(texts))
    of_memory = {
        "mebibytes": [[one, format_mebibytes(one)] for one in (0, 1, 2**20, 123456789, 5e9)],
        "seconds": [[one, format_seconds(one * 1e9)] for one in (0, 5e-6, 0.0321, 0.9, 12.345)],
    }
    (folder / "memory_numbers.json").write_text(json.dumps(of_memory))


def write_payloads(folder):
    """Write the data of pages, and the numbers that Python computes for time ranges."""

    def write(name, view, most_timed=200_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(payload, "MOST_TIMED", most_timed)
            made = payload.whole_payload(report_of(view))
        (folder / f"{name}.bin").write_bytes(b"".join((*made.buffers, made.ending())))

    write("scope", TIMED.scope(select="micros,bytes,occurrence,op_types"))
    # Memory that no op allocated belongs to the whole, but to no stretch of time.
    held = replace(TRAINED, recording=replace(TRAINED.recording, outside_ops_bytes=500.0))
    write("whole", held.scope())
    write("binned", held.scope(), most_timed=2)
    second = TRAINED.steps["start_micros"].iloc[1]
    later = TRAINED.events[TRAINED.events["start_ns"] >= 1000 * second].reset_index(drop=True)
    expected = {
        name: {
            "whole": numbers_by_path(held.view(name)),
            "later": numbers_by_path(replace(TRAINED, events=later).view(name)),
            "average": numbers_by_path(held.view(name, step=-1)),
        }
        for name in op_views()
    }
    (folder / "expected.json").write_text(json.dumps({"second": second, **expected}))


def test_the_modules_pass_their_own_tests(node_folder):
    done = subprocess.run(
        ["node", "--test", *sorted(map(str, node_folder.rglob("*.test.js")))],
        cwd=node_folder,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("first", ENTRANCES, ids=lambda file: file.stem)
def test_a_joined_script_parses(node_folder, first):
    (node_folder / "joined.js").write_text(script(first), encoding="utf-8")

    done = subprocess.run(
        ["node", "--check", node_folder / "joined.js"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


def test_the_modules_pass_the_type_checker():
    """Needs TypeScript on the PATH; the package itself does not."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("no TypeScript on this machine")
    flags = "--noEmit --allowJs --checkJs --strict --target es2022 --module es2022"
    flags += " --moduleResolution bundler --lib es2023,dom,dom.iterable"

    done = subprocess.run([compiler, *flags.split(), *ENTRANCES], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
