"""Remember where eager ops were called, for the gradients that a tape computes of them later.

A tape hands the tensors that an op took and returned to the function that computes its gradient.
Every eager tensor has a number of its own, so that the call which made or took it can be found.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from nbprof.arrays import NONE
from nbprof.capture.compat import tensor_shapes

MOST_CALLS = 20_000
"""Calls in a generation; those before the latest two generations are forgotten."""
MOST_OPS = 1 << 16
"""Factor that packs a tensor's id and the number of an op type into one key."""
RETURNED = 0
"""Stands for the op of a tensor that a call returned."""


class ForwardSites:
    """The sites of the latest eager calls by the tensors they took and returned.

    Keys are whole numbers, made of a tensor's number and that of the op which took it: tuples would
    trigger garbage collections in the user's code.
    """

    def __init__(self) -> None:
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}
        self._calls = 0
        self._ops: dict[str | bytes, int] = {}

    def remember(self, op: str | bytes, taken: Iterable[Any], returned: Any, site: int) -> None:
        """Note the site of a call of an op."""
        sites, tensor = self._young, tensor_shapes.eager_tensor()
        for made in returned if type(returned) is list else (returned,):
            if type(made) is tensor:
                sites[made._id * MOST_OPS + RETURNED] = site
        number = self._ops.setdefault(op, len(self._ops) + 1)
        for value in taken:
            for used in value if type(value) is list else (value,):
                if type(used) is tensor:
                    key = used._id * MOST_OPS + number
                    # Two lines may give the same tensor to the same kind of op.
                    sites[key] = site if sites.get(key, site) == site else NONE
        self._calls += 1
        if self._calls >= MOST_CALLS:
            self._young, self._old, self._calls = {}, sites, 0

    def of_gradient(self, names: Mapping[str, Any]) -> int:
        """Return the site of the op whose gradient is computed, NONE if it is not certain.

        `names` are the local names of TensorFlow's function that computes the gradient of an op.
        """
        number = self._ops.get(names.get("op_name", ""), MOST_OPS - 1)
        tensor = tensor_shapes.eager_tensor()
        keys = [
            value._id * MOST_OPS + role
            for name, role in (("outputs", RETURNED), ("inputs", number))
            for value in names.get(name) or ()
            if type(value) is tensor
        ]
        found = {self._young.get(key, self._old.get(key, NONE)) for key in keys} - {NONE}
        return found.pop() if len(found) == 1 else NONE
