"""Views of tfprof's inputs: nbprof compared with TensorFlow's own C++ engine.

A failing case prints a program that repeats it; `tfprof_cases.shrink` makes it small.
"""

import math

import pytest
from support.paths import DATA as TEST_DATA

import nbprof

pytestmark = pytest.mark.tensorflow

pytest.importorskip("tensorflow")

from google.protobuf import text_format  # noqa: E402
from support import tfprof_cases as cases  # noqa: E402
from support.real_graphs import GRAPHS, real_graph  # noqa: E402
from support.tfprof_by_hand import CRASHES, WORKED, C, graph, run  # noqa: E402
from support.tfprof_engine import DEFAULTS, Engine  # noqa: E402
from tensorflow.core.framework.graph_pb2 import GraphDef  # noqa: E402
from tensorflow.core.protobuf.config_pb2 import RunMetadata  # noqa: E402

ROUNDS, CASES_A_ROUND = 20, 115

METRICS = {
    "micros": "exec_micros",
    "accelerator_micros": "accelerator_exec_micros",
    "cpu_micros": "cpu_exec_micros",
    "bytes": "requested_bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "params": "parameters",
    "float_ops": "float_ops",
}


@pytest.fixture(scope="module")
def engine():
    with Engine() as running:
        yield running


def load(case):
    return nbprof.load_tfprof(case.graph, case.runs, case.op_log)


def view(case, profile=None, **more):
    return (profile or load(case)).view(case.view, **{**DEFAULTS, **case.options, **more})


def report(shown):
    return shown.text.partition("Profile:\n")[2]


def is_fair(case):
    """Return whether nbprof accepts a case and no number is negative; tfprof wraps those around."""
    patterns = {one for name, value in case.options.items() if "regexes" in name for one in value}
    if patterns & set(cases.INVALID_REGEXES) or case.options.get("order_by") == "":
        return False
    if case.options.get("step", -1) < -1:
        return False
    runs = (RunMetadata.FromString(run) for _, run in case.runs)
    return all(min(_numbers(run), default=0) >= 0 for run in runs)


def _numbers(run):
    for device in run.step_stats.dev_stats:
        for record in device.node_stats:
            yield from (record.all_start_micros, record.op_end_rel_micros)
            for held in record.memory:
                yield from (held.total_bytes, held.peak_bytes, held.live_bytes)
            stats = record.memory_stats
            yield from (stats.temp_memory_size, stats.persistent_memory_size)


def agree(case, answer):
    """Compare text and numbers; if tfprof gives no report, nbprof must say why."""
    if answer.text is None:
        with pytest.raises(nbprof.NbprofError):
            view(case)
        return
    profile = load(case)
    assert report(view(case, profile)) == answer.text, cases.repro(case)
    frame = view(case, profile, select=[*METRICS, "occurrence"]).frame
    if case.view == "op":
        frame = frame[frame["name"] != "_TFProfRoot"]
    rows = [message for depth, message in answer.rows if depth or case.view != "op"]
    assert len(rows) == len(frame), cases.repro(case)
    for row, message in zip(frame.to_dict("records"), rows, strict=True):
        compare(case, row, message)


def compare(case, row, message):
    assert row["name"] == message.name
    for ours, theirs in METRICS.items():
        if not math.isnan(row[ours]):  # tfprof prints NaN as `--`
            assert row[ours] == getattr(message, theirs), (ours, cases.repro(case))
        if case.view != "op":
            total = getattr(message, f"total_{theirs}")
            assert row[f"total_{ours}"] == total, (ours, cases.repro(case))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_random_cases_give_the_engines_text_and_numbers(engine, round_):
    seeds = range(round_ * CASES_A_ROUND, (round_ + 1) * CASES_A_ROUND)
    fair = [case for case in map(cases.case, seeds) if is_fair(case)]

    assert len(fair) >= 100  # two thousand in all
    for case, answer in zip(fair, engine.ask_all(fair), strict=True):
        agree(case, answer)


@pytest.mark.parametrize("name", WORKED)
def test_the_worked_examples_come_out_byte_for_byte(engine, name):
    agree(WORKED[name], engine.ask(WORKED[name]))


def test_shares_halfway_between_printed_digits_are_rounded_as_in_the_engine(engine):
    nodes = ("a A", "b B", "c C")
    times = [(C, name, 1, micros) for name, micros in zip("abc", (15, 27, 54), strict=True)]
    case = cases.Case(graph(*nodes), [(0, run(*times))], None, "op", {"select": ["micros"]})

    answer = engine.ask(case)

    assert " 15.62%)" in answer.text
    agree(case, answer)


EVERYTHING = {"select": list(cases.COLUMNS), "max_depth": 10000}


@pytest.mark.parametrize("which", cases.VIEWS)
@pytest.mark.parametrize("name", GRAPHS)
def test_real_graphs_give_the_engines_text_and_numbers(engine, name, which):
    graph, runs, op_log = real_graph(name)
    for order in ("name", "micros", "bytes", "params"):
        options = {**EVERYTHING, "order_by": order}
        case = cases.Case(graph, runs, op_log, which, options)
        agree(case, engine.ask(case))


DATA = TEST_DATA / "tfprof"


def gpu_run(which, order="micros"):
    """Return the inputs of a real run on a GPU; the graph is text."""
    graph = text_format.Parse((DATA / "graph.pbtxt").read_text(encoding="utf-8"), GraphDef())
    run, log = ((DATA / name).read_bytes() for name in ("run_meta", "tfprof_log"))
    options = {**EVERYTHING, "order_by": order}
    return cases.Case(graph.SerializeToString(), [(0, run)], log, which, options)


@pytest.mark.parametrize("which", cases.VIEWS)
def test_a_real_run_on_a_gpu_gives_the_engines_text_and_numbers(engine, which):
    for order in ("name", "micros", "accelerator_micros", "bytes"):
        case = gpu_run(which, order)
        agree(case, engine.ask(case))


@pytest.mark.parametrize("which", ["op", "scope", "graph"])
def test_a_saved_and_loaded_run_prints_the_same(engine, which, tmp_path):
    paths = [DATA / "graph.pbtxt", [DATA / "run_meta"], DATA / "tfprof_log"]
    nbprof.load_tfprof(*paths).save(tmp_path / "gpu.nbprof")

    loaded = nbprof.load(tmp_path / "gpu.nbprof").view(which, **{**DEFAULTS, **EVERYTHING})

    assert report(loaded) == engine.ask(gpu_run(which, "name")).text


@pytest.mark.parametrize("sentence", CRASHES)
def test_inputs_that_crash_tfprof_give_a_view_or_a_sentence(sentence):
    case = CRASHES[sentence]
    if case.view == "advise":
        load(case).advise()
        return
    try:
        text = view(case).text
    except nbprof.NbprofError as error:
        text = str(error)
    assert len(text) > 20
