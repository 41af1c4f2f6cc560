"""Make the environments: a venv each, with the host's packages and then nbprof."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pythons import find_python

TOP = Path(__file__).parents[2]
FOLDER = TOP / "build" / "matrix"
NBPROF = ("--editable", f"{TOP}[core]")


@dataclass(frozen=True)
class Venv:
    """An environment on disk."""

    name: str
    version: str
    """Version of its Python; venvs of several stay side by side."""

    @property
    def folder(self):
        return FOLDER / f"{self.name}-{self.version}"

    @property
    def python(self):
        return self.folder / "bin" / "python"

    @property
    def log(self):
        """What pip and pytest said, the last time."""
        return FOLDER / f"{self.name}.log"

    def run(self, *arguments, env=None):
        """Run its Python from the top of the project; append to the log, return the status."""
        with self.log.open("a", encoding="utf-8") as log:
            return subprocess.run(
                [self.python, *arguments], cwd=TOP, env=env, stdout=log, stderr=subprocess.STDOUT
            ).returncode

    def printed(self, *arguments):
        """Run its Python like `run` does; return what it prints, empty if it fails."""
        with self.log.open("a", encoding="utf-8") as log:
            ran = subprocess.run(
                [self.python, *arguments], cwd=TOP, stdout=subprocess.PIPE, stderr=log, text=True
            )
        return "" if ran.returncode else ran.stdout

    def versions(self):
        """Return the version of each installed package."""
        listed = subprocess.run(
            [self.python, "-m", "pip", "list", "--format", "json"],
            capture_output=True,
            check=True,
            text=True,
        )
        return {
            entry["name"].lower().replace("_", "-"): entry["version"]
            for entry in json.loads(listed.stdout)
        }


class InstallError(Exception):
    """An environment could not be made, or nbprof changed what was there."""


def make_venv(environment, version):
    """Return the venv of an environment, made anew if its declaration or pyproject.toml changed.

    Raises:
        InstallError: pip failed, or installing nbprof replaced a package of the host.
    """
    venv = Venv(environment.name, version)
    stamp = venv.folder / "made-from.txt"
    source = f"{environment}\n{(TOP / 'pyproject.toml').read_text(encoding='utf-8')}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    venv.log.unlink(missing_ok=True)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != source:
        shutil.rmtree(venv.folder, ignore_errors=True)
        subprocess.run([find_python(version), "-m", "venv", venv.folder], check=True)
        _install(venv, environment)
        stamp.write_text(source, encoding="utf-8")
    return venv


def _install(venv, environment):
    if environment.jointly:
        _pip_install(venv, *environment.packages, *NBPROF)
        return
    _pip_install(venv, *environment.packages)
    before = venv.versions()
    _pip_install(venv, *NBPROF)
    after = venv.versions()
    replaced = [
        f"{name} {before[name]} by {after.get(name, 'nothing')}"
        for name in before
        if after.get(name) != before[name]
    ]
    if replaced:
        raise InstallError(f"nbprof replaces {', '.join(replaced)}")


def _pip_install(venv, *requirements):
    if venv.run("-m", "pip", "install", "--progress-bar", "off", *requirements):
        raise InstallError("pip cannot install it")
