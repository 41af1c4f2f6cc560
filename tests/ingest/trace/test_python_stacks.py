from types import SimpleNamespace

from nbprof.ingest.trace.program.python_stacks import (
    RUNNERS,
    below_runners,
    in_cells,
    is_framework,
    read_stacks,
)


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

    assert [(file, line) for file, line, _ in kept if not is_framework(file)] == [
        ("In [4]", 5),
        ("/home/me/model.py", 12),
    ]
    assert len(kept) == 4


def test_only_tensorflow_keras_numpy_and_the_standard_library_are_frameworks():
    frameworks = (
        "/usr/local/lib/python3.12/dist-packages/keras/src/layers/layer.py",
        "/opt/conda/lib/python3.11/site-packages/numpy/_core/numeric.py",
        "/home/me/tensorflow/bazel-bin/tensorflow/python/ops/math_ops.py",
        "/usr/lib/python3.11/threading.py",
        "/opt/conda/lib/python3.13/concurrent/futures/thread.py",
        "<frozen runpy>",
    )
    of_the_user = (
        "In [4]",
        "/home/me/keras/my_model.py",
        "/home/me/tensorflow/train.py",
        "/usr/lib/python3.11/site-packages/my_package/model.py",
        "/opt/conda/lib/python3.11/site-packages/transformers/trainer.py",
    )

    assert all(map(is_framework, frameworks))
    assert not any(map(is_framework, of_the_user))
