"""What a wheel of nbprof holds."""

import re
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


@pytest.fixture(scope="module")
def metadata(wheel):
    (path,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
    return HeaderParser().parsestr(wheel.read(path).decode())


def test_a_wheel_has_the_version_of_the_package(metadata):
    assert metadata["Version"] == nbprof.__version__


def test_the_page_on_pypi_is_the_readme_without_links_into_the_repository(metadata):
    page = metadata.get_payload()
    readme = (TOP / "README.md").read_text(encoding="utf-8")

    assert re.findall(r"\]\((?!https?:)", readme)
    assert re.findall(r"\]\((?!https?:)", page) == []
    assert "Read on" not in page
    for part in ("## Five promises", "## Then", "BSD-3-Clause"):
        assert page.partition(part)[1] == readme.partition(part)[1] == part
