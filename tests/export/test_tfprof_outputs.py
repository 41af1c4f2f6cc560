"""The files of `-output`, compared with those of TensorFlow's own C++ tfprof."""

import gzip
import json
from collections import Counter

import pytest
from support.tfprof_engine import DEFAULTS, Engine

import nbprof
from nbprof.errors import NbprofError

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

from support import real_graphs  # noqa: E402
from support import tfprof_by_hand as by_hand  # noqa: E402
from support import tfprof_cases as cases  # noqa: E402

TIMELINES = ("scope", "code", "graph")


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


def profile_of(case):
    return nbprof.load_tfprof(case.graph, case.runs, case.op_log)


def ours(case, output, folder):
    """Write the files of a case; return them by the suffix of their names."""
    kind = "file" if output == "text" else output
    options = {**DEFAULTS, **case.options, "output": f"{kind}:outfile={folder / 'out'}"}
    try:
        profile_of(case).view(case.view, **options).write_output()
    except NbprofError as error:
        if "needs Python lines" not in str(error):
            raise
    written = {path.name.removeprefix("out"): path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    return written


def in_scope(case):
    """Return whether tfprof and nbprof understand the options alike and neither refuses them."""
    options = case.options
    step = options.get("step", -1)
    regexes = [regex for name in cases.REGEXES for regex in options.get(name, ())]
    return (
        options.get("order_by") != ""
        and (step == -1 or step in steps_of(case))
        and not set(regexes) & set(cases.INVALID_REGEXES)
    )


def steps_of(case):
    return [s for s, run in case.runs if cases.RunMetadata.FromString(run).HasField("step_stats")]


def drawn(output, view, count):
    """Draw `count` cases that are in scope."""
    found = (cases.case(seed, output, view) for seed in range(10 * count))
    return [case for case, _ in zip(filter(in_scope, found), range(count), strict=False)]


# Timelines


def as_json(files):
    return {name: json.loads(content) for name, content in files.items()}


def tfprofs_timeline(case, engine):
    answer = engine.ask(case, "timeline")
    assert not answer.crashed, cases.repro(case)
    return {f"_{step}": json.loads(content) for step, content in answer.timeline.items()}


@pytest.mark.parametrize("view", TIMELINES)
def test_timelines_of_random_cases_equal_tfprofs(view, engine, tmp_path):
    kinds = Counter()
    for case in drawn("timeline", view, 120):
        theirs = tfprofs_timeline(case, engine)
        assert as_json(ours(case, "timeline", tmp_path)) == theirs, cases.repro(case)
        kinds.update(event["ph"] for trace in theirs.values() for event in trace["traceEvents"])

    least = {"graph": {"M": 200, "X": 1000, "s": 50, "t": 50, "C": 200}}
    assert kinds >= Counter(least.get(view, {"M": 200, "X": 200}))


@pytest.mark.parametrize("view", TIMELINES)
@pytest.mark.parametrize("name", real_graphs.GRAPHS)
def test_timelines_of_real_graphs_equal_tfprofs(name, view, engine, tmp_path):
    case = cases.Case(*real_graphs.real_graph(name), view, {"max_depth": 100}, "timeline")

    theirs = tfprofs_timeline(case, engine)

    assert as_json(ours(case, "timeline", tmp_path)) == theirs
    assert all(len(trace["traceEvents"]) > 15 for trace in theirs.values())


# pprof


def parsed(content):
    from tensorflow.core.profiler.profile_pb2 import Profile

    return Profile.FromString(gzip.decompress(content))


def tfprofs_pprof(case, engine):
    answer = engine.ask(case, "pprof")
    assert not answer.crashed, cases.repro(case)
    return {} if answer.pprof is None else {"": parsed(answer.pprof)}


def our_pprof(case, folder):
    return {name: parsed(content) for name, content in ours(case, "pprof", folder).items()}


def test_pprof_profiles_of_random_cases_equal_tfprofs(engine, tmp_path):
    samples = 0
    for case in drawn("pprof", "code", 320):
        theirs = tfprofs_pprof(case, engine)
        assert our_pprof(case, tmp_path) == theirs, cases.repro(case)
        samples += sum(len(profile.sample) for profile in theirs.values())

    assert samples > 1000


@pytest.mark.parametrize("column", ["micros", "bytes", "params"])
@pytest.mark.parametrize("name", real_graphs.GRAPHS)
def test_pprof_profiles_of_real_graphs_equal_tfprofs(name, column, engine, tmp_path):
    options = {"max_depth": 100, "select": [column]}
    case = cases.Case(*real_graphs.real_graph(name), "code", options, "pprof")

    theirs = tfprofs_pprof(case, engine)

    assert our_pprof(case, tmp_path) == theirs
    assert len(theirs[""].sample) > 10


# The report


@pytest.mark.parametrize("name", by_hand.WORKED)
def test_a_report_in_a_file_equals_tfprofs_after_the_line_profile(name, engine, tmp_path):
    case = by_hand.WORKED[name]

    (report,) = ours(case, "text", tmp_path).values()

    assert report.decode().partition("\nProfile:\n")[2] == engine.ask(case).text
