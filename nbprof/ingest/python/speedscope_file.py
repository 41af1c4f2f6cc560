"""Read profiles in speedscope's file format, as py-spy, pyinstrument and speedscope write them.

A file has frames that all its profiles share. A profile is one thread: `sampled`, with a weight for
every stack, or `evented`, with the moments at which frames were opened and closed.
"""

import json
from array import array
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from nbprof._profile import Profile
from nbprof.arrays import Ints
from nbprof.errors import NbprofError
from nbprof.ingest.python.code_names import Place, place_of, readable
from nbprof.ingest.python.damage import DamageError
from nbprof.ingest.python.evented_stacks import read_events
from nbprof.ingest.python.stack_numbers import StackNumbers
from nbprof.ingest.python.stack_profile import SampledStacks, durations, profile_of_stacks

T = TypeVar("T")

TIMES_NS = {
    **{"nanoseconds": 1.0, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9},
}
"""Units of time, in ns."""
COUNTED, COUNTED_NS = "none", 1e3
"""The unit of weights that count samples, and the ns that stand for one."""
MOST_LINES = 1 << 31
LONGEST_NAME = 60
"""Most characters of the exporter's name that are shown."""


@dataclass(frozen=True, eq=False)
class Thread:
    """One profile of the file."""

    name: str
    unit: str
    start_ns: Ints
    duration_ns: Ints
    stack: Ints


def read_speedscope(content: bytes, name: str) -> Profile:
    """Read a file in speedscope's format; `name` is that of the file."""
    try:
        whole = json.loads(content)
        return _profile(expect(whole, dict, "the file"), len(content), name)
    except DamageError as damage:
        raise _unreadable(name, damage) from damage
    except (ValueError, RecursionError) as error:  # ValueError: no JSON, no UTF-8, a huge number
        raise _unreadable(name, f"it is not valid JSON ({error})") from error


def _unreadable(name: str, reason: object) -> NbprofError:
    return NbprofError(f"{name} cannot be read as a speedscope file: {reason}.")


def expect(value: Any, kind: type[T], what: str) -> T:
    """Return a value of the file if it is of this kind."""
    if not isinstance(value, kind):
        raise DamageError(f"{what} should be {_KINDS[kind]}")
    return value


_KINDS: dict[type, str] = {dict: "an object", list: "an array", str: "a text"}


def _profile(whole: dict[str, Any], size: int, name: str) -> Profile:
    shared = expect(whole.get("shared"), dict, '"shared"')
    places = [*map(_place, expect(shared.get("frames"), list, '"frames"'))]
    stacks = StackNumbers(size)
    profiles = expect(whole.get("profiles"), list, '"profiles"')
    threads = [
        _thread(expect(profile, dict, f"profile {number}"), stacks, len(places), number)
        for number, profile in enumerate(profiles)
    ]
    is_timed = _is_timed({thread.unit for thread in threads})
    place, depth = stacks.frames()
    by = whole.get("exporter")
    how = f"speedscope file by {readable(by)[:LONGEST_NAME]}" if isinstance(by, str) else ""
    sampled = SampledStacks(
        places=places,
        place=place,
        depth=depth,
        start_ns=_joined([thread.start_ns for thread in threads]),
        duration_ns=_joined([thread.duration_ns for thread in threads]),
        thread=np.repeat(np.arange(len(threads)), [len(thread.stack) for thread in threads]),
        stack=_joined([thread.stack for thread in threads]),
        threads=[thread.name for thread in threads],
        timed=is_timed,
    )
    return profile_of_stacks(sampled, name, how or "speedscope file")


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _is_timed(units: set[str]) -> bool:
    if units <= set(TIMES_NS):
        return True
    if units == {COUNTED}:
        return False
    wrong = sorted(units - {*TIMES_NS, COUNTED})
    what = readable(wrong[0])[:LONGEST_NAME] if wrong else "times as well as counts of samples"
    raise DamageError(f"it holds {what}, not times or samples")


def _place(frame: Any) -> Place:
    """Return the line of a frame; without a file its name may hold it."""
    about = expect(frame, dict, "a frame")
    name = expect(about.get("name"), str, "the name of a frame")
    file, line = about.get("file"), about.get("line")
    if file is None:
        return place_of(name)
    line = 0 if line is None else line
    if type(line) is not int or not 0 <= line < MOST_LINES:
        raise DamageError("the line of a frame should be a whole number")
    return Place(expect(file, str, "the file of a frame"), line, name)


def _thread(about: dict[str, Any], stacks: StackNumbers, count: int, number: int) -> Thread:
    """Read one profile; `count` is the number of frames in the file."""
    unit = expect(about.get("unit"), str, f"the unit of profile {number}")
    unit_ns = TIMES_NS.get(unit, COUNTED_NS)
    kind = about.get("type")
    if kind == "sampled":
        start, duration, stack = _samples(about, stacks, count, unit_ns)
    elif kind == "evented":
        events = expect(about.get("events"), list, f"the events of profile {number}")
        start, duration, stack = read_events(events, stacks, count, unit_ns)
    else:
        raise DamageError(f"profile {number} is neither sampled nor evented")
    name = about.get("name")
    return Thread(name if isinstance(name, str) else "", unit, start, duration, stack)


def _samples(
    about: dict[str, Any], stacks: StackNumbers, count: int, unit_ns: float
) -> tuple[Ints, Ints, Ints]:
    """Return the start, the duration and the stack of each sample."""
    samples = expect(about.get("samples"), list, '"samples"')
    weights = expect(about.get("weights"), list, '"weights"')
    if len(samples) != len(weights):
        raise DamageError(f"it has {len(samples):,} samples but {len(weights):,} weights")
    if not set(map(type, weights)) <= {int, float}:
        raise DamageError("the weights should be numbers")
    try:
        duration = durations(weights, unit_ns)
        stack = [stacks.of_frames(array("i", sample)) for sample in samples]
    except (TypeError, OverflowError):
        raise DamageError("a sample should be an array of whole numbers") from None
    if (duration < 0).any():
        raise DamageError("a weight is negative")
    stacks.check_frames(count)
    return np.cumsum(duration) - duration, duration, np.array(stack, dtype=np.int64)
