"""Profiles as tfprof saves them: recognized by content, read, and written from any profile."""

import numpy as np
import pytest
from support import by_hand
from support.by_hand import node, variable

import nbprof
from nbprof.errors import NbprofError
from nbprof.export.saved_profile.exec_columns import _whole_micros
from nbprof.ingest.tfprof.saved_signature import looks_like_saved_profile

MODEL = by_hand.profile(
    node("a/mm", "MatMul", micros=10.6, size=64, flops=8, stack=(("train.py", 9, "<module>"),)),
    node("a/mm", "MatMul", micros=3.2, size=32, flops=8, step=1),
    node("b", "Relu", micros=7, accelerator_micros=5, device="/device:GPU:0"),
    variables=(variable("w", "2x3"),),
    steps=2,
)


def saved(profile, tmp_path):
    path = tmp_path / "x.tfprof"
    profile.export(path)
    return path


def rows(view, *columns):
    return {row["name"]: tuple(row[name] for name in columns) for _, row in view.frame.iterrows()}


def test_a_cell_comes_back_with_its_time_in_whole_micros(tmp_path):
    loaded = nbprof.load(saved(MODEL, tmp_path))

    times = rows(loaded.op(select=["micros"], step=0), "micros", "accelerator_micros")
    assert times["MatMul"] == (11, 0)
    assert times["Relu"] == (7, 5)


def test_memory_flops_parameters_and_runs_come_back(tmp_path):
    loaded = nbprof.load(saved(MODEL, tmp_path))

    view = loaded.op(select=["bytes", "float_ops", "params", "occurrence"], step=0)
    found = rows(view, "bytes", "float_ops", "params", "run_count")
    assert found["MatMul"] == (64, 8, 0, 1)
    assert found["VarHandleOp"] == (0, 0, 6, 0)


def test_lines_of_python_come_back(tmp_path):
    loaded = nbprof.load(saved(MODEL, tmp_path))

    assert "train.py:9:<module>" in loaded.code(select=["micros"]).text


def test_steps_come_back(tmp_path):
    loaded = nbprof.load(saved(MODEL, tmp_path))

    assert loaded.steps["step"].tolist() == [0, 1]
    assert rows(loaded.op(select=["micros"], step=1), "micros")["MatMul"] == (3,)


def test_writing_and_reading_gives_the_same_tables(tmp_path):
    once = nbprof.load(saved(MODEL, tmp_path))
    twice = nbprof.load(saved(once, tmp_path))

    for table in ("nodes", "events", "frames", "steps"):
        assert getattr(once, table).equals(getattr(twice, table)), table


def test_nodes_of_the_same_name_get_different_names(tmp_path):
    profile = by_hand.profile(node("a", "MatMul"), node("a", "Relu"), node("a_1", "Add"))

    loaded = nbprof.load(saved(profile, tmp_path))

    assert loaded.nodes["name"].tolist() == ["a", "a_2", "a_1"]


def test_the_sum_of_many_short_times_survives_rounding():
    group = np.repeat([0, 1], 1000)

    whole = _whole_micros(group, np.full(2000, 300))

    assert whole[:1000].sum() == whole[1000:].sum() == 300


def test_an_empty_profile_can_be_written(tmp_path):
    assert saved(by_hand.profile(), tmp_path).exists()


def outcome(path, content):
    path.write_bytes(content)
    try:
        loaded = nbprof.load(path)
        for view in ("op", "scope", "graph", "code"):
            loaded.view(view, select=["micros", "bytes", "params", "input_shapes"])
    except NbprofError:
        return "refused"
    return "read"


def test_a_truncated_file_is_read_or_refused_in_a_sentence(tmp_path):
    path = saved(MODEL, tmp_path)
    content = path.read_bytes()

    outcomes = {outcome(path, content[:end]) for end in range(len(content))}

    assert outcomes == {"read", "refused"}


def test_a_file_with_a_changed_byte_is_read_or_refused_in_a_sentence(tmp_path):
    path = saved(MODEL, tmp_path)
    content = path.read_bytes()
    draw = np.random.default_rng(1)

    outcomes = set()
    for _ in range(300):
        changed = bytearray(content)
        changed[draw.integers(len(changed))] = draw.integers(256)
        outcomes.add(outcome(path, changed))

    assert outcomes == {"read", "refused"}


def xspace(name):
    plane = b"\x08\x01\x12" + bytes([len(name)]) + name
    return b"\x0a" + bytes([len(plane)]) + plane


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"PK\x03\x04",
        b"\x0a\x03\x0a\x01a",  # a GraphDef or an OpLogProto
        xspace(b"/host:CPU"),
        xspace(b"/device:GPU:0"),
        xspace(b"J"),
        xspace(b"Task Environment"),
        xspace(b"b"),
        xspace(b""),
        b"node { name: 'a' }",
        b"\xff" * 40,
    ],
)
def test_other_files_are_not_mistaken_for_saved_profiles(head):
    assert not looks_like_saved_profile(head)


def test_a_saved_profile_is_recognized_by_its_first_bytes(tmp_path):
    content = saved(MODEL, tmp_path).read_bytes()

    assert looks_like_saved_profile(content)
    assert looks_like_saved_profile(content[:40])
