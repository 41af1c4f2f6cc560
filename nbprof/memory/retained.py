"""What is held after a measured stretch, looked at thoroughly: it takes a second or so."""

import gc
import math
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from nbprof.memory.malloc_stats import trim
from nbprof.memory.result import Held
from nbprof.memory.watermark import watermark


def held() -> Held:
    """Collect garbage, add objects up, and have the allocator return what it can."""
    gc.collect()
    owner = watermark()
    stretch = owner.open()
    after_collection = stretch.before
    objects = everything()
    python_objects = float(sum(map(_size, objects.values())))
    tensors = _tensors(objects.values())
    del objects
    before = owner.sample(stretch).resident
    trimmed = trim()
    after = owner.close(stretch).resident
    returned = max(0.0, float(before - after)) if trimmed else math.nan
    return Held(after_collection, python_objects, tensors, returned)


def everything() -> dict[int, Any]:
    """Find all objects that Python's collector knows, and what they refer to directly.

    Modules are not asked for more than their names: in Python 3.12 asyncio's also refers to
    iterators that are waiting to be used again, and letting go of one ends the process.
    """
    tracked = [value for value in gc.get_objects() if not isinstance(value, ModuleType)]
    objects = dict(zip(map(id, tracked), tracked, strict=True))
    referred = gc.get_referents(*tracked)
    objects.update(zip(map(id, referred), referred, strict=True))
    for own in (tracked, referred, objects):
        objects.pop(id(own), None)
    return objects


def _size(value: Any) -> int:
    try:
        return sys.getsizeof(value)
    except Exception:  # noqa: BLE001 the __sizeof__ of anybody's class
        return 0


def _tensors(objects: Iterable[Any]) -> float:
    if "tensorflow" not in sys.modules:
        return math.nan
    from nbprof.memory.tensor_sizes import tensor_bytes

    return float(sum(tensor_bytes(value) or 0 for value in objects))
