"""The values of a checkpoint's variables, as tfprof prints them."""

from typing import Any

import numpy.typing as npt
import pandas as pd

from nbprof.errors import NbprofError
from nbprof.ingest.tfprof.checkpoint import Checkpoint

LONGEST = 10_000
"""Longest text of a value, in characters, before it is cut."""

OMITTED = "...omitted from display\n\n"


def value_table(names: list[str], checkpoint: Checkpoint | None) -> pd.DataFrame:
    """Return the values, as texts, of the nodes that are variables of the checkpoint."""
    rows: list[tuple[int, str]] = []
    if checkpoint is not None:
        known = checkpoint.variables
        nodes = [(node, name) for node, name in enumerate(names) if name in known]
        rows = [(node, _value(checkpoint, name)) for node, name in nodes]
    return pd.DataFrame(rows, columns=["node", "text"])


def _value(checkpoint: Checkpoint, name: str) -> str:
    try:
        return spell_value(checkpoint.values(name))
    except NbprofError as error:
        return str(error)


def spell_value(values: npt.NDArray[Any]) -> str:
    """Return values in nested brackets, cut if too long."""
    number = "%.2f " if values.dtype.kind == "f" else "%d "
    # A number takes at least two characters, so fewer rows fill the text.
    if values.size > LONGEST:
        shape = values.shape
        rows = max(1, -(-LONGEST * shape[0] // values.size))
        values = values[:rows]
    text = _brackets(values, number)
    return text if len(text) <= LONGEST else text[:LONGEST] + OMITTED


def _brackets(values: npt.NDArray[Any], number: str) -> str:
    if values.ndim == 0:
        return str(number % values.item())
    if values.ndim == 1:
        inner = "".join(number % value for value in values.tolist())
    else:
        inner = "".join(_brackets(part, number) for part in values)
    return f"[{inner}],\n"
