from types import SimpleNamespace

import pytest

from nbprof.ingest.trace.program.python_stacks import (
    RUNNERS,
    NodeStack,
    below_runners,
    in_cells,
    read_stacks,
)
from nbprof.user_files import is_users


def debug_info(files, frames, traces, names):
    """Return a stand-in for a GraphDebugInfo."""
    return SimpleNamespace(
        files=files,
        frames_by_id={
            key: SimpleNamespace(file_index=file, line=line, func=function)
            for key, (file, line, function) in frames.items()
        },
        traces_by_id={key: SimpleNamespace(frame_id=ids) for key, ids in traces.items()},
        name_to_trace_id=names,
        SerializeToString=lambda deterministic: repr((files, frames, traces, names)).encode(),
    )


def test_stacks_are_read_outermost_frame_first():
    info = debug_info(
        ["train.py", "layers.py"],
        {7: (0, 9, "<module>"), 8: (1, 4, "dense")},
        {1: [7, 8], 2: [7]},
        {"dense/MatMul": 1, "loss": 2, "lost": 99},
    )

    assert {node: made.frames for node, made in read_stacks(info).items()} == {
        "dense/MatMul": (("train.py", 9, "<module>"), ("layers.py", 4, "dense")),
        "loss": (("train.py", 9, "<module>"),),
    }


def test_a_lambda_of_which_autograph_makes_two_frames_is_one():
    info = debug_info(
        ["train.py"],
        {7: (0, 9, "<module>"), 8: (0, 4, ""), 9: (0, 4, "<lambda>")},
        {1: [7, 7, 8, 9]},
        {"Sin": 1},
    )

    module = ("train.py", 9, "<module>")
    assert read_stacks(info)["Sin"].frames == (module, module, ("train.py", 4, "<lambda>"))


def test_a_stack_begins_below_the_code_that_runs_cells():
    stack = (
        ("/env/ipykernel_launcher.py", 18, "<module>"),
        ("/env/IPython/core/interactiveshell.py", 3000, "run_code"),
        ("/tmp/ipykernel_1/2.py", 1, "<module>"),
        (RUNNERS[0] + "cell.py", 40, "run"),
        ("/tmp/ipykernel_1/2.py", 5, "<module>"),
        ("/env/site-packages/keras/src/trainer.py", 300, "fit"),
        ("/home/me/model.py", 12, "call"),
        ("/env/site-packages/tensorflow/python/ops/math_ops.py", 1, "matmul"),
    )

    kept = in_cells(below_runners(stack), {"/tmp/ipykernel_1/2.py": "In [4]"})

    assert [(file, line) for file, line, _ in kept if is_users(file)] == [
        ("In [4]", 5),
        ("/home/me/model.py", 12),
    ]
    assert len(kept) == 4


KERAS_3, KERAS_2 = "/env/site-packages/keras/src/", "/env/site-packages/tf_keras/src/"


@pytest.mark.parametrize(
    "call",
    [
        KERAS_3 + "layers/layer.py",
        KERAS_2 + "engine/base_layer.py",
        "/env/dist-packages/keras/src/engine/base_layer.py",
        r"C:\Lib\site-packages\tf_keras\src\engine\base_layer.py",
        "/env/site-packages/tensorflow/python/keras/engine/base_layer.py",
    ],
)
def test_calls_of_layers_of_every_keras_are_counted(call):
    split_by_autograph = (call, 1047, "__call__"), (call, 1136, "__call__")
    inside = (call, 2, "build"), (call, 1136, "__call__")

    stack = NodeStack((("train.py", 1, "<module>"), *split_by_autograph, *inside))

    assert stack.layer_calls == 2


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (KERAS_3 + "losses/loss.py", "loss"),
        (KERAS_2 + "losses.py", "loss"),
        (KERAS_3 + "trainers/compile_utils.py", "loss"),
        (KERAS_2 + "engine/compile_utils.py", "loss"),
        (KERAS_2 + "metrics/base_metric.py", "metrics"),
        (KERAS_2 + "optimizers/legacy/adam.py", "optimizer"),
        (KERAS_2 + "mixed_precision/loss_scale_optimizer.py", "optimizer"),
        ("/env/tensorflow/python/training/optimizer.py", "optimizer"),
        (KERAS_2 + "layers/core/dense.py", ""),
        ("/home/me/losses.py", ""),
    ],
)
def test_the_part_of_training_is_told_by_the_files_of_every_keras(file, part):
    assert NodeStack((("train.py", 1, "fit"), (file, 1, "f"), ("/env/x.py", 1, "g"))).part == part


def test_a_gradient_that_an_optimizer_asks_for_is_not_its_work():
    minimize = (KERAS_2 + "optimizers/optimizer.py", 1, "minimize")
    gradient = ("/env/tensorflow/python/eager/backprop.py", 1, "gradient")

    assert NodeStack((minimize, gradient)).part == ""
    assert NodeStack((minimize, gradient)).in_tape
    assert NodeStack((gradient, minimize)).part == "optimizer"
