"""Number the distinct rows of some columns, in order of first occurrence."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.arrays import Ints, Rows

if TYPE_CHECKING:
    import numpy.typing as npt


def number_rows(*columns: "npt.NDArray[Any]") -> tuple[Rows, Ints]:
    """Return the first occurrence of each distinct row, and the number of every row.

    Unlike `groupby`, this takes texts with lone surrogates.
    """
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes, distinct = pd.factorize(column)
        number = pd.factorize(number * max(len(distinct), 1) + codes)[0].astype(np.int64)
    return np.unique(number, return_index=True)[1], number
