"""Run the core suite in each environment and print what works where (`make matrix`).

The environments are made in build/matrix, one to three minutes each, and kept until their entry in
environments.py or pyproject.toml changes. Then the programs of tests/core run there, and what
nbprof reports of them is compared: only what differences.py declares may differ. --page writes both
tables to docs/compatibility.md, with the last outcome of environments that were not chosen.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict

from comparison import not_seen, undeclared
from compatibility_page import write_differences, write_table
from differences import REFERENCE
from environments import ENVIRONMENTS
from outcomes import Outcome, named_versions, read_junit, remarks, table
from pythons import RUNNING, find_python
from venvs import FOLDER, TOP, InstallError, make_venv

RESULT = FOLDER / "outcomes.json"
TESTS = TOP / "tests"
BESIDE = ("--numprocesses", "logical", "--maxprocesses", "4", "--dist", "worksteal")


def main():
    settings = _parser().parse_args()
    known = _known_outcomes()
    tried = {}
    for name in settings.names or ENVIRONMENTS:
        environment = ENVIRONMENTS[name]
        version = _python_version(environment, only=RUNNING if settings.this_python else None)
        if version is None:
            print(f"{name} is left out: it needs Python {' or '.join(environment.pythons)}.")
            continue
        tried[name] = _try(environment, version)
        _remember(known | tried)
    print("", table(tried.values()), *remarks(tried.values()), sep="\n")
    different = _compare_facts(tried)
    if settings.page:
        outcomes = {name: Outcome(name=name) for name in ENVIRONMENTS} | known | tried
        write_table(table(outcomes.values()))
        write_differences()
    sys.exit(different or not all(outcome.good for outcome in tried.values()))


def _parser():
    parser = argparse.ArgumentParser(prog="make matrix ARGS=…", description=__doc__)
    known = ", ".join(ENVIRONMENTS)
    parser.add_argument("names", nargs="*", metavar="name", choices=[*ENVIRONMENTS, []], help=known)
    parser.add_argument("--page", action="store_true", help="write docs/compatibility.md")
    parser.add_argument(
        "--this-python", action="store_true", help=f"make them with Python {RUNNING} only"
    )
    return parser


def _python_version(environment, only):
    """Return the best version that is on this machine, or None."""
    wanted = [version for version in environment.pythons if only in (None, version)]
    return next(filter(find_python, wanted), None)


def _try(environment, version):
    """Make an environment and run the core suite in it."""
    print(f"{environment.name}: installing …", flush=True)
    try:
        venv = make_venv(environment, version)
    except InstallError as error:
        return Outcome(name=environment.name, versions={"Python": version}, trouble=str(error))
    print(f"{environment.name}: running the core suite …", flush=True)
    report = FOLDER / f"{environment.name}.xml"
    report.unlink(missing_ok=True)
    _facts_file(environment.name).unlink(missing_ok=True)
    # Runs in several environments stay out of each other's way.
    storage = {"HYPOTHESIS_STORAGE_DIRECTORY": str(venv.folder / "hypothesis")}
    apart = ("-p", "no:cacheprovider", f"--junitxml={report}")
    chosen = ("-m", "core", *_core_files())
    venv.run("-m", "pytest", *chosen, *BESIDE, *apart, env=os.environ | storage)
    print(f"{environment.name}: running the programs to compare …", flush=True)
    if facts := venv.printed(TESTS / "core" / "programs.py"):
        _facts_file(environment.name).write_text(facts, encoding="utf-8")
    results = read_junit(report) if report.exists() else {}
    trouble = "" if any(results.values()) else "no test ran"
    versions = {"Python": version, **named_versions(venv.versions())}
    return Outcome(name=environment.name, versions=versions, trouble=trouble, **results)


def _facts_file(name):
    return FOLDER / f"{name}.facts.json"


def _compare_facts(tried):
    """Print how the environments tried now differ from the reference; return whether any does."""
    stored = {name: _facts_file(name) for name in (REFERENCE, *tried)}
    facts = {
        name: json.loads(file.read_text(encoding="utf-8"))
        for name, file in stored.items()
        if file.exists()
    }
    missing = [name for name in tried if name not in facts]
    if REFERENCE not in facts:
        print(f"the programs of tests/core are not compared: run {REFERENCE} first")
    for name in missing:
        print(f"{name}: the programs of tests/core do not run (build/matrix/{name}.log)")
    found = undeclared(facts)
    print(*found, sep="\n", end="\n" if found else "")
    for difference in not_seen(facts):
        print(f"no longer differs, so drop it from differences.py: {difference.what}")
    return bool(missing or found)


def _core_files():
    """Return the files with core tests; others may import what only the whole suite needs."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [file for file in files if "pytest.mark.core" in file.read_text(encoding="utf-8")]


def _known_outcomes():
    """Return the outcomes of earlier runs, by name."""
    if not RESULT.exists():
        return {}
    stored = json.loads(RESULT.read_text(encoding="utf-8"))
    return {name: Outcome(**entry) for name, entry in stored.items() if name in ENVIRONMENTS}


def _remember(outcomes):
    entries = {name: asdict(outcome) for name, outcome in outcomes.items()}
    RESULT.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
