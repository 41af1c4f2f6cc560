"""What steps wait for: input, and the Python code between them."""

from typing import TYPE_CHECKING

from nbprof.categories import ANY_PYTHON, Category
from nbprof.units import format_micros
from nbprof.views.advise.check_result import Advice, first_rows, percent_of_wall

if TYPE_CHECKING:
    from nbprof._profile import Profile

NEXT = ("IteratorGetNext", "IteratorGetNextAsOptional", "IteratorGetNextSync")
"""Op types that ask for a batch."""

INPUT_PERCENT = 15
"""Share of the wall time from which TensorFlow's own profiler calls a program input-bound."""
INPUT_HIGH_PERCENT = 40
"""From this share on the advice is severe: input takes about as long as all computing."""
INPUT_WAIT_MICROS = 1000
"""Shortest wait per step worth advice, in µs; handing over a batch that is ready takes less."""
LOOP_STEPS = 5
"""Fewest steps that make a loop."""
PYTHON_PERCENT = 40
"""Smallest share of the wall time worth advice; Keras' own work between batches stays below."""
PYTHON_MICROS = 2000
"""Shortest gap worth advice, in µs; Keras' own work between batches takes under 1 ms."""
PYTHON_HIGH_PERCENT = 70
"""From this share on the advice is severe: TensorFlow idles most of the time."""


def input_bound(profile: "Profile") -> list[Advice]:
    """Find cells that wait for their batches, as the summary has it."""
    percent = percent_of_wall(profile, Category.INPUT)
    waited = percent / 100 * max(profile.recording.wall_ns, 1) / 1e3
    each = waited / max(len(profile.steps), 1)
    if percent < INPUT_PERCENT or each < INPUT_WAIT_MICROS:
        return []
    message = (
        f"{format_micros(waited)}, {percent:.0f}% of the wall time, was spent waiting for input. "
        "Let tf.data work ahead: dataset.prefetch(tf.data.AUTOTUNE), map(..., "
        "num_parallel_calls=tf.data.AUTOTUNE), cache(), and no Python generators."
    )
    severity = "high" if percent >= INPUT_HIGH_PERCENT else "medium"
    return [Advice("input-bound", severity, message, first_rows(_input_nodes(profile)))]


def _input_nodes(profile: "Profile") -> list[str]:
    nodes = profile.nodes
    return nodes["name"][nodes["op_type"].isin([*NEXT, "PyFunc", "EagerPyFunc"])].tolist()


def python_between_steps(profile: "Profile") -> list[Advice]:
    """Find loops in which Python keeps TensorFlow waiting."""
    steps = profile.steps
    if len(steps) < LOOP_STEPS:
        return []
    gaps = (steps["start_micros"].shift(-1) - steps["start_micros"] - steps["micros"])[:-1]
    between = float(gaps.clip(lower=0).sum())
    wall = max(profile.recording.wall_ns, 1) / 1e3
    percent = min(100 * between / wall, percent_of_wall(profile, *ANY_PYTHON))
    mean = between / len(gaps)
    if percent < PYTHON_PERCENT or mean < PYTHON_MICROS:
        return []
    message = (
        f"Python took {percent:.0f}% of the wall time between {len(steps)} steps, "
        f"{format_micros(mean)} each time, while TensorFlow waited. Move that work into tf.data or "
        "the tf.function, or do it less often: logging, .numpy(), metrics, callbacks."
    )
    severity = "high" if percent >= PYTHON_HIGH_PERCENT else "medium"
    return [Advice("Python between steps", severity, message, first_rows(steps["function"]))]
