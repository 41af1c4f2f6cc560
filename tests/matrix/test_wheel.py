"""What a wheel of nbprof holds."""

import subprocess
import sys
import zipfile
from email.parser import HeaderParser

import pytest
from support.paths import TOP

import nbprof


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", place]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    (path,) = place.iterdir()
    with zipfile.ZipFile(path) as opened:
        yield opened


def test_a_wheel_holds_the_whole_package_and_nothing_else(wheel):
    package = {
        str(file.relative_to(TOP))
        for file in (TOP / "nbprof").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    metadata, code = set(), set()
    for name in wheel.namelist():
        (metadata if ".dist-info/" in name else code).add(name)

    assert code == package
    assert {name.rpartition("/")[2] for name in metadata} == {
        *("METADATA", "RECORD", "WHEEL", "LICENSE"),
    }


def test_a_wheel_has_scripts_styles_and_types(wheel):
    suffixes = {name.rpartition(".")[2] for name in wheel.namelist()}

    assert {"js", "css"} <= suffixes
    assert "nbprof/py.typed" in wheel.namelist()


def test_a_wheel_has_the_version_of_the_package(wheel):
    (path,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
    metadata = HeaderParser().parsestr(wheel.read(path).decode())

    assert metadata["Version"] == nbprof.__version__
