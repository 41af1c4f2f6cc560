"""Times: ns spelled as µs with three decimals, exactly."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from nbprof.arrays import Ints

DECIMALS = np.array([f"{number:03d}" for number in range(1000)], dtype=object)


def format_micros(ns: int) -> str:
    """Spell one time."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def split_micros(ns: "Ints") -> "tuple[Ints, npt.NDArray[np.object_]]":
    """Give of many times the whole µs and the decimals, to be put around a dot."""
    whole, rest = np.divmod(ns, 1000)
    return whole, DECIMALS[rest]
