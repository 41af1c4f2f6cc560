"""Profile: what one profiled cell did, as immutable tables of numbers.

Times are whole nanoseconds since the cell's start. `ingest` makes a Profile, `views` read it;
nothing here knows TensorFlow. (The underscore leaves the name `nbprof.profile` to the context
manager.)
"""

# ruff: noqa: RUF009 (the tables of a Profile are descriptors, not defaults)

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from nbprof.lazy_tables import empty, table
from nbprof.recording import Recording
from nbprof.step_ranges import name_ranges
from nbprof.units import format_seconds
from nbprof.view_kinds import VIEWS, ViewKind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes

    from nbprof.memory.result import MemoryResult
    from nbprof.options import ViewOptions
    from nbprof.views.out_of_memory import OutOfMemory
    from nbprof.views.view import View

COUNTED = dict.fromkeys(("calls", "primitive_calls", "self_ns", "total_ns"), "int64")
"""What is counted of a function, or of a function called from a place."""
no_allocator = empty(event="int64", kind="object", micros="int64", bytes="int64")
"""Makes an empty `allocator` table."""
no_functions = empty(file="object", line="int64", function="object", framework="bool", **COUNTED)
"""Makes an empty `functions` table."""
no_calls = empty(caller="int64", function="int64", **COUNTED)
"""Makes an empty `calls` table."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Profile:
    """The tables of one profiled cell; `profile.view("op")` is the way to look at them."""

    nodes: "pd.DataFrame" = table()
    """A row per node: `name`, `op_type`, `kernel` (what TensorFlow ran instead, or what the node
    was fused into; empty: nothing), `fused` (whether it ran as part of another node, so that its
    time is not known), `device`, `data_format` (empty: none), and for variables, which come last
    and never run, `shape`, `params`, `trainable`, `types` (tfprof's further types) and `layer` (a
    row of `layers`)."""
    events: "pd.DataFrame" = table()
    """A row per execution: `node`, `step`, `thread` (rows of those tables), `start_ns`,
    `duration_ns`, `self_ns` (without the ops it ran and without waiting), `is_run` (False for
    further work of a run that is counted elsewhere), `accelerator`, `stack` (the lines that ran
    it, then those that made it, -1: not known), `call` (a row of `dispatches`; not in old files),
    `layer`, `backward` (whether it belongs to the backward pass), `input_shapes`, `output_shapes`
    (rows of `shapes`; outputs: the first only), and what `columns.summed_columns()` lists (NaN: not
    recorded)."""
    layers: "pd.DataFrame" = table()
    """A row per Keras layer and place it was called in, and per other part of the work, such as
    the optimizer or the input pipeline: `name`, `kind` (the layer's class), `parent` (-1: none)."""
    inputs: "pd.DataFrame" = table()
    """A row per input of a node: `node`, `position`, `source` (the node that produces it, -1: not
    known), `shape` (only in tfprof's inputs)."""
    shapes: "pd.DataFrame" = table()
    """A row per distinct list of shapes: `shapes`, such as `("32x64", "64x128")`."""
    allocations: "pd.DataFrame" = table()
    """A row per allocation: `event` and `node` that made it (-1: none known), `device`,
    `start_ns`, `end_ns` (NaN: never freed), `bytes`, `region`, `shape`, `dtype`."""
    logged: "pd.DataFrame" = table(empty(types="object", float_ops="float64", has_stack="bool"))
    """A row per node of tfprof's inputs, from the op log: `types` (further types), `float_ops` (of
    one run), `has_stack` (True even for a stack without frames)."""
    values: "pd.DataFrame" = table(empty(node="int64", text="object"))
    """A row per variable in the checkpoint given with tfprof's inputs: `node`, `text`."""
    allocator: "pd.DataFrame" = table(no_allocator)
    """An accelerator's memory while an event ran, in tfprof's inputs: `event`, `kind`, `micros`,
    `bytes`. The kind is "in use" for what the allocator held, "change" for a change of what the
    event's node held, or "persistent" for what the node kept."""
    frames: "pd.DataFrame" = table()
    """A row per frame of the Python stacks, outermost first: `stack`, `file` (`In [3]` for a
    cell), `line`, `function`, `source`, `framework` (whether its file is an installed
    one, not the user's), `function_line` (where the function begins; only in tfprof's inputs)."""
    cells: "pd.DataFrame" = table(empty(file="object", line="int64", text="object"))
    """A row per line of the notebook cells in `frames`, and of the user's files those around the
    lines in `frames`: `file`, `line`, `text`."""
    threads: "pd.DataFrame" = table()
    """A row per thread or stream that ran ops: `name`, `device`, `is_cell` (whether it ran the
    cell itself)."""
    steps: "pd.DataFrame" = table()
    """A row per step: `step`, `start_micros`, `micros` (NaN: its end was not seen), `function`,
    `traced` (whether it traced a tf.function), `in_detail` (whether its op runs were recorded; the
    other tables lack the others; missing in old files: all were)."""
    traces: "pd.DataFrame" = table()
    """A row per call that traced a tf.function: `function`, `count` (how often it has been traced
    so far), `step` (-1: none), `start_micros`, `micros`, `changed` (what differs from the trace
    before, if known)."""
    spent: "pd.DataFrame" = table()
    """A row per category of what the cell's own thread spent time on: `category`, `ns`; they add
    up to the wall time."""
    machines: "pd.DataFrame" = table(
        empty(
            host="object",
            start_ns="int64",
            wall_ns="int64",
            slowest_step="int64",
            slowest_step_micros="float64",
        )
    )
    """A row per host whose trace was loaded: `host`, `start_ns` (as `time.time_ns` counts, 0: not
    known), `wall_ns`, `slowest_step`, `slowest_step_micros`. If there are any, `threads`,
    `allocations`, `traces` and `spent` have a column `host`."""
    samples: "pd.DataFrame" = table(
        empty(start_ns="int64", resident_bytes="int64", peak_bytes="int64", gap="bool")
    )
    """A row per sample of the process's RAM: `start_ns`, `resident_bytes`, `peak_bytes` (the most
    since the sample before) and `gap` (whether the curve breaks between the two)."""
    samples_of_python: "pd.DataFrame" = table(
        empty(start_ns="int64", duration_ns="int64", thread="int64", stack="int64")
    )
    """A row per sample of a thread's Python stack: `start_ns`, `duration_ns` (the time since the
    sample before, which it stands for), `thread` (a row of `threads_of_python`), `stack` (in
    `frames`), `held_ns` (how much of the time a C function held the interpreter; not in old files).
    Those of the cell's own thread, 0, add up to the wall time."""
    threads_of_python: "pd.DataFrame" = table(empty(name="object"))
    """A row per thread that ran Python: `name`. The first is the cell's own."""
    dispatches: "pd.DataFrame" = table(
        empty(
            **dict.fromkeys(("start_ns", "end_ns", "watch_ns", "thread", "stack"), "int64"),
            what="object",
        )
    )
    """A row per call from Python into TensorFlow while the cell was traced: `start_ns`, `end_ns`,
    `watch_ns` (how long recording it took, right after its end), `thread` (a row of
    `threads_of_python`), `what` (the op, the function or `Session.run`), `stack` (in `frames`; each
    line of the user's is followed by the installed function that it calls)."""
    functions: "pd.DataFrame" = table(no_functions)
    """A row per function that was called: `file` and `line` (where it begins; "~" and 0 for one in
    C), `function`, `framework` (whether it is not the user's), `calls`, `primitive_calls` (those
    not made by itself, directly or not), `self_ns`, `total_ns` (with all it called, recursion
    counted once); NaN: not recorded."""
    calls: "pd.DataFrame" = table(no_calls)
    """A row per caller and function that it called: `caller` and `function` (rows of `functions`),
    `calls`, `primitive_calls`, `self_ns` and `total_ns` of the function in these calls."""
    lines: "pd.DataFrame" = table(
        empty(
            **dict.fromkeys(("file", "function", "called", "source"), "object"),
            **dict.fromkeys(("line", "hits", "calls"), "int64"),
            self_ns="float64",
        )
    )
    """A row per line of the code that was watched line by line, and after it one per watched
    function that it led to: `file` (`In [3]` for a cell), `line`, `function` it is in, `hits`,
    `self_ns` (of the line: without those functions; of a function: with all it called; NaN: not
    timed), `called` (the label of the function; empty for the line itself), `calls` of it,
    `source`."""
    sites: "pd.DataFrame" = table(
        empty(
            **{"file": "object", "line": "int64", "function": "object", "source": "object"},
            **{"framework": "bool", "inner": "object"},
            **{"left_bytes": "float64", "left_count": "float64"},
            **{"peak_bytes": "float64", "before_bytes": "float64"},
        )
    )
    """A row per line of Python that allocated memory: `file`, `line`, `function`, `source`,
    `framework` (False: it is the user's), `inner` (the lines of packages that it ran to allocate
    it, outermost first), `left_bytes` and `left_count` (what the cell left behind, in blocks of
    Python's memory; if tracemalloc was on before, the difference to before), `peak_bytes` (at the
    peak), `before_bytes` (NaN: not known)."""
    spans: "pd.DataFrame" = table(
        empty(
            **{"name": "object", "start_ns": "int64", "duration_ns": "int64", "thread": "int64"},
            **{"thread_name": "object", "parent": "int64"},
        )
    )
    """A row per use of `nbprof.span`, in the order they began: `name`, `start_ns`, `duration_ns`,
    `thread` (0: the cell's own), `thread_name`, `parent` (the span around it, -1: none)."""
    counts: "pd.DataFrame" = table(empty(name="object", start_ns="int64", value="float64"))
    """A row per use of `nbprof.count`: `name`, `start_ns`, `value`; see `counters`."""
    statements: "pd.DataFrame" = table(empty(start_ns="int64", line="int64"))
    """A row per statement that the cell began: `start_ns`, `line`."""
    recording: Recording
    notes: tuple[str, ...] = ()
    """Sentences on what was not recorded, or not as expected."""

    @property
    def headline(self) -> str:
        """What was profiled, how, and at what cost, in one line."""
        recording = self.recording
        runs = int(self.costs["is_run"].sum())
        if recording.tfprof:
            steps = _plural(len(self.steps), "step")
            return (
                f"nbprof {recording.what} · {steps} · {_plural(runs, 'op run')} · {recording.how}"
            )
        parts = [f"nbprof {recording.what}"]
        if recording.timed:
            wall = format_seconds(recording.wall_ns)
            parts.append(f"{recording.ended}{wall} wall{self._untraced}")
        if "ops" in recording.watched:
            parts.append(_plural(max(len(self.steps), 1), "step"))
            parts.append(f"{self.detail} in detail" if self.detail else "")
            parts.append(_plural(runs, "op run"))
        else:
            parts.append(self._python)
        parts += (recording.how, recording.memory, recording.cost)
        return " · ".join(filter(None, parts))

    @property
    def _python(self) -> str:
        """How much was recorded of Python alone, in words."""
        if "samples" in self.recording.watched:
            timed = self.recording.timed
            count = len(self.samples_of_python) if timed else self.recording.wall_ns // 1000
            return _plural(count, "sample")
        calls = self.functions["calls"].sum(skipna=False)
        return _plural(int(calls), "call") if calls == calls else ""

    @property
    def _untraced(self) -> str:
        recording = self.recording
        if not recording.traced_ns or recording.traced_ns > 0.99 * recording.wall_ns:
            return ""
        return f", {format_seconds(recording.traced_ns)} of it traced"

    @property
    def detail(self) -> str:
        """Which steps the other tables are about, in words; empty: all of them."""
        if len(self.detailed_steps) == len(self.steps):
            return ""
        steps = self.steps[["step", "traced", "in_detail"]]
        return name_ranges(steps.itertuples(index=False, name=None))

    @property
    def detailed_steps(self) -> "pd.DataFrame":
        """The steps whose op runs were recorded; the others ran bare."""
        steps = self.steps
        return steps[steps["in_detail"]] if "in_detail" in steps else steps

    @property
    def costs(self) -> "pd.DataFrame":
        """The events, possibly without the columns derived from shapes, which take long to make."""
        part = getattr(vars(self)["events"], "part", None)
        return self.events if part is None else part

    @property
    def types(self) -> "pd.Series[Any]":
        """The types of each node besides its op type, as in tfprof."""
        return (self.nodes if "types" in self.nodes else self.logged)["types"]

    @property
    def float_ops(self) -> "pd.Series[float]":
        """The float operations of one run of each node, in tfprof's inputs."""
        return (self.nodes if "float_ops" in self.nodes else self.logged)["float_ops"]

    @property
    def has_stacks(self) -> bool:
        """Whether any lines of Python are known."""
        if self.recording.tfprof and "types" not in self.nodes:
            return bool(self.logged["has_stack"].any())
        return self.recording.has_stacks

    def with_values(self, **values: Any) -> "Profile":
        """Return a copy with these values replaced, without making lazy tables."""
        other = object.__new__(Profile)  # dataclasses.replace would make every table
        vars(other).update(vars(self) | values)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Make every table, since their makers cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def view(
        self, name: str = "op", checked: "ViewOptions | None" = None, /, **options: object
    ) -> "View":
        """Return the view called `name`; options are spelled as tfprof's, without the dash.

        It writes no file: with `output="timeline:outfile=PATH"` and the like,
        `view.write_output()` does.
        """
        from nbprof import views
        from nbprof.options import ViewOptions

        return views.view(self, name, checked or ViewOptions.parse(options))

    if TYPE_CHECKING:  # these come from VIEWS; type checkers need them spelled out

        def op(self, **options: object) -> "View": ...
        def scope(self, **options: object) -> "View": ...
        def graph(self, **options: object) -> "View": ...
        def code(self, **options: object) -> "View": ...
        def layer(self, **options: object) -> "View": ...
        def call(self, **options: object) -> "View": ...
    else:

        def __getattr__(self, name: str) -> "Callable[..., View]":
            if name in VIEWS:
                return _view_method(self, VIEWS[name])
            return self.__getattribute__(name)  # raises again, with a table's own error if any

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *VIEWS]

    def summary(self) -> "pd.DataFrame":
        """Return where the cell's wall time went, on its own thread: `category, micros, percent`.

        The rows do not overlap and add up to `attrs["wall_micros"]`.
        """
        from nbprof.views import summary

        return summary.summary(self)

    @property
    def counters(self) -> "pd.DataFrame":
        """The counters of `nbprof.count`: `name`, `count`, `total`, `min`, `max`, `mean`."""
        from nbprof.views import counters

        return counters.counters(self)

    def memory(self) -> "pd.DataFrame":
        """Return the live bytes over time: `micros`, `device`, `live_bytes`.

        Each device begins with 0 at the cell's start: memory allocated before is not included.
        `attrs["peak"]` holds for each device the time of its peak, in µs, and the bytes that were
        live then.
        """
        from nbprof.views import live_memory

        return live_memory.live_bytes(self)

    def live_at_peak(self) -> "pd.DataFrame":
        """List the tensors that were alive at the peak of their device, largest first."""
        from nbprof.views import live_memory

        return live_memory.live_at_peak(self)

    def out_of_memory(self) -> "OutOfMemory | None":
        """Return what the cell asked for when memory ran out, and what was alive then.

        None if the cell did not end in a ResourceExhaustedError or a MemoryError.
        """
        from nbprof.views import out_of_memory

        return out_of_memory.out_of_memory(self)

    def process_memory(self) -> "MemoryResult":
        """Return what the process held in RAM, as `%memit` does, on the profile's clock.

        Its curve marks where the cell's statements, the steps and the ops that held the most
        began. It has `plot()` and `explore()`. Raises NbprofError if RAM was not measured.
        """
        from nbprof.views import process_memory

        return process_memory.process_memory(self)

    def plot_timeline(self, ax: "Axes | None" = None) -> "Axes":
        """Draw what each thread and accelerator stream did when, by op type.

        The busier a thread, the fuller its lane; steps are marked above. `ax.set_xlim(…)`, in µs,
        redraws another range in full detail. Without `ax`, a new figure is made.
        """
        from nbprof.display.plots import timeline

        return timeline.plot(self, ax)

    def plot_memory(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the live bytes of each device over time, with their peak and the steps.

        Without `ax`, a new figure is made.
        """
        from nbprof.display.plots import live_memory_plot

        return live_memory_plot.plot(self, ax)

    def hosts(self) -> "pd.DataFrame":
        """Compare the hosts of a multi-host profile, one row each.

        Columns: `host`, `wall_micros`, the sums over all ops of `micros`, `cpu_micros`,
        `accelerator_micros`, `run_count` and `bytes`, the highest `peak_bytes` of its devices,
        `slowest_step` and `slowest_step_micros`.
        """
        from nbprof.views import host_comparison

        return host_comparison.hosts(self)

    def compare_hosts(
        self, view: str = "op", column: str = "micros", **options: object
    ) -> "pd.DataFrame":
        """Compare a view's column across hosts, the rows that differ most first.

        Columns: `name`, one per host, `least`, `most`, their `ratio`, and `highest`, the host with
        the most. The options are those of the view.
        """
        from nbprof.views import host_comparison

        return host_comparison.compare_hosts(self, view, column, options)

    def advise(self) -> "pd.DataFrame":
        """Return what to change, the most severe first: `check`, `severity`, `message`, `rows`.

        `severity` is high, medium, low or info; `rows` are names of rows in the views.
        """
        from nbprof.views import advise

        return advise.advise(self)

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write everything into nbprof's own file, which `nbprof.load` reads.

        An existing file is replaced once the new one is complete.
        """
        from nbprof.export import own_file, whole_file

        with whole_file.whole_file(path) as file:
            own_file.write_profile(self, file)

    def to_html(self, path: "str | os.PathLike[str]") -> None:
        """Write an explorer of all views and columns into one file that needs no network."""
        from nbprof.display.explorer import page
        from nbprof.export import whole_file
        from nbprof.views.report import whole_report

        with whole_file.whole_file(path) as file:
            page.write(whole_report(self), file)

    def export(self, path: "str | os.PathLike[str]") -> None:
        """Write the profile for another program, chosen by the file's suffix.

        `.trace.json` and `.trace.json.gz` are a timeline for Perfetto and chrome://tracing,
        `.pb.gz` is the time of each line of Python for pprof. `.tfprof` is a profile in tfprof's
        format, which tfprof and `nbprof.load` open: nodes, times in whole µs, memory, parameters
        and one call stack per node; nbprof/export/saved_profile/__init__.py lists what it cannot
        hold. What was watched of Python becomes `.prof` for pstats, `.callgrind` for KCachegrind,
        `.speedscope.json`, `.collapsed` for flamegraph.pl, and `.dot`, a call graph for Graphviz.
        """
        from nbprof import export

        file_format = export.find_format(path)
        source = self if file_format.view is None else self.view(*file_format.view)
        export.write_file(source, file_format, path)

    def __repr__(self) -> str:
        return f"<Profile: {self.headline}>"


TABLES = tuple(field.name for field in fields(Profile) if "pd.DataFrame" in str(field.type))
"""The names of a Profile's tables."""


def _view_method(profile: Profile, kind: ViewKind) -> "Callable[..., View]":
    """Return `profile.NAME`, the shorthand for `profile.view(NAME)`."""

    def method(**options: object) -> "View":
        return profile.view(kind.name, **options)

    method.__name__ = kind.name
    method.__qualname__ = f"Profile.{kind.name}"
    method.__doc__ = f"Return the {kind.name} view: {kind.doc}."
    return method


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
