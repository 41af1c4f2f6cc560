"""What the process still holds after a measured run, examined thoroughly (about a second)."""

import gc
import math
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from nbprof.memory.counted_once import shallow_size
from nbprof.memory.malloc_stats import trim
from nbprof.memory.result import Held
from nbprof.memory.watermark import watermark


def find_held() -> Held:
    """Collect garbage, size all objects, and have the allocator return what it can."""
    gc.collect()
    owner = watermark()
    stretch = owner.open()
    objects = all_objects()
    python_objects = float(sum(map(shallow_size, objects.values())))
    tensors = _tensor_bytes(objects.values())
    del objects
    before = owner.sample(stretch).resident
    trimmed = trim()
    after = owner.close(stretch).resident
    return Held(
        after_collection=stretch.before,
        python_objects=python_objects,
        tensors=tensors,
        returned=max(0.0, float(before - after)) if trimmed else math.nan,
    )


def all_objects() -> dict[int, Any]:
    """Return, by id, all objects the garbage collector tracks and those they refer to directly.

    Modules are not followed: in Python 3.12 asyncio's also refers to iterators that wait to be
    reused, and releasing one of them crashes the process.
    """
    tracked = [value for value in gc.get_objects() if not isinstance(value, ModuleType)]
    objects = dict(zip(map(id, tracked), tracked, strict=True))
    referents = gc.get_referents(*tracked)
    objects.update(zip(map(id, referents), referents, strict=True))
    for own in (tracked, referents, objects):
        objects.pop(id(own), None)
    return objects


def _tensor_bytes(objects: Iterable[Any]) -> float:
    if "tensorflow" not in sys.modules:
        return math.nan
    from nbprof.memory.tensor_sizes import tensor_bytes

    return float(sum(tensor_bytes(value) or 0 for value in objects))
