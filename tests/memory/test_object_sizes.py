"""How many bytes objects hold: arrays, frames, containers, tensors and models."""

import numpy as np
import pandas as pd
import pytest
from support.memory_spikes import MIB

from nbprof.memory.namespace import size_names
from nbprof.memory.object_sizes import Sizer


@pytest.fixture(autouse=True)
def enough_time(monkeypatch):
    """Size everything, however busy the machine is."""
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 3600)
    monkeypatch.setattr("nbprof.memory.namespace.SHARED_SECONDS", 3600)


def sizes(**names):
    return {each.name: each.bytes for each in size_names(names).names}


def reached(**names):
    return {each.name: each.reached for each in size_names(names).names}


def test_an_array_includes_its_data_but_a_view_of_it_does_not():
    array = np.ones(10 * 2**17)

    found = sizes(view=array[::2], array=array)

    assert found["array"] == pytest.approx(10 * MIB, rel=0.01)
    assert found["view"] < 1000
    assert reached(view=array[::2], array=array)["view"] == pytest.approx(10 * MIB, rel=0.01)


def test_a_view_of_a_nameless_array_includes_all_the_data_it_keeps_alive():
    assert sizes(view=np.ones(10 * 2**17)[:5])["view"] == pytest.approx(10 * MIB, rel=0.01)


def test_a_list_of_arrays_that_share_their_data_counts_it_once():
    array = np.ones(4 * 2**17)

    assert sizes(many=[array[n:] for n in range(50)])["many"] == pytest.approx(4 * MIB, rel=0.01)


def test_a_frame_includes_its_texts():
    frame = pd.DataFrame({"n": np.arange(50_000), "s": [f"text {n}" for n in range(50_000)]})

    found = sizes(frame=frame, column=frame["n"])

    assert found["frame"] + found["column"] == pytest.approx(
        frame.memory_usage(deep=True).sum(), rel=0.01
    )
    assert sizes(column=frame["s"])["column"] == pytest.approx(
        frame["s"].memory_usage(deep=True), rel=0.01
    )


def test_texts_that_are_shared_or_repeated_count_once():
    texts = [f"some text {n}" for n in range(20_000)]
    frame = pd.DataFrame({"s": pd.Series(texts, dtype=object)})
    part = frame[10_000:].copy()
    repeated = pd.DataFrame({"s": pd.Series(["the same long text" * 10] * 20_000, dtype=object)})

    found = size_names({"frame": frame, "part": part, "repeated": repeated})

    held = {each.name: each.bytes for each in found.names}
    assert held["frame"] == pytest.approx(frame.memory_usage(deep=True).sum(), rel=0.01)
    assert held["part"] == pytest.approx(part.memory_usage().sum(), rel=0.01)
    assert held["repeated"] == pytest.approx(repeated.memory_usage().sum(), rel=0.01)
    reached = {each.name: each.reached for each in found.names}
    assert reached["part"] == pytest.approx(part.memory_usage(deep=True).sum(), rel=0.01)
    assert [(kind.type, kind.count) for kind in found.kinds] == [("pandas.DataFrame", 3)]


def test_a_list_that_takes_too_long_is_extrapolated(monkeypatch):
    rows = [{"number": n, "data": bytearray(1000)} for n in range(5000)]
    whole = sizes(rows=rows)["rows"]
    late = iter([False] * 4 + [True] * 1000)
    monkeypatch.setattr(Sizer, "_is_late", lambda _: next(late))

    (found,) = size_names({"rows": rows}).names

    assert not found.exact
    assert found.bytes == pytest.approx(whole, rel=0.05)


def test_a_frame_and_the_array_it_wraps_count_their_data_once():
    array = np.ones((2**17, 8))
    frame = pd.DataFrame(array, copy=False)

    assert sum(sizes(array=array, frame=frame).values()) == pytest.approx(8 * MIB, rel=0.01)


def test_containers_include_their_contents_and_shared_objects_count_once():
    data = bytearray(MIB)

    class Thing:
        def __init__(self):
            self.data = bytearray(2 * MIB)

    found = sizes(first=[data], nested={"a": ([data, bytearray(MIB)],)}, thing=Thing())

    assert found["first"] + found["nested"] == pytest.approx(2 * MIB, rel=0.01)
    assert found["thing"] == pytest.approx(2 * MIB, rel=0.01)


def test_long_lists_of_numbers_are_sized_in_bulk():
    numbers = [float(n) for n in range(50_000)]

    found = size_names({"numbers": numbers, "again": list(numbers)})

    assert {kind.type: kind.count for kind in found.kinds} == {"float": 50_000, "list": 2}
    assert sum(each.bytes for each in found.names) == pytest.approx(
        50_000 * 24 + 2 * 50_000 * 8, rel=0.15
    )


def test_cycles_end_and_arrays_of_objects_include_their_elements():
    cycle = [bytearray(MIB)]
    cycle.append(cycle)

    texts = np.array([f"text {n}" * 10 for n in range(1000)], dtype=object)

    assert sizes(cycle=cycle)["cycle"] == pytest.approx(MIB, rel=0.01)
    assert sizes(texts=texts)["texts"] > 1000 * 70


def test_a_class_that_refuses_to_be_sized_does_no_harm():
    class Rude:
        def __sizeof__(self):
            raise RuntimeError("no")

        @property
        def nbytes(self):
            raise RuntimeError("no")

    assert sizes(rude=Rude())["rude"] < 10_000


@pytest.mark.tensorflow
def test_tensors_variables_and_models_include_what_tensorflow_holds():
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
def test_a_compiled_model_includes_its_optimizer():
    pytest.importorskip("tensorflow")
    import keras

    model = keras.Sequential([keras.Input((200,)), keras.layers.Dense(300)])
    model.compile("adam", "mse")
    model.fit(np.ones((8, 200)), np.ones((8, 300)), verbose=0)

    assert sizes(model=model)["model"] == pytest.approx(3 * model.count_params() * 4, rel=0.01)


@pytest.mark.tensorflow
@pytest.mark.parametrize("family", ["optimizers", "optimizers.legacy"])
def test_an_optimizer_of_keras_2_has_the_bytes_of_its_variables(family):
    pytest.importorskip("tensorflow")
    tf_keras = pytest.importorskip("tf_keras")
    module = tf_keras.optimizers.legacy if "legacy" in family else tf_keras.optimizers

    model = tf_keras.Sequential([tf_keras.Input((200,)), tf_keras.layers.Dense(300)])
    model.compile(module.Adam(), "mse")
    model.fit(np.ones((8, 200)), np.ones((8, 300)), verbose=0)

    weights = model.count_params() * 4
    assert sizes(optimizer=model.optimizer)["optimizer"] == pytest.approx(2 * weights, rel=0.01)
    assert sizes(model=model)["model"] == pytest.approx(3 * weights, rel=0.01)
