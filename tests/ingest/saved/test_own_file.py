"""Saving and loading preserves a profile; a bad file raises one NbprofError."""

import ast
import dataclasses
import io
import json
import pickle
import random
import re
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import by_hand
from support.by_hand import node, variable
from support.paths import DATA, TOP

import nbprof
from nbprof import NbprofError, file_format
from nbprof._profile import TABLES, Profile
from nbprof.export.own_file import write_profile
from nbprof.ingest.saved import read_profile, stored_tables, table_schema
from nbprof.ingest.saved.table_schema import KINDS, POINTERS
from nbprof.recording import Recording

PAGE = TOP / "docs" / "own-file.md"
VERSION_1 = DATA / "own_file" / "version_1.nbprof"
"""A file written by an nbprof that knew only version 1; never regenerate it."""


def odd_profile():
    """Return a profile with two of everything and text that is hard to preserve."""
    profile = by_hand.profile(
        node("a/MatMul", "MatMul", 10, runs=3, size=64, shapes=("2x3", "\ud800"), layer="model/a"),
        node("b/\0Ünï 😀", "Relu", 7.5, accelerator_micros=2, step=1, layer="model/b"),
        node('c/"quoted"\\\n', "", stack=(("In [3]", 4, "<module>"),), flops=123, backward=True),
        variables=[variable("a/kernel", "3x4", layer="model/a")],
        notes=("memory was not recorded \udfff", ""),
        steps=2,
    )
    profile.events.loc[1, ["bytes", "peak_bytes"]] = np.nan
    return profile


def save_and_load(profile, path):
    profile.save(path)
    return nbprof.load(path)


def as_bytes(profile):
    file = io.BytesIO()
    write_profile(profile, file)
    return file.getvalue()


def assert_same(one, other):
    for field in dataclasses.fields(Profile):
        value, other_value = getattr(one, field.name), getattr(other, field.name)
        if field.name in TABLES:
            assert_same_table(value, other_value)
        else:
            assert value == other_value


def assert_same_table(one, other):
    pd.testing.assert_series_equal(one.dtypes, other.dtypes)
    objects = [name for name, dtype in one.dtypes.items() if dtype.name == "object"]
    for column in objects:  # pandas finds (nan,) unequal to (nan,), and 1 equal to True
        assert repr(list(one[column])) == repr(list(other[column]))
    rest = one.drop(columns=objects)
    pd.testing.assert_frame_equal(rest, other.drop(columns=objects), check_exact=True)


def with_table(table):
    """Return a profile with these columns in a table, in addition to the required one."""
    shapes = pd.Series([()] * len(table), dtype=object)
    return dataclasses.replace(by_hand.profile(), shapes=table.assign(shapes=shapes))


def rewrite(path, target, change=lambda manifest: None, members=None):
    """Copy a file with a changed manifest and replaced members; content None drops a member."""
    members = members or {}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = members.get(name, old.read(name))
            if name == file_format.MANIFEST and name not in members:
                manifest = json.loads(content)
                content = json.dumps(change(manifest) or manifest).encode()
            if content is not None:
                new.writestr(name, content)
    return target


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "odd.nbprof"
    odd_profile().save(path)
    return path


def refusal(path):
    """Load a file that must be refused; return the error's message."""
    with pytest.raises(NbprofError) as caught:
        nbprof.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert message.endswith(".")
    return message


@pytest.mark.core("files")
def test_a_loaded_profile_has_the_same_tables_types_recording_and_notes(tmp_path):
    profile = odd_profile()

    assert_same(profile, save_and_load(profile, tmp_path / "x.nbprof"))


@pytest.mark.core("files")
@pytest.mark.parametrize("view", ["op", "scope", "code", "layer"])
def test_a_loaded_profile_has_the_views_of_the_saved_one(tmp_path, view):
    profile = odd_profile()

    loaded = save_and_load(profile, tmp_path / "x.nbprof").view(view)
    original = profile.view(view)
    assert loaded.text == original.text
    pd.testing.assert_frame_equal(loaded.frame, original.frame)


def test_an_empty_profile_can_be_saved(tmp_path):
    profile = by_hand.profile()

    assert_same(profile, save_and_load(profile, tmp_path / "x.nbprof"))


def test_every_dataframe_of_a_profile_is_listed_as_a_table():
    profile = by_hand.profile()

    frames = {
        field.name
        for field in dataclasses.fields(profile)
        if isinstance(getattr(profile, field.name), pd.DataFrame)
    }
    assert frames == set(TABLES)


@pytest.mark.core("files")
def test_columns_of_any_type_are_preserved(tmp_path):
    objects = [None, float("nan"), ("a", ("b", None), 1.5), ["list", ()], True, 1, 1.0, "1", -0.0]
    table = pd.DataFrame(
        {
            **{name: np.arange(len(objects)).astype(name) for name in file_format.NUMBERS},
            "objects": pd.Series(objects, dtype=object),
            "text": pd.Series([*"abcabcab", None]),
            "../no/name\0": 1,
            "": [float("inf"), -float("inf"), *([float("nan")] * 7)],
            "big": np.array([-(2**63), 2**63 - 1, *range(7)]),
        }
    )
    profile = with_table(table)

    loaded = save_and_load(profile, tmp_path / "x.nbprof")

    assert_same(profile, loaded)
    assert [type(value) for value in loaded.shapes["objects"]] == [*map(type, objects)]


def test_a_loaded_profile_does_not_need_its_file(file):
    profile = nbprof.load(file)
    file.write_bytes(b"overwritten")
    file.unlink()

    assert_same(odd_profile(), profile)


def test_a_table_is_made_on_first_use_and_kept(file, monkeypatch):
    made = []
    make = stored_tables.StoredTable.make
    monkeypatch.setattr(stored_tables.StoredTable, "make", lambda it: made.append(it) or make(it))
    profile = nbprof.load(file)

    assert profile.nodes is profile.nodes
    assert len(made) == 1
    assert profile.with_values(nodes=profile.nodes[:1]).steps is profile.steps
    assert len(made) == 2


@pytest.mark.core("files")
def test_a_loaded_profile_can_be_pickled_and_its_tables_changed(file):
    profile = pickle.loads(pickle.dumps(nbprof.load(file)))

    assert_same(odd_profile(), profile)
    profile.events.loc[0, "self_ns"] = 7
    profile.events["bytes"] *= 2
    assert profile.events.loc[0, "self_ns"] == 7


NUMBERS = st.sampled_from(sorted(file_format.NUMBERS))
TEXTS = st.text(st.characters(exclude_categories=()), max_size=8).filter(
    lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text)
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
OBJECTS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 12))
    names = draw(st.lists(st.text(max_size=5), max_size=5, unique=True))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(["numbers", "text", "objects"]))
        if kind == "numbers":
            dtype = np.dtype(draw(NUMBERS))
            raw = draw(st.binary(min_size=rows * 8, max_size=rows * 8))
            column = np.frombuffer(raw, np.int8 if dtype.kind == "b" else dtype)[:rows]
            column = column > 0 if dtype.kind == "b" else column
        else:
            values = draw(
                st.lists(TEXTS if kind == "text" else OBJECTS, min_size=rows, max_size=rows)
            )
            column = pd.Series(values, dtype=object)
        columns[name] = column
    return pd.DataFrame(columns, index=pd.RangeIndex(rows))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(), notes=st.lists(TEXTS, max_size=3))
def test_any_table_is_preserved(tmp_path, table, notes):
    profile = dataclasses.replace(with_table(table), notes=tuple(notes))

    assert_same(profile, save_and_load(profile, tmp_path / "x.nbprof"))


def test_saving_a_profile_twice_writes_the_same_bytes():
    assert as_bytes(odd_profile()) == as_bytes(odd_profile())


def test_a_column_that_would_shrink_implausibly_can_still_be_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(file_format, "SMALL_TABLES", 0)
    monkeypatch.setattr(file_format, "SMALL_MANIFEST", 0)
    profile = with_table(pd.DataFrame({"zeros": np.zeros(300_000)}))
    notes = dataclasses.replace(by_hand.profile(), notes=("a" * 3_000_000,))

    assert_same(profile, save_and_load(profile, tmp_path / "zeros.nbprof"))
    assert_same(notes, save_and_load(notes, tmp_path / "notes.nbprof"))


def test_a_million_events_take_little_space_and_no_object_per_row(tmp_path):
    rows = np.arange(1_000_000)
    small = by_hand.profile(*(node(f"node_{number}") for number in range(300)))
    events = small.events.iloc[rows % 300].reset_index(drop=True).assign(start_ns=rows * 1_234)
    for name in ("bytes", "peak_bytes", "output_bytes"):
        events[name] = (rows % 300) * 512.0
    profile = dataclasses.replace(small, events=events)
    path = tmp_path / "big.nbprof"
    profile.save(path)

    tracemalloc.start()
    loaded = nbprof.load(path)
    objects = sum(stat.count for stat in tracemalloc.take_snapshot().statistics("filename"))
    tracemalloc.stop()

    assert_same(profile, loaded)
    assert objects < 50_000
    assert path.stat().st_size < 10_000_000


def test_saving_replaces_a_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "x.nbprof"
    path.write_bytes(b"older")

    odd_profile().save(path)

    assert [path.name for path in tmp_path.iterdir()] == ["x.nbprof"]
    assert_same(odd_profile(), nbprof.load(str(path)))


def test_an_interrupted_save_keeps_the_old_file(file, monkeypatch):
    before = file.read_bytes()
    profile = odd_profile()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("nbprof.export.own_file._pays", interrupt)
    with pytest.raises(KeyboardInterrupt):
        profile.save(file)

    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_an_unwritable_path_is_refused_with_its_name(tmp_path, file):
    for path in (tmp_path / "none" / "x.nbprof", file / "x.nbprof", tmp_path):
        with pytest.raises(NbprofError, match=re.escape(f"{path} cannot be written")):
            odd_profile().save(path)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pd.DataFrame({"a": [{}]}), r"profile.shapes\['a'\] cannot be saved: it has a dict"),
        (pd.DataFrame({"a": pd.to_datetime([0])}), "no columns of datetime64"),
        (pd.DataFrame({"a": [1]}, index=[7]), "its rows must be numbered from 0"),
        (pd.DataFrame({0: [1]}), "its columns need names"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "its columns need names"),
        (pd.DataFrame([[1]], columns=pd.Index(["\udfff"], dtype=object)), "its columns need names"),
    ],
)
def test_saving_refuses_what_the_file_cannot_hold(tmp_path, table, reason):
    with pytest.raises(NbprofError, match=reason):
        with_table(table).save(tmp_path / "x.nbprof")

    assert not list(tmp_path.iterdir())


def test_a_file_of_a_newer_version_is_refused_with_advice_to_update(file, tmp_path):
    for version in (file_format.VERSION + 1, 99):
        newer = rewrite(
            file, tmp_path / "newer", lambda it, to=version: it.update(version=to, tables="else")
        )

        error = refusal(newer)
        assert f"version {version} of the format and was written by a newer nbprof" in error
        assert "update nbprof" in error


@pytest.mark.core("files")
def test_a_file_of_version_1_can_be_read(golden):
    profile = nbprof.load(VERSION_1)

    views = [
        profile.view(name, select="bytes,micros,occurrence,params").text.partition("Profile:\n")[2]
        for name in ("op", "scope", "graph", "code", "layer")
    ]
    golden.check("own_file_version_1.txt", "\n".join(views).replace("\0", "␀"))
    assert profile.memory()["live_bytes"].tolist() == [0, 64, 96, 64]
    assert profile.live_at_peak()["op"].tolist()[0] == "a/MatMul"
    assert profile.summary()["micros"].tolist() == [2500.0]
    assert profile.notes == odd_profile().notes
    assert profile.recording == dataclasses.replace(odd_profile().recording, outside_ops_bytes=32.0)


def test_live_bytes_of_an_older_file_come_from_its_allocations():
    profile = nbprof.load(VERSION_1)

    known = profile.events["live_bytes"]
    assert known.tolist()[:1] + known.tolist()[2:] == [64, 0, 0, 0, 0]
    assert np.isnan(known[1])  # its bytes are unknown, too
    assert profile.op().frame.set_index("name").loc["outside ops", "live_bytes"] == 32
    assert profile.scope().frame["total_live_bytes"][0] == 96


def test_live_bytes_of_files_from_tfprofs_inputs_stay_unknown(tmp_path):
    profile = odd_profile()
    count = len(profile.nodes)
    older = profile.with_values(
        events=profile.events.drop(columns="live_bytes"),
        logged=pd.DataFrame({"types": [()] * count, "float_ops": 0.0, "has_stack": False}),
        recording=dataclasses.replace(profile.recording, tfprof=True),
    )

    assert save_and_load(older, tmp_path / "x.nbprof").events["live_bytes"].isna().all()


@pytest.mark.core("files")
def test_a_file_of_version_1_survives_being_saved_again(tmp_path):
    profile = nbprof.load(VERSION_1)

    assert_same(profile, save_and_load(profile, tmp_path / "again.nbprof"))


def test_an_older_version_is_upgraded_step_by_step(file, monkeypatch):
    def add_a_note(contents):
        notes = {"notes": (*contents.fields["notes"], "upgraded")}
        return dataclasses.replace(contents, fields=contents.fields | notes)

    monkeypatch.setattr(read_profile, "VERSION", 4)
    monkeypatch.setattr(read_profile, "UPGRADES", {2: add_a_note, 3: add_a_note})

    assert nbprof.load(file).notes[-2:] == ("upgraded", "upgraded")


def test_every_older_version_has_an_upgrade():
    assert set(read_profile.UPGRADES) == set(range(1, file_format.VERSION))


def test_additions_of_a_later_nbprof_are_ignored(file, tmp_path):
    def add(manifest):
        manifest["later"] = {}
        manifest["tables"]["later"] = "?"
        manifest["fields"]["later"] = [1]
        manifest["recording"]["later"] = 1
        manifest["tables"]["nodes"]["columns"][0]["later"] = 1

    more = rewrite(file, tmp_path / "more", add)
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("../../later.py", "raise SystemExit")

    assert_same(odd_profile(), nbprof.load(more))


def test_fields_with_a_default_may_be_missing(file, tmp_path):
    def remove(manifest):
        del manifest["fields"]["notes"], manifest["recording"]["traced_ns"]

    loaded = nbprof.load(rewrite(file, tmp_path / "less", remove))

    assert loaded.notes == ()
    assert loaded.recording.traced_ns == 0


def nodes(manifest):
    return manifest["tables"]["nodes"]


def column(manifest, number=0):
    return nodes(manifest)["columns"][number]


HOSTILE = {
    "no table": (lambda it: it["tables"].pop("nodes"), "lacks the table 'nodes'"),
    "no tables": (lambda it: it.pop("tables"), "an object under 'tables'"),
    "no recording": (lambda it: it["recording"].pop("what"), "lacks the entry 'what'"),
    "text as a time": (lambda it: it["recording"].update(wall_ns="1"), "'wall_ns'"),
    "notes of numbers": (lambda it: it["fields"].update(notes=[1]), "'notes'"),
    "notes that are text": (lambda it: it["fields"].update(notes="a"), "'notes'"),
    "another format": (lambda it: it.update(format="else"), "nbprof.json should begin"),
    "no object": (lambda it: [1], "nbprof.json should begin"),
    "version 0": (lambda it: it.update(version=0), "start at 1"),
    "a version in words": (lambda it: it.update(version="1"), "a whole number under 'version'"),
    "version true": (lambda it: it.update(version=True), "a whole number under 'version'"),
    "too many rows": (lambda it: nodes(it).update(rows=2**39), "too many for a file"),
    "far too many rows": (lambda it: nodes(it).update(rows=10**4000), "rows"),
    "one row more": (lambda it: nodes(it).update(rows=nodes(it)["rows"] + 1), "nodes/name.npy"),
    "negative rows": (lambda it: nodes(it).update(rows=-1), "rows"),
    "columns in an object": (lambda it: nodes(it).update(columns={}), "'columns'"),
    "a column in a text": (lambda it: nodes(it).update(columns=["name"]), "column 0"),
    "a member elsewhere": (lambda it: column(it).update(member="/etc/passwd"), "missing"),
    "a member of another table": (
        lambda it: column(it).update(member="events/bytes.npy"),
        "events/bytes.npy should have",
    ),
    "a name twice": (lambda it: column(it, 1).update(name="name"), "distinct, valid names"),
    "half a character": (lambda it: column(it, 1).update(name="\ud800"), "distinct, valid names"),
    "pickled objects": (lambda it: column(it).update(stored="object"), "stored as 'object'"),
    "negative codes": (lambda it: column(it).update(stored="int8"), "stored as 'int8'"),
    "numbers from text": (lambda it: column(it, 4).update(dtype="str"), "under 'values'"),
    "floats as whole numbers": (lambda it: column(it, 4).update(dtype="int64"), "stored as"),
    "a narrower type": (lambda it: column(it, 4).update(dtype="float32"), "stored as"),
    "codes without a value": (lambda it: column(it).update(values=["a"]), "beyond its 1 values"),
    "a tuple as text": (lambda it: column(it).update(dtype="str", values=[[]] * 9), "text only"),
    "an unknown value": (lambda it: column(it).update(values=[{"py": "x"}] * 9), "unknown kind"),
    "an unknown float": (lambda it: column(it).update(values=[{"float": []}] * 9), "unknown kind"),
}


@pytest.mark.parametrize(("change", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_an_invalid_manifest_is_refused_with_the_reason(file, tmp_path, change, reason):
    def change_manifest(manifest):
        result = change(manifest)
        return result if isinstance(result, list) else None

    assert reason in refusal(rewrite(file, tmp_path / "hostile", change_manifest))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("nbprof.json", b"", "nbprof.json is not JSON"),
        ("nbprof.json", b"[" * 100_000, "nbprof.json is not JSON"),
        ("nbprof.json", b"\xff\xfe\x00", "nbprof.json is not JSON"),
        ("nbprof.json", b" " * 50_000_000, "too many for a file of this size"),
        ("nbprof.json", None, "'nbprof.json' is missing"),
        ("events/node.npy", None, "'events/node.npy' is missing"),
        ("events/node.npy", b"", "events/node.npy should have"),
        ("events/node.npy", b" " * 50_000_000, "events/node.npy should have"),
    ],
)
def test_a_wrong_member_is_refused_with_its_name(file, tmp_path, name, content, reason):
    assert reason in refusal(rewrite(file, tmp_path / "hostile", members={name: content}))


OTHER_COLUMNS = {
    "int64": lambda rows: np.arange(rows),
    "NaN": lambda rows: np.full(rows, np.nan),
    "bool": lambda rows: np.arange(rows) % 2 == 0,
    "text": lambda rows: pd.Series(["some"] * rows),
    "None": lambda rows: pd.Series([None] * rows, dtype=object),
    "tuples": lambda rows: pd.Series([("some", "texts")] * rows, dtype=object),
    "tuples of numbers": lambda rows: pd.Series([(1, 2)] * rows, dtype=object),
}


SAMPLE_VALUES = {
    **{table_schema.WHOLE: 0, table_schema.NUMBERS: 1.0, table_schema.TRUTH: True},
    **{table_schema.TEXT: "a", table_schema.TEXTS: ("a",)},
}


def full_profile():
    """Return a profile with a row in every table that views read or that refers to another."""
    tables = (
        *("inputs", "allocations", "values", "allocator", "traces", "functions", "calls"),
        *("sites", "spans", "counts", "threads_of_python", "dispatches"),
    )
    rows = {
        table: {name: -1 if to.earlier else 0 for name, to in POINTERS.get(table, {}).items()}
        | {name: SAMPLE_VALUES[kind] for name, kind in KINDS[table].items()}
        for table in tables
    }
    return dataclasses.replace(
        odd_profile(), **{table: pd.DataFrame([row]) for table, row in rows.items()}
    )


@pytest.mark.parametrize("kind", OTHER_COLUMNS)
def test_a_column_of_another_type_is_refused_or_harmless(tmp_path, kind):
    path, profile = tmp_path / "x.nbprof", full_profile()
    refused = 0
    for table in TABLES:
        frame = getattr(profile, table)
        for column in frame.columns if len(frame) else ():
            other = frame.assign(**{column: OTHER_COLUMNS[kind](len(frame))})
            dataclasses.replace(profile, **{table: other}).save(path)
            try:
                loaded = nbprof.load(path)
            except NbprofError as error:
                refused += f"{table}.{column} should hold " in str(error)
                continue
            loaded.summary(), loaded.live_at_peak()
            for view in ("op", "layer") if table in ("nodes", "events", "layers") else ("code",):
                assert loaded.view(view, select="bytes,micros,device").text
    assert refused > 20


SOURCES = ["traces/small.xplane.pb", "tfprof/profile", VERSION_1]


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_a_missing_column_is_refused_with_its_name_or_harmless(tmp_path, path):
    file = tmp_path / "x.nbprof"
    whole = nbprof.load(DATA / path)
    errors = {}
    for table in TABLES:
        for column in getattr(whole, table):
            less = {table: getattr(whole, table).drop(columns=column)}
            dataclasses.replace(whole, **less).save(file)
            try:
                loaded = nbprof.load(file)
            except NbprofError as error:
                errors[f"{table}.{column}"] = str(error)
                continue
            loaded.summary(), loaded.live_at_peak(), loaded.advise(), loaded.hosts()
            for view in ("op", "scope", "graph", "layer", *(["code"] if whole.has_stacks else [])):
                assert loaded.view(view, select="bytes,micros,params,op_types").text
    assert len(errors) > 60
    assert errors.pop("steps.step")  # events refer to it
    for column, error in errors.items():
        assert error == f"{file} cannot be read as nbprof's own file: it lacks {column}."


def test_a_metric_newer_than_the_file_is_not_recorded(tmp_path):
    profile = odd_profile()
    older = dataclasses.replace(profile, events=profile.events.drop(columns="residual_bytes"))

    loaded = save_and_load(older, tmp_path / "older.nbprof")

    assert loaded.events["residual_bytes"].isna().all()
    assert loaded.op(select="residual_bytes").frame["residual_bytes"].isna().all()


@pytest.mark.parametrize("rows", [0, 1])
def test_an_op_log_of_too_few_nodes_is_refused(tmp_path, rows):
    whole = nbprof.load(DATA / "tfprof" / "profile")
    dataclasses.replace(whole, logged=whole.logged.head(rows)).save(tmp_path / "x.nbprof")

    assert f"each of {len(whole.nodes)} nodes but has {rows}." in refusal(tmp_path / "x.nbprof")


def test_a_missing_op_log_is_refused(tmp_path):
    file = tmp_path / "x.nbprof"
    nbprof.load(DATA / "tfprof" / "profile").save(file)

    def drop_log(manifest):
        del manifest["tables"]["logged"]

    assert "nodes but has 0." in refusal(rewrite(file, tmp_path / "y.nbprof", drop_log))


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_the_schema_has_every_column(path):
    profile = nbprof.load(DATA / path)

    for table in TABLES:
        assert set(getattr(profile, table)) <= {*KINDS[table], *POINTERS.get(table, ())}


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in POINTERS for column in POINTERS[table]]
)
def test_a_number_that_refers_to_no_row_is_refused(tmp_path, table, column):
    profile, pointer = full_profile(), POINTERS[table][column]
    path = tmp_path / "x.nbprof"
    assert_same(profile, save_and_load(profile, path))
    wrong = [10**6, 2**31 - 1, -2, *([] if pointer.optional else [-1])]
    wrong += [0] if pointer.earlier else []  # row 0 would contain itself

    for number in wrong:
        getattr(profile, table).loc[0, column] = number
        profile.save(path)
        assert f"{table}.{column} should hold" in refusal(path)
    changed = getattr(profile, table).astype({column: float})
    dataclasses.replace(profile, **{table: changed}).save(path)
    assert f"{table}.{column} should hold whole numbers" in refusal(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dataclasses.replace(
            odd_profile(),
            inputs=pd.DataFrame({"node": [0, 2], "position": 0, "source": [2, 1], "shape": ""}),
        ),
        lambda: nbprof.load(VERSION_1),
        lambda: nbprof.load(DATA / "traces" / "small.xplane.pb"),
    ],
    ids=["odd", "version 1", "trace"],
)
def test_all_views_work_if_one_node_has_every_run(tmp_path, make):
    profile = make()
    profile.events["node"] = 0

    loaded = save_and_load(profile, tmp_path / "x.nbprof")

    micros, params = profile.events["self_ns"].sum() / 1e3, profile.nodes["params"]
    for select in ("micros", "micros,params"):
        for view in ("scope", "graph", "layer", *(["code"] if profile.has_stacks else [])):
            assert loaded.view(view, select=select).frame["total_micros"][0] == micros
        assert loaded.op(select=select).frame["micros"].sum() == micros
    of_layers = loaded.layer(select="params").frame["total_params"][0]
    np.testing.assert_equal(of_layers, params.sum(min_count=1))


def test_a_member_with_another_header_or_invalid_booleans_is_refused(file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        content = archive.read("events/is_run.npy")
    other_header = {"events/is_run.npy": content.replace(b"|b1", b"|O1")}
    ends_with_two = {"events/is_run.npy": content[:-1] + b"\2"}

    assert "should be a .npy file" in refusal(rewrite(file, tmp_path / "a", members=other_header))
    assert "0 or 1" in refusal(rewrite(file, tmp_path / "b", members=ends_with_two))


def test_a_deeply_nested_value_is_refused(file, tmp_path):
    deep = '{"format": "nbprof", "version": 1, "tables": {}, "recording": {}, "fields": {"notes": '
    content = f"{deep}{'[' * 900}{']' * 900}}}}}".encode()

    assert "nbprof.json" in refusal(
        rewrite(file, tmp_path / "deep", members={"nbprof.json": content})
    )


def test_other_compression_methods_are_refused(file, tmp_path):
    path = tmp_path / "lzma"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))

    assert "stored or deflated" in refusal(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"PK\x03\x04", "directory"),
        (b"\x80\x04\x95pickle", "nbprof.load reads nbprof's own files"),
        (b"name,micros\nMatMul,3\n", "nbprof.load reads nbprof's own files"),
        (b"PK\x05\x06" + bytes(18), "nbprof.load reads nbprof's own files"),
    ],
)
def test_a_foreign_file_is_refused_with_the_readable_formats(tmp_path, content, reason):
    path = tmp_path / "x.nbprof"
    path.write_bytes(content)

    assert reason in refusal(path)


def test_a_foreign_zip_a_folder_and_a_missing_file_are_refused(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")

    assert "'nbprof.json' is missing" in refusal(path)
    assert "there is no trace (*.xplane.pb)" in refusal(tmp_path)
    assert "No such file" in refusal(tmp_path / "none")


def test_a_file_of_any_name_can_be_loaded_also_from_a_list(file):
    renamed = file.rename(file.with_name("profile.txt"))

    assert_same(odd_profile(), nbprof.load([renamed]))
    another = renamed.with_name("another")
    another.write_bytes(renamed.read_bytes())
    with pytest.raises(NbprofError, match="only traces can be loaded together"):
        nbprof.load([renamed, another])
    with pytest.raises(NbprofError, match="unknown engine 'other'"):
        nbprof.load(renamed, engine="other")


def load_or_refuse(path, content):
    """Load a file and all its tables; return the profile, or the message of the error."""
    path.write_bytes(content)
    try:
        profile = nbprof.load(path)
    except NbprofError as error:
        return str(error)
    for name in TABLES:  # once loaded, no table may fail
        assert isinstance(getattr(profile, name), pd.DataFrame)
    return profile


def test_a_truncated_file_is_refused_wherever_it_ends(file):
    content = file.read_bytes()
    ends = sorted({*range(0, len(content), 7), *range(len(content) - 200, len(content))})

    refusals = [load_or_refuse(file, content[:end]) for end in ends]

    assert len(ends) > 1000
    assert all(str(file) in refusal for refusal in refusals)


def test_a_damaged_file_is_loaded_intact_or_refused(file):
    content = file.read_bytes()
    chance = random.Random(4)
    directory = content.index(b"PK\x01\x02")
    profile = odd_profile()

    for number in range(800):
        damaged = bytearray(content)
        start = directory if number % 2 else 0  # half of the damage hits the directory
        for _ in range(chance.choice((1, 1, 2, 10))):
            place = chance.randrange(start, len(damaged))
            damaged[place] = chance.choice((damaged[place] ^ 1 << chance.randrange(8), 0, 255))
        result = load_or_refuse(file, bytes(damaged))
        if isinstance(result, str):
            assert str(file) in result
        else:
            assert_same(profile, result)


def test_a_damaged_manifest_is_loaded_or_refused(file, tmp_path):
    with zipfile.ZipFile(file) as archive:
        text = archive.read("nbprof.json")
    chance = random.Random(5)
    words = [b"null", b"-1", b"[]", b"{}", b'"x"', b"1e999", b"true", b"99999999999999999999"]

    whole = re.findall(rb'"(?:[^"\\]|\\.)*"|[\w.+-]+|[^\w\s]', text)
    for _ in range(500):
        tokens = list(whole)
        tokens[chance.randrange(len(tokens))] = chance.choice([*words, chance.choice(tokens)])
        members = {"nbprof.json": b"".join(tokens)}
        path = rewrite(file, tmp_path / "changed", members=members)
        assert isinstance(load_or_refuse(path, path.read_bytes()), str | Profile)


def test_the_snippet_on_the_docs_page_reads_any_table_without_nbprof(tmp_path):
    profile = by_hand.profile(
        node("a/MatMul", "MatMul", 10, runs=3, size=64, shapes=("2x3", "3x4"), layer="model/a"),
        node("b/Ünï", "Relu", 7.5, accelerator_micros=2, stack=(("In [3]", 4, "<module>"),)),
    )
    profile.save(tmp_path / "fit.nbprof")
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    statements = ast.parse(snippet).body
    assert [isinstance(each, ast.Import) for each in statements] == [True, *[False] * 3]
    program = "\n".join(
        snippet.replace('"nodes"', f'"{name}"') + f"nodes.to_json('{name}.json')" for name in TABLES
    )
    check = "\nimport sys; assert 'nbprof' not in sys.modules"

    subprocess.run([sys.executable, "-c", program + check], cwd=tmp_path, check=True)

    for name in TABLES:
        read = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        assert read == json.loads(getattr(profile, name).to_json())


def test_the_docs_page_describes_this_version():
    page = PAGE.read_text(encoding="utf-8")

    assert f"## The format, version {file_format.VERSION}\n" in page
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    with zipfile.ZipFile(io.BytesIO(as_bytes(odd_profile()))) as archive:
        written = json.loads(archive.read("nbprof.json"))
        assert archive.namelist()[0] == "nbprof.json"
    described = json.loads(example)
    assert list(described) == list(written)
    assert set(described["recording"]) - {"…"} <= {
        field.name for field in dataclasses.fields(Recording)
    }
    assert set(column(described)) == set(column(written))


def test_headers_are_those_that_numpy_writes():
    for name, descr in file_format.NUMBERS.items():
        file = io.BytesIO()
        np.save(file, np.zeros(1234, dtype=descr))
        assert file.getvalue()[:128] == file_format.npy_header(name, 1234)


def test_categories_of_the_wall_time_that_were_renamed_have_their_new_names(tmp_path):
    former = ["Python", "tf.function tracing", "dispatch", "not traced"]
    spent = pd.DataFrame({"category": former, "ns": [4, 3, 2, 1]})
    dataclasses.replace(by_hand.profile(), spent=spent).save(tmp_path / "old.nbprof")

    loaded = nbprof.load(tmp_path / "old.nbprof")

    assert loaded.summary()["category"].tolist() == [
        *("Python", "building graphs", "eager dispatch", "not watched"),
    ]
