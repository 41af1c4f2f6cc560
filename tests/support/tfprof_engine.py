"""The reference: TensorFlow's own C++ tfprof, run in a process of its own.

    with Engine() as engine:
        answer = engine.ask(case)              # a tfprof_cases.Case, or anything with its fields
        answer.text                            # the report after the line "Profile:"

The C++ engine is a global, talks through files and C streams, and aborts on some inputs. So a
worker process runs it: this file as a program, which imports only the engine's shared library and
messages (0.4 s instead of 5 s for TensorFlow). It answers one question at a time with a fresh
engine; if it dies, the answer says so and the next question gets a new worker.
"""

import ctypes
import importlib.util
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEFAULTS = {
    "max_depth": 10,
    "min_bytes": 0,
    "min_peak_bytes": 0,
    "min_residual_bytes": 0,
    "min_output_bytes": 0,
    "min_micros": 0,
    "min_accelerator_micros": 0,
    "min_cpu_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "step": -1,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
}
"""Defaults of tfprof's prompt."""

CHECKERS = (
    "ExpensiveOperationChecker",
    "AcceleratorUtilizationChecker",
    "JobChecker",
    "OperationChecker",
)
OUTPUTS = ("text", "timeline", "pprof", "none", "stdout")


@dataclass(frozen=True)
class Answer:
    """The engine's answer to one question."""

    view: str
    proto_bytes: bytes = b""
    head: str | None = None
    """The report up to the line "Profile:", with the warning about streams and the Doc block."""
    text: str | None = None
    """The report after the line "Profile:"; None if the engine wrote none."""
    timeline: dict[int, bytes] = field(default_factory=dict)
    """The JSON of each timeline file, by the step in the file's name (-1: the average)."""
    pprof: bytes | None = None
    """The gzipped pprof file; None if the engine wrote none."""
    coverage: tuple[float, ...] = ()
    """What the engine returned for each added run."""
    saved: bytes | None = None
    """The ProfileProto, for Engine.save."""
    stdout: str = ""
    stderr: str = ""
    error: str | None = None
    """The Python exception the engine raised, e.g. "IndexError: map::at"."""
    crashed: str | None = None
    """How the engine's process died, e.g. "SIGSEGV", or "hung"."""

    @property
    def proto(self) -> Any:
        """Parse the returned message: GraphNodeProto, MultiGraphNodeProto or AdviceProto.

        Protobuf refuses more than a hundred levels, and the op view is a chain: use `rows` there.
        """
        return self._kind.FromString(self.proto_bytes)

    @property
    def rows(self) -> list[tuple[int, Any]]:
        """Parse the returned tree of any depth into (depth, message without its children).

        The root has depth 0, and each row is followed by its children. In the op view, a chain,
        the depth of a row is its place in the report.
        """
        waiting, rows = [(0, self.proto_bytes)], []
        while waiting:
            depth, content = waiting.pop()
            own, children = split(content, self._kind.DESCRIPTOR.fields_by_name["children"].number)
            rows.append((depth, self._kind.FromString(own)))
            waiting.extend((depth + 1, child) for child in reversed(children))
        return rows

    @property
    def _kind(self) -> Any:
        from tensorflow.core.profiler import tfprof_output_pb2 as messages

        if self.view == "advise":
            return messages.AdviceProto
        if self.view in ("op", "code"):
            return messages.MultiGraphNodeProto
        return messages.GraphNodeProto


def split(content, number):
    """Split the message fields with this number off a serialized message."""
    kept, taken_out, place = b"", [], 0
    while place < len(content):
        start = place
        tag, place = varint(content, place)
        size, body = varint(content, place) if tag & 7 in (0, 2) else (0, place)
        place = {0: body, 1: body + 8, 2: body + size, 5: body + 4}[tag & 7]
        if tag == number << 3 | 2:
            taken_out.append(content[body:place])
        else:
            kept += content[start:place]
    return kept, taken_out


def varint(content, place):
    """Read a varint; return it and the position after it."""
    value = shift = 0
    while True:
        byte = content[place]
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place


class Engine:
    """TensorFlow's tfprof; it answers questions in order, each with a fresh engine."""

    def __init__(self, timeout=60):
        self.timeout = timeout
        self.crashes = 0
        self._worker = None
        self._folder = tempfile.TemporaryDirectory(prefix="tfprof-engine-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the worker and remove its files."""
        if self._worker:
            self._worker.stdin.close()
            self._worker.stdout.close()
            self._worker.wait()
            self._worker = None
        self._folder.cleanup()

    def ask(self, case, output="text", at_once=False):
        """Ask about one case.

        Args:
            case: has graph (bytes), runs [(step, bytes)], op_log (bytes or None), view (scope,
                graph, code, op or advise) and options (tfprof's spelling; absent: DEFAULTS; for
                advise {checker: {}}, or empty for all checkers).
            output: one of OUTPUTS, which decides the fields of the Answer that are filled; the
                returned message always is.
            at_once: whether to pass graph and run together, like
                tf.compat.v1.profiler.profile() (at most one run, step 0), instead of adding runs
                like Profiler.add_step().
        """
        return self._answer(
            view=case.view,
            options=case.options,
            output=output,
            load={
                "graph": case.graph,
                "runs": list(case.runs),
                "op_log": case.op_log or b"",
                "at_once": at_once,
            },
        )

    def ask_all(self, cases, output="text"):
        """Ask about many cases, in order."""
        return [self.ask(case, output) for case in cases]

    def ask_saved(self, saved, view, options, output="text"):
        """Ask about a saved profile, the bytes of a ProfileProto."""
        return self._answer(view=view, options=options, output=output, load={"saved": saved})

    def save(self, case):
        """Save a case as a ProfileProto: Answer.saved."""
        return self._answer(
            view="save",
            options={},
            output="none",
            load={"graph": case.graph, "runs": list(case.runs), "op_log": case.op_log or b""},
        )

    def save_again(self, saved):
        """Load a saved profile and save it again: Answer.saved."""
        return self._answer(view="save", options={}, output="none", load={"saved": saved})

    def _answer(self, **question):
        worker = self._living()
        pickle.dump(question, worker.stdin)
        worker.stdin.flush()
        ready, _, _ = select.select([worker.stdout], [], [], self.timeout)
        if not ready:
            worker.kill()
            return self._lost(question["view"], "hung")
        try:
            return Answer(question["view"], **pickle.load(worker.stdout))
        except EOFError:
            return self._lost(question["view"], None)

    def _living(self):
        if not self._worker:
            self._worker = subprocess.Popen(
                [sys.executable, __file__, self._folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
            )
        return self._worker

    def _lost(self, view, how):
        code = self._worker.wait()
        self._worker.stdin.close()
        self._worker.stdout.close()
        self._worker = None
        self.crashes += 1
        how = how or (signal.Signals(-code).name if code < 0 else f"exit {code}")
        stderr = (Path(self._folder.name) / "stderr").read_text(errors="surrogateescape")
        return Answer(view, crashed=how, stderr=stderr)


# The worker


def import_engine():
    """Import the engine's shared library and messages without TensorFlow's __init__."""
    root = Path(importlib.util.find_spec("tensorflow").origin).parent
    for name in ("", ".core", ".python", ".python.util"):
        package = types.ModuleType(f"tensorflow{name}")
        package.__path__ = [str(root / name.replace(".", "/").lstrip("/"))]
        sys.modules[package.__name__] = package
    from tensorflow.core.profiler import tfprof_options_pb2
    from tensorflow.python.util import _pywrap_tfprof

    return _pywrap_tfprof, tfprof_options_pb2


class Stream:
    """A C stream of this process, redirected to a file."""

    def __init__(self, number, path):
        self.file = path.open("w+b", buffering=0)
        os.dup2(self.file.fileno(), number)
        os.set_blocking(number, True)

    def clear(self):
        # The C stream shares the descriptor and with it the position in the file.
        self.file.seek(0)
        self.file.truncate()

    def read(self):
        self.file.seek(0)
        return self.file.read().decode(errors="surrogateescape")


class Worker:
    """The C++ engine, one question at a time."""

    def __init__(self, folder):
        self.folder = folder
        self.output = folder / "output"
        for left_by_a_crash in folder.glob("output*"):
            left_by_a_crash.unlink()
        self.flush = ctypes.CDLL(None).fflush
        self.stdout, self.stderr = Stream(1, folder / "stdout"), Stream(2, folder / "stderr")
        self.engine, self.messages = import_engine()

    def answer(self, view, options, output, load):
        """Ask a fresh engine."""
        self.stdout.clear()
        self.stderr.clear()
        try:
            found = self.ask(view, options, output, **load)
        except IndexError as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        finally:
            self.engine.DeleteProfiler()
        self.flush(None)
        streams = {"stdout": self.stdout.read(), "stderr": self.stderr.read()}
        return {**found, **streams, **self.written(output)}

    def ask(self, view, options, output, at_once=False, **load):
        if at_once:
            run = b"".join(run for _, run in load["runs"])
            question = (view.encode(), self.options(view, options, output))
            result = self.engine.PrintModelAnalysis(load["graph"], run, load["op_log"], *question)
            return {"proto_bytes": result}
        coverage = self.load_saved(**load) if "saved" in load else self.load(**load)
        if view == "save":
            return {"coverage": coverage, "saved": self.engine.SerializeToString()}
        result = self.engine.Profile(view.encode(), self.options(view, options, output))
        return {"coverage": coverage, "proto_bytes": result}

    def load(self, graph, runs, op_log):
        self.engine.NewProfiler(graph, op_log)
        return tuple(self.engine.AddStep(step, graph, run, op_log) for step, run in runs)

    def load_saved(self, saved):
        path = self.folder / "saved"
        path.write_bytes(saved)
        self.engine.ProfilerFromFile(str(path).encode())
        return ()

    def options(self, view, options, output):
        if view == "advise":
            chosen = self.messages.AdvisorOptionsProto()
            for checker in options or CHECKERS:
                chosen.checkers[checker].SetInParent()
            return chosen.SerializeToString()
        kinds = {"text": "file", "timeline": "timeline", "pprof": "pprof"}
        target = f"{kinds[output]}:outfile={self.output}" if output in kinds else output
        chosen = {**DEFAULTS, **options, "output": target}
        return self.messages.OptionsProto(**chosen).SerializeToString()

    def written(self, output):
        """Collect the files the engine wrote."""
        found = {}
        if output == "timeline":
            paths = self.folder.glob(f"{self.output.name}_*")
            found["timeline"] = {int(p.name.rpartition("_")[2]): taken(p) for p in paths}
        elif self.output.exists() and output == "text":
            report = taken(self.output).decode(errors="surrogateescape")
            head, mark, found["text"] = report.partition("\nProfile:\n")
            found["head"] = head + mark
        elif self.output.exists():
            found["pprof"] = taken(self.output)
        return found


def taken(path):
    content = path.read_bytes()
    path.unlink()
    return content


def serve(folder):
    """Answer questions until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    questions = os.fdopen(os.dup(0), "rb")
    worker = Worker(folder)
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        pickle.dump(worker.answer(**question), answers)
        answers.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
