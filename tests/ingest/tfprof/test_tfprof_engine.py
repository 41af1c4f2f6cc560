"""The tools that other tests use for tfprof: the C++ engine, random cases and real graphs."""

import dataclasses
import gzip
import json
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO

import pytest
from support.tfprof_engine import CHECKERS, DEFAULTS, Engine

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

from support import real_graphs  # noqa: E402
from support import tfprof_by_hand as by_hand  # noqa: E402
from support import tfprof_cases as cases  # noqa: E402

VIEWS = cases.VIEWS


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


# The engine


@pytest.mark.parametrize("name", by_hand.WORKED)
def test_the_worked_examples_come_out_byte_for_byte(name, engine, golden):
    golden.check(f"tfprof/{name}.txt", engine.ask(by_hand.WORKED[name]).text)


def test_adding_a_run_returns_the_share_of_nodes_seen(engine):
    assert engine.ask(by_hand.WORKED["w1"]).coverage == pytest.approx((4 / 6, 4 / 6))


def test_runs_added_to_the_same_step_are_summed(engine):
    twice = [(0, run) for _, run in by_hand.MODEL["runs"]]
    case = dataclasses.replace(
        by_hand.WORKED["w1"], runs=twice, options={"select": ["bytes", "micros", "occurrence"]}
    )

    row = next(line for line in engine.ask(case).text.splitlines() if "l/mm " in line)

    sums = "4.00KB/4.00KB, 2.29ms/2.29ms, 2.20ms/2.20ms, 85us/85us, 2/2|1/1"
    assert row == f"    l/mm ({sums})"


def test_the_message_has_the_numbers_of_the_report(engine):
    scope = engine.ask(by_hand.WORKED["w1"]).proto
    op = engine.ask(by_hand.WORKED["w7"]).proto

    assert (scope.total_exec_micros, scope.total_parameters) == (1257, 6)
    assert [child.name for child in scope.children] == ["_arg_x_0", "gradients", "l", "w", "x"]
    assert op.children[0].name == "MatMul"
    assert op.children[0].children[0].name == "VariableV2"


@pytest.mark.parametrize("name", by_hand.WORKED)
def test_the_message_has_the_rows_of_the_report(name, engine):
    answer = engine.ask(by_hand.WORKED[name])

    lines = answer.text.splitlines()[1:]
    shown = [line.split()[0] for line in lines if line and not line.startswith("input_type")]
    names = [message.name.split()[0] for _, message in answer.rows]
    assert names == (["_TFProfRoot", *shown] if answer.view == "op" else shown)


def test_a_list_of_ops_deeper_than_protobufs_limit_is_read(engine):
    many = by_hand.graph(*(f"n{number} Op{number:03}" for number in range(300)))

    answer = engine.ask(by_hand.Case(many, view="op", options={"max_depth": 1000}))

    assert [depth for depth, _ in answer.rows] == list(range(301))
    assert answer.rows[300][1].name == "Op299"


def test_the_graph_views_timeline_of_an_average_is_one_file_per_step(engine):
    case = by_hand.WORKED["w4"]
    average = {name: value for name, value in case.options.items() if name != "step"}

    files = engine.ask(dataclasses.replace(case, options=average), "timeline").timeline

    assert sorted(files) == [0, 1]
    assert all(json.loads(content)["traceEvents"] for content in files.values())


def test_the_pprof_file_is_the_gzipped_profile_of_the_code_view(engine):
    from tensorflow.core.profiler.profile_pb2 import Profile

    case = dataclasses.replace(by_hand.WORKED["w5"], options={"select": ["micros"]})

    profile = Profile.FromString(gzip.decompress(engine.ask(case, "pprof").pprof))

    assert sorted(sample.value[1] for sample in profile.sample) == [0, 2, 5, 107, 1142]


def test_advice_comes_from_every_checker_that_is_implemented(engine):
    case = dataclasses.replace(by_hand.WORKED["w1"], view="advise", options={})

    assert set(engine.ask(case).proto.checkers) == set(CHECKERS) - {"JobChecker"}


def test_a_saved_profile_shows_the_same_when_loaded(engine):
    case = by_hand.WORKED["w6"]

    saved = engine.save(case).saved

    assert engine.ask_saved(saved, case.view, case.options).text == engine.ask(case).text


def test_a_profile_with_an_input_from_an_unknown_node_cannot_be_saved(engine):
    case = by_hand.Case(by_hand.graph("a A nowhere"))

    assert engine.save(case).error == "IndexError: map::at"
    assert "a (0us/0us" in engine.ask(case).text


@pytest.mark.parametrize("view", VIEWS)
def test_one_run_shows_the_same_whether_added_or_given_at_once(view, engine):
    case = by_hand.Case(**{**by_hand.MODEL, "runs": by_hand.MODEL["runs"][:1]}, view=view)

    assert engine.ask(case, at_once=True).text == engine.ask(case).text


def test_absent_options_have_the_defaults_of_tfprofs_prompt(engine):
    printed = engine.ask(by_hand.Case(by_hand.graph("a A")), "stdout").stdout

    lines = [line[1:].partition(" ") for line in printed.splitlines() if line[:1] == "-"]
    assert {name: value.strip() for name, _, value in lines if name != "output"} == {
        name: ",".join(value) if isinstance(value, list) else str(value).lower()
        for name, value in DEFAULTS.items()
    }


# Crashes of the C++ engine


@pytest.mark.parametrize("reason", by_hand.CRASHES)
def test_a_crash_is_reported_and_the_next_question_answered(reason, engine):
    case = by_hand.CRASHES[reason]

    answer = engine.ask(case, case.output)

    assert answer.crashed in ("SIGSEGV", "SIGABRT") or answer.error == "IndexError: map::at"
    assert engine.ask(by_hand.WORKED["w2"]).text.startswith("node name | # parameters\n")


# The random cases


@pytest.fixture(scope="module")
def drawn():
    return [cases.case(seed) for seed in range(300)]


def test_random_cases_are_answered_without_a_crash(drawn, engine):
    answers = engine.ask_all(drawn)

    assert [a for a in answers if a.crashed or a.error] == []
    rows = [len(a.text.splitlines()) for a in answers if a.text is not None]
    assert len(rows) > 250
    assert sum(count > 4 for count in rows) > 100


def test_one_worker_answers_every_case_without_a_crash(drawn, engine):
    engine.ask(drawn[0])
    worker = engine._worker.pid

    engine.ask_all(drawn[:100])

    assert engine._worker.pid == worker


@pytest.mark.parametrize("output", ["timeline", "pprof"])
def test_random_cases_with_an_output_write_files(output, engine):
    answers = [engine.ask(cases.case(seed, output), output) for seed in range(100)]

    assert [a for a in answers if a.crashed or a.error] == []
    assert sum(bool(getattr(a, output)) for a in answers) > 60


def test_random_cases_of_advice_are_answered(engine):
    answers = [engine.ask(cases.case(seed, view="advise")) for seed in range(100)]

    assert [a for a in answers if a.crashed or a.error] == []
    reports = Counter(
        name for a in answers for name, c in a.proto.checkers.items() if any(c.reports)
    )
    assert set(reports) == set(CHECKERS) - {"JobChecker"}


def test_the_same_seed_gives_the_same_case(drawn):
    assert cases.case(7) == drawn[7]
    assert cases.case(8) != drawn[7]


def test_the_cases_cover_every_view_option_and_column(drawn):
    views = Counter(case.view for case in drawn)
    options = Counter(name for case in drawn for name in changed(case))
    orders = Counter(case.options.get("order_by") for case in drawn)
    columns = Counter(name for case in drawn for name in case.options.get("select", ()))

    assert min(views[view] for view in VIEWS) >= 50
    assert {name for name in DEFAULTS if options[name] < 3} == set()
    assert {name for name in cases.ORDERS if orders[name] < 5} == set()
    assert {name for name in cases.COLUMNS if columns[name] < 40} == set()


def changed(case):
    return [name for name, value in case.options.items() if value != DEFAULTS[name]]


def test_some_regex_lists_are_empty_some_have_several_and_some_match_everything(drawn):
    for option in cases.REGEXES:
        lists = [case.options[option] for case in drawn if option in case.options]

        assert {min(len(regexes), 2) for regexes in lists} == {0, 1, 2}
        assert any(".*" in regexes for regexes in lists)


def test_the_cases_cover_the_content_of_graphs(drawn):
    graphs = [cases.GraphDef.FromString(case.graph) for case in drawn]
    seen = Counter(kind for graph in graphs for kind in set(kinds_of_graph(graph)))

    assert min(seen[kind] for kind in GRAPH_KINDS) >= 3, seen


GRAPH_KINDS = (
    *("op with the name of a folder", "control edge", "dangling input", "cycle", "output index"),
    *("gradient", "unknown rank", "scalar", "unknown dimension", "the same name twice", "no node"),
)


def kinds_of_graph(graph):
    names = [node.name for node in graph.node]
    if not names:
        yield "no node"
    if len(names) > len(set(names)):
        yield "the same name twice"
    if any(f"{name}/" in other for name in names for other in names if name):
        yield "op with the name of a folder"
    if any(map(cases.is_gradient, names)):
        yield "gradient"
    for node in graph.node:
        yield from kinds_of_inputs(node, names)
        yield from kinds_of_shapes(node)


def kinds_of_inputs(node, names):
    for text in node.input:
        source = text.lstrip("^").partition(":")[0]
        if text.startswith("^"):
            yield "control edge"
        if ":" in text:
            yield "output index"
        if source not in names:
            yield "dangling input"
        elif names.index(source) >= names.index(node.name):
            yield "cycle"


def kinds_of_shapes(node):
    shape = node.attr["shape"].shape if "shape" in node.attr else None
    if shape is not None and shape.unknown_rank:
        yield "unknown rank"
    elif shape is not None and not shape.dim:
        yield "scalar"
    elif shape is not None and any(dim.size < 0 for dim in shape.dim):
        yield "unknown dimension"


def test_the_cases_cover_the_content_of_runs(drawn):
    runs = [cases.RunMetadata.FromString(run) for case in drawn for _, run in case.runs]
    devices = Counter(stats.device for run in runs for stats in run.step_stats.dev_stats)
    records = [
        record for run in runs for stats in run.step_stats.dev_stats for record in stats.node_stats
    ]
    allocators = Counter(memory.allocator_name for r in records for memory in r.memory)

    assert set(devices) == set(cases.DEVICES)
    assert set(allocators) == set(cases.ALLOCATORS)
    assert set(cases.RUNTIME_ONLY) <= {record.node_name for record in records}
    assert any(record.all_start_micros == 0 for record in records)
    assert any(record.op_end_rel_micros == 0 for record in records)
    assert any(record.op_end_rel_micros < 0 for record in records)
    assert any(record.HasField("memory_stats") for record in records)
    assert any(record.output for record in records)


def test_the_cases_cover_the_numbers_of_steps(drawn):
    counts = Counter(len(case.runs) for case in drawn)
    steps = [[step for step, _ in case.runs] for case in drawn]
    chosen = [(case.options.get("step", -1), own) for case, own in zip(drawn, steps, strict=True)]

    assert min(counts[number] for number in range(4)) >= 10
    assert any(len(set(own)) < len(own) for own in steps)
    assert any(step >= 0 and step in own for step, own in chosen)
    assert any(step >= 0 and step not in own for step, own in chosen)


def test_the_cases_cover_the_content_of_logs(drawn):
    logs = [cases.OpLogProto.FromString(case.op_log) for case in drawn if case.op_log]
    entries = [entry for log in logs for entry in log.log_entries]
    traced = [entry for entry in entries if entry.code_def.traces]

    assert 20 < sum(not case.op_log for case in drawn) < 100
    assert any(entry.float_ops for entry in entries)
    assert {kind for entry in entries for kind in entry.types} == set(cases.TYPES)
    assert any(cases.is_gradient(entry.name) for entry in traced)
    assert any(len(entry.code_def.traces) > 2 for entry in traced)
    assert any(entry.HasField("code_def") and not entry.code_def.traces for entry in entries)


# Failing cases


def test_a_failing_case_shrinks_to_what_makes_it_fail(engine):
    def fails(case):
        return "Conv2D|_layer" in (engine.ask(case).text or "")

    big = next(case for case in map(cases.case, range(1000)) if fails(case))

    small = cases.shrink(big, fails)

    assert len(cases.GraphDef.FromString(small.graph).node) == 1
    assert len(cases.OpLogProto.FromString(small.op_log).log_entries) == 1
    assert small.runs == []
    assert small.options == {"select": ["op_types"]}


def test_only_a_failing_case_can_be_shrunk():
    with pytest.raises(ValueError, match="does not fail"):
        cases.shrink(cases.case(1), lambda case: False)


@pytest.mark.parametrize("seed", range(5))
def test_the_printed_program_asks_about_the_same_case(seed, engine):
    case = cases.case(seed)
    printed = StringIO()
    found = {}

    with redirect_stdout(printed):
        exec(cases.repro(case), found)

    assert found["case"] == case
    assert printed.getvalue() == f"{engine.ask(case).text}\n"


# The real graphs


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", real_graphs.GRAPHS)
def test_real_graphs_have_time_memory_flops_and_parameters_in_every_view(name, view, engine):
    graph, runs, log = real_graphs.real_graph(name)
    options = {"max_depth": 100, "select": list(cases.COLUMNS)}

    answer = engine.ask(cases.Case(graph, runs, log, view, options))

    assert (answer.crashed, answer.error) == (None, None)
    assert len(answer.text.splitlines()) > 15
    _, root = answer.rows[0]
    for metric in ("cpu_exec_micros", "requested_bytes", "output_bytes", "float_ops", "parameters"):
        assert getattr(root, f"total_{metric}") > 0, metric


def test_each_real_graph_has_the_feature_it_was_chosen_for():
    ops = {
        name: Counter(
            node.op for node in cases.GraphDef.FromString(real_graphs.real_graph(name)[0]).node
        )
        for name in real_graphs.GRAPHS
    }

    assert ops["cnn"]["ApplyAdam"] == 8
    assert ops["lstm"]["NextIteration"] >= 3
    assert ops["resource"]["ResourceApplyMomentum"] == 4
    assert ops["towers"]["VariableV2"] == 4
