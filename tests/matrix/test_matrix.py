"""What `make matrix` does besides running tests: choosing Pythons, reading results, the table."""

import subprocess
import sys

import pytest
import venvs
from comparison import COMPARED, not_seen, undeclared
from compatibility_page import differences_on_page, differences_table, environments_on_page
from differences import DIFFERENCES, REFERENCE
from environments import ENVIRONMENTS, Environment
from outcomes import Outcome, read_junit, remarks, table
from pythons import RUNNING, find_python
from support.paths import TOP

RUN = TOP / "tests" / "matrix" / "run.py"


def test_the_page_lists_the_environments_that_are_declared():
    assert environments_on_page() == list(ENVIRONMENTS)


def test_each_tensorflow_from_2_15_on_has_an_environment():
    declared = " ".join(package for each in ENVIRONMENTS.values() for package in each.packages)

    assert all(f"tensorflow==2.{minor}." in declared for minor in range(15, 22))


def test_the_running_python_is_found_and_an_invented_one_is_not():
    found = subprocess.run([find_python(RUNNING), "--version"], capture_output=True, text=True)

    assert found.stdout.startswith(f"Python {RUNNING}.")
    assert find_python("3.999") is None


def test_an_environment_whose_python_is_missing_is_left_out_in_a_sentence(tmp_path):
    other = next(each for each in ENVIRONMENTS.values() if RUNNING not in each.pythons)

    found = subprocess.run(
        [sys.executable, RUN, "--this-python", other.name], capture_output=True, text=True
    )

    assert found.stdout.startswith(f"{other.name} is left out: it needs Python 3.")
    assert found.returncode == 0, found.stderr


def test_an_unknown_environment_is_refused_with_the_known_names():
    found = subprocess.run([sys.executable, RUN, "tf199"], capture_output=True, text=True)

    assert found.returncode == 2
    assert "tf199" in found.stderr
    assert all(name in found.stderr for name in ENVIRONMENTS)


@pytest.fixture
def report(tmp_path):
    """Return the JUnit file of a small suite run by pytest."""
    (tmp_path / "conftest.py").write_text(
        (TOP / "tests" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = core: as here\n", encoding="utf-8")
    (tmp_path / "test_small.py").write_text(
        "import pytest\n"
        "@pytest.mark.core('eager')\n@pytest.mark.parametrize('number', range(3))\n"
        "def test_holds(number): pass\n"
        "@pytest.mark.core('fit')\ndef test_does_not(): assert False\n"
        "@pytest.mark.core('fit')\ndef test_does(): pass\n"
        "@pytest.mark.core('XLA')\n@pytest.mark.skipif(True, reason='older than XLA events')\n"
        "def test_is_not_there(): pass\n",
        encoding="utf-8",
    )
    path = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", f"--junitxml={path}", tmp_path]
    environment = {"PYTHONPATH": f"{TOP / 'tests'}:{TOP}", "PATH": ""}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
    return path


def test_results_are_counted_by_the_area_that_a_test_is_marked_with(report):
    outcome = Outcome(name="here", **read_junit(report))

    assert outcome.passed == {"eager": 3, "fit": 1}
    assert outcome.failed == {"fit": ["test_small: test_does_not"]}
    assert outcome.skipped == {"older than XLA events": 1}
    assert not outcome.good


def test_the_table_has_a_row_per_environment_and_a_column_per_area():
    outcomes = [
        Outcome(name="a", versions={"Python": "3.12", "TensorFlow": "2.20.0"}, passed={"eager": 2}),
        Outcome(name="b", failed={"fit": ["x", "y"]}, passed={"eager": 1}),
        Outcome(name="c", trouble="pip cannot install it"),
    ]

    heading, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table(outcomes).splitlines()
    )
    assert heading[:3] == ["environment", "Python", "TensorFlow"]
    assert heading[-2:] == ["eager", "fit"]
    assert rows[0][:3] == ["a", "3.12", "2.20.0"]
    assert [row[-2:] for row in rows] == [["✓", "–"], ["✓", "2 fail"], ["–", "–"]]


def test_failures_and_differences_are_named_below_the_table():
    outcomes = [
        Outcome(name="a", failed={"fit": ["test_x"]}, skipped={"no HLO events": 2}),
        Outcome(name="b", trouble="pip cannot install it", skipped={"no HLO events": 1}),
    ]

    assert list(remarks(outcomes)) == [
        "a: failed: test_x (build/matrix/a.log)",
        "b: pip cannot install it (build/matrix/b.log)",
        "a, b: no HLO events",
    ]


class FakeVenv:
    """A venv in which nbprof's installation changes a version."""

    def __init__(self, *versions):
        self.listed = iter(versions)
        self.requested = []

    def run(self, *arguments):
        self.requested.append(arguments[5:])
        return 0

    def versions(self):
        return next(self.listed)


HOST = Environment(name="host", pythons=("3.11",), packages=("ipython==7.34.0",))


def test_a_package_that_nbprof_replaces_is_named():
    venv = FakeVenv({"ipython": "7.34.0", "pip": "25"}, {"ipython": "9.1", "pip": "25"})

    with pytest.raises(venvs.InstallError, match=r"replaces ipython 7\.34\.0 by 9\.1"):
        venvs._install(venv, HOST)

    assert venv.requested == [HOST.packages, venvs.NBPROF]


def test_packages_that_nbprof_adds_are_no_trouble():
    venvs._install(FakeVenv({"ipython": "7.34.0"}, {"ipython": "7.34.0", "tqdm": "4"}), HOST)


def test_an_environment_that_cannot_be_installed_is_a_sentence():
    venv = FakeVenv()
    venv.run = lambda *arguments: 1

    with pytest.raises(venvs.InstallError, match="pip cannot install it"):
        venvs._install(venv, HOST)


def test_the_page_names_the_declared_differences():
    assert differences_table() in differences_on_page(), "make matrix ARGS=--page writes it"


FACTS = {
    "tensorflow": "2.21.0",
    "eager": {"run_count": {"MatMul": 10, "AddV2": 5}, "steps": []},
    "fit": {"params": {"net": 2610, "optimizer": 2}, "steps": [["train", True]]},
}


def changed(program, fact, **rows):
    """Return the facts with other numbers in some rows of one of them."""
    facts = FACTS[program]
    return FACTS | {program: facts | {fact: facts[fact] | rows}}


def test_a_number_that_differs_from_the_reference_is_named():
    facts = {REFERENCE: FACTS, "tf218": changed("eager", "run_count", MatMul=9, Sum=1)}

    assert [*map(str, undeclared(facts))] == [
        "tf218, eager, run_count, MatMul: 9, but 10 in tf221",
        "tf218, eager, run_count, Sum: 1, but None in tf221",
    ]


def test_a_program_that_fails_is_a_difference():
    facts = {REFERENCE: FACTS, "tf218": FACTS | {"eager": {"error": "TypeError: x"}}}

    assert [*map(str, undeclared(facts))] == [
        "tf218, eager, error: TypeError: x, but None in tf221",
    ]


def test_a_declared_difference_is_allowed_only_where_it_is_declared():
    other = changed("fit", "params", optimizer=2612)
    wrong = changed("fit", "params", net=9)

    assert undeclared({REFERENCE: FACTS, "tf215": other}) == []
    assert len(undeclared({REFERENCE: FACTS, "tf218": other})) == 1
    assert len(undeclared({REFERENCE: FACTS, "tf215": wrong})) == 1


def test_a_declared_difference_that_is_gone_is_named():
    other = changed("fit", "params", optimizer=2612)
    (keras_2,) = [each for each in DIFFERENCES if each.where.startswith("Keras 2:")]

    assert keras_2 in not_seen({REFERENCE: FACTS, "tf215": FACTS})
    assert keras_2 not in not_seen({REFERENCE: FACTS, "tf215": other})
    assert not_seen({REFERENCE: FACTS}) == []


def test_declared_differences_are_about_known_environments_programs_and_facts():
    source = (TOP / "tests" / "core" / "programs.py").read_text(encoding="utf-8")

    for difference in DIFFERENCES:
        assert {*difference.environments} <= {*ENVIRONMENTS} - {REFERENCE}
        for rows in difference.shown:
            assert {*rows.facts} <= {*COMPARED}
            assert all(f"\ndef {program}(" in source for program in rows.programs)
