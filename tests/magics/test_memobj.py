"""`%memobj` and `%%memobj`: what names hold, and what a cell left behind."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.front_ends import Shell, shell_with_nbprof
from support.memory_spikes import MIB

from nbprof.memory.buffers import Buffers
from nbprof.memory.namespace import Kind, Name, ObjectMemory, difference, look
from nbprof.memory.object_sizes import Sizer

pytestmark = pytest.mark.notebook


def sizes(**names):
    return {each.name: each.bytes for each in look(names).names}


def reached(**names):
    return {each.name: each.reached for each in look(names).names}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12))
def test_stretches_of_memory_count_once_however_they_overlap(stretches):
    buffers = Buffers()

    counted = sum(buffers.add(start, size) for start, size in stretches)

    assert counted == len({at for start, size in stretches for at in range(start, start + size)})


def test_an_array_counts_with_its_data_and_its_view_with_nothing():
    array = np.ones(10 * 2**17)

    found = sizes(view=array[::2], array=array)

    assert found["array"] == pytest.approx(10 * MIB, rel=0.01)
    assert found["view"] < 1000
    assert reached(view=array[::2], array=array)["view"] == pytest.approx(10 * MIB, rel=0.01)


def test_a_view_whose_array_has_no_name_counts_with_all_it_keeps_alive():
    assert sizes(view=np.ones(10 * 2**17)[:5])["view"] == pytest.approx(10 * MIB, rel=0.01)


def test_a_list_of_arrays_that_share_their_data_counts_it_once():
    array = np.ones(4 * 2**17)

    assert sizes(many=[array[n:] for n in range(50)])["many"] == pytest.approx(4 * MIB, rel=0.01)


def test_a_frame_counts_with_its_texts():
    frame = pd.DataFrame({"n": np.arange(50_000), "s": [f"text {n}" for n in range(50_000)]})

    found = sizes(frame=frame, column=frame["n"])

    assert found["frame"] + found["column"] == pytest.approx(
        frame.memory_usage(deep=True).sum(), rel=0.01
    )
    assert sizes(column=frame["s"])["column"] == pytest.approx(
        frame["s"].memory_usage(deep=True), rel=0.01
    )


def test_texts_that_frames_share_count_once_and_so_do_repeated_ones():
    texts = [f"some text {n}" for n in range(20_000)]
    frame = pd.DataFrame({"s": pd.Series(texts, dtype=object)})
    part = frame[10_000:].copy()
    repeated = pd.DataFrame({"s": pd.Series(["the same long text" * 10] * 20_000, dtype=object)})

    found = look({"frame": frame, "part": part, "repeated": repeated})

    held = {each.name: each.bytes for each in found.names}
    assert held["frame"] == pytest.approx(frame.memory_usage(deep=True).sum(), rel=0.01)
    assert held["part"] == pytest.approx(part.memory_usage().sum(), rel=0.01)
    assert held["repeated"] == pytest.approx(repeated.memory_usage().sum(), rel=0.01)
    reached = {each.name: each.reached for each in found.names}
    assert reached["part"] == pytest.approx(part.memory_usage(deep=True).sum(), rel=0.01)
    assert [(kind.type, kind.count) for kind in found.kinds] == [("pandas.DataFrame", 3)]


def test_a_list_that_takes_too_long_is_estimated_from_what_was_seen(monkeypatch):
    rows = [{"number": n, "data": bytearray(1000)} for n in range(5000)]
    whole = sizes(rows=rows)["rows"]
    looks = iter([False] * 4 + [True] * 1000)
    monkeypatch.setattr(Sizer, "_late", lambda _: next(looks))

    (found,) = look({"rows": rows}).names

    assert not found.exact
    assert found.bytes == pytest.approx(whole, rel=0.05)


def test_what_leads_to_the_notebook_does_not_hold_all_of_it(run):
    run("import numpy as np\nclass Tool: pass\ntool = Tool(); tool.names = globals()")
    run("tool.shell = get_ipython(); zz_array = np.ones(2**17)")

    run("r = %memobj -oq")

    held = eval(run("dict(zip(r.frame['name'], r.frame['bytes'].tolist()))").value)
    assert held["zz_array"] == pytest.approx(MIB, rel=0.01)
    assert held["tool"] < 10_000


def test_a_frame_and_the_array_it_was_made_of_count_their_data_once():
    array = np.ones((2**17, 8))
    frame = pd.DataFrame(array, copy=False)

    assert sum(sizes(array=array, frame=frame).values()) == pytest.approx(8 * MIB, rel=0.01)


def test_containers_count_with_what_they_hold_and_shared_objects_once():
    data = bytearray(MIB)

    class Thing:
        def __init__(self):
            self.data = bytearray(2 * MIB)

    found = sizes(first=[data], nested={"a": ([data, bytearray(MIB)],)}, thing=Thing())

    assert found["first"] + found["nested"] == pytest.approx(2 * MIB, rel=0.01)
    assert found["thing"] == pytest.approx(2 * MIB, rel=0.01)


def test_long_lists_of_numbers_and_texts_are_counted_whole():
    numbers = [float(n) for n in range(50_000)]

    found = look({"numbers": numbers, "again": list(numbers)})

    assert {kind.type: kind.count for kind in found.kinds} == {"float": 50_000, "list": 2}
    assert sum(each.bytes for each in found.names) == pytest.approx(
        50_000 * 24 + 2 * 50_000 * 8, rel=0.15
    )


def test_an_array_of_objects_counts_with_them_and_a_cycle_ends():
    cycle = [bytearray(MIB)]
    cycle.append(cycle)

    texts = np.array([f"text {n}" * 10 for n in range(1000)], dtype=object)

    assert sizes(cycle=cycle)["cycle"] == pytest.approx(MIB, rel=0.01)
    assert sizes(texts=texts)["texts"] > 1000 * 70


def test_a_class_that_refuses_to_be_measured_costs_nothing():
    class Rude:
        def __sizeof__(self):
            raise RuntimeError("no")

        @property
        def nbytes(self):
            raise RuntimeError("no")

    assert sizes(rude=Rude())["rude"] < 10_000


def test_modules_classes_and_builtins_are_left_out():
    assert sizes(np=np, kind=Shell, function=len) == {}


@pytest.mark.tensorflow
def test_tensors_variables_and_models_count_with_what_tensorflow_holds():
    tf = pytest.importorskip("tensorflow")
    import keras

    model = keras.Sequential([keras.Input((500,)), keras.layers.Dense(1000)])
    tensor = tf.ones([10 * 2**18])

    found = sizes(
        tensor=tensor,
        same=tf.reshape(tensor, [2, -1]),
        small=tf.ones([2**18], tf.bfloat16),
        variable=tf.Variable(tf.ones([5 * 2**18])),
        model=model,
        sparse=tf.sparse.from_dense(tf.ones([2**16])),
        texts=tf.constant(["x" * 300] * 10_000),
        symbolic=model.inputs,
    )

    assert found["tensor"] + found["same"] == pytest.approx(10 * MIB, rel=0.01)
    assert found["small"] == pytest.approx(MIB / 2, rel=0.01)
    assert found["variable"] == pytest.approx(5 * MIB, rel=0.01)
    assert found["model"] == pytest.approx(model.count_params() * 4, rel=0.01)
    assert found["sparse"] == pytest.approx(2**16 * (8 + 4), rel=0.01)
    assert found["texts"] == pytest.approx(10_000 * 324, rel=0.05)
    assert found["symbolic"] < 10_000


@pytest.mark.tensorflow
def test_a_compiled_model_counts_with_its_optimizer():
    pytest.importorskip("tensorflow")
    import keras

    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(300)])
    model.compile("adam", "mse")
    model.fit(np.ones((8, 200)), np.ones((8, 300)), verbose=0)

    assert sizes(model=model)["model"] == pytest.approx(3 * model.count_params() * 4, rel=0.01)


@pytest.fixture
def run():
    with shell_with_nbprof("import numpy as np") as run:
        yield run


def test_the_magic_lists_names_and_types_largest_first(run):
    run("small = bytearray(10_000)\nlarge = np.ones(2**18)\n_hidden = np.ones(2**19)")

    (text,) = run("%memobj").shown

    assert text.startswith("names hold 2.0 MiB of the ")
    lines = text.splitlines()
    assert [line.split(" | ")[0].strip() for line in lines[2:6]] == [
        "names", "=" * 7, "large", "small",
    ]  # fmt: skip
    assert "types |   # objects |   total size" in text
    assert "_hidden" not in text
    assert run("result = %memobj -o -q large").value is None
    assert run("result.frame['name'].tolist()").value == "['large']"


def test_values_that_the_shell_keeps_in_out_are_found(run):
    run("np.ones(2**18)")

    (text,) = run("%memobj").shown

    assert "Out[3] |   numpy.ndarray |      2.00 MB" in text


def test_a_cell_says_what_it_left_behind_and_keeps_its_value(run):
    run("gone = bytearray(2**20)\nother = bytearray(2**20)\nsame = np.ones(5)")

    outcome = run(
        "%%memobj\nnew = np.ones(2**18)\ndel gone\nother = bytearray(2**21)\nrest = None\n'value'"
    )

    (text,) = outcome.shown
    rows = {line.split("|")[0].strip(): line for line in text.splitlines() if "|" in line}
    assert outcome.value == "'value'"
    assert rows["new"].split()[-1] == "new"
    assert "2.00 MB" in rows["new"]
    assert "-1.00 MB" in rows["gone"]
    assert rows["gone"].split()[-1] == "gone"
    assert "1.00 MB" in rows["other"]
    assert rows["other"].split()[-1] == "changed"
    assert "same" not in rows


def test_a_cell_that_raises_still_says_what_it_left_behind(run):
    outcome = run("%%memobj\nleft = bytearray(2**20)\n1/0")

    (text,) = outcome.shown
    assert outcome.error == "ZeroDivisionError"
    assert "left" in text
    assert not outcome.of_nbprof


def test_a_name_that_is_not_there_is_refused(run):
    assert "there is no name nothing in this notebook." in run("%memobj nothing").traceback
    assert "-n takes a whole number" in run("%memobj -n few").traceback
    assert "put the code in the lines below" in run("%%memobj x\ny = 1").traceback


BEFORE = ObjectMemory(
    (Name("a", "list", 5 * MIB, 5 * MIB, True, 1), Name("b", "dict", 736, 736, True, 2)),
    (Kind("list", 3, 5 * MIB), Kind("dict", 1, 736)),
    resident=100 * MIB,
)
AFTER = ObjectMemory(
    (
        Name("<x>", "numpy.ndarray", 265.19 * 1024, 3 * MIB, False, 4),
        Name("a", "list", 5 * MIB, 5 * MIB, True, 1),
    ),
    (Kind("numpy.ndarray", 4, 265.19 * 1024), Kind("list", 3, 5 * MIB)),
    resident=103 * MIB,
    rows=1,
)


def test_the_text_has_pymplers_table(golden):
    golden.check("memobj.txt", BEFORE.text + "\n\n" + AFTER.text)


def test_the_difference_has_what_is_new_and_what_is_gone(golden):
    found = difference(BEFORE, AFTER)

    assert found.frame[["name", "bytes", "state"]].values.tolist() == [
        ["<x>", 265.19 * 1024, "new"],
        ["b", -736, "gone"],
    ]
    assert found.types["type"].tolist() == ["numpy.ndarray", "dict"]
    assert found.resident == 3 * MIB


def test_the_html_escapes_names():
    html = AFTER._repr_html_()

    assert "&lt;x&gt;" in html
    assert "<x>" not in html
    assert "… and 1 more names" in html
