"""`nbprof.load_tfprof`: make a Profile of tfprof's input files."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile

Given = Any
"""A protobuf message, its bytes, or the path of a file with it."""


def load_tfprof(
    graph: Given,
    run_meta: Given = (),
    op_log: Given | None = None,
    checkpoint: "str | os.PathLike[str] | None" = None,
) -> "Profile":
    """Make a Profile of tfprof's inputs: a graph, its runs, an op log, a checkpoint.

    Each is a protobuf message, its bytes or a path, in binary or text format; the checkpoint is a
    path. The runs in `run_meta` are steps 0, 1 and so on, unless given as pairs `(step, run)`; runs
    of the same step are added up.
    """
    from nbprof.ingest.tfprof.checkpoint import read_checkpoint
    from nbprof.ingest.tfprof.graph_def import read_graph_def
    from nbprof.ingest.tfprof.joined_inputs import TfprofInputs
    from nbprof.ingest.tfprof.make_profile import make_profile
    from nbprof.ingest.tfprof.op_log import read_op_log
    from nbprof.ingest.tfprof.run_metadata import read_run_metadata

    runs = [
        (step, read_run_metadata(*_bytes(run, "RunMetadata", f"run metadata of step {step}")))
        for step, run in _steps(run_meta)
    ]
    log = None if op_log is None else read_op_log(*_bytes(op_log, "OpLogProto", "op log"))
    nodes = read_graph_def(*_bytes(graph, "GraphDef", "graph"))
    saved = None if checkpoint is None else read_checkpoint(Path(checkpoint))
    what = Path(graph).name if isinstance(graph, (str, os.PathLike)) else "load_tfprof"
    return make_profile(TfprofInputs(nodes, runs, log), what, saved)


def _steps(run_meta: Given) -> list[tuple[int, Given]]:
    """Return each run with its step."""
    if isinstance(run_meta, (str, bytes, os.PathLike)) or not isinstance(run_meta, Iterable):
        run_meta = [run_meta]
    return [run if isinstance(run, tuple) else (step, run) for step, run in enumerate(run_meta)]


def _bytes(given: Given, message: str, what: str) -> tuple[bytes, str]:
    """Return the message in binary format, and its name for errors."""
    from nbprof.ingest.tfprof.text_format import looks_like_text, to_binary

    if hasattr(given, "SerializeToString"):
        return given.SerializeToString(), what
    if isinstance(given, (bytes, bytearray, memoryview)):
        data, source = bytes(given), what
    else:
        data, source = _read(given, what)
    return (to_binary(data, message, source) if looks_like_text(data) else data), source


def _read(path: Given, what: str) -> tuple[bytes, str]:
    if not isinstance(path, (str, os.PathLike)):
        raise NbprofError(f"{what}: pass a message, its bytes or a path, not {path!r}.")
    try:
        return Path(path).read_bytes(), str(path)
    except OSError as error:
        raise NbprofError(f"{path} cannot be read: {error.strerror}.") from None
