"""The values of variables in a checkpoint, as tfprof prints them."""

from typing import Any

import numpy.typing as npt
import pandas as pd

from nbprof.errors import NbprofError
from nbprof.ingest.tfprof.checkpoint import Checkpoint

LONGEST = 10_000
OMITTED = "...omitted from display\n\n"


def value_table(names: list[str], checkpoint: Checkpoint | None) -> pd.DataFrame:
    """List the values of the nodes that are variables of the checkpoint, as texts."""
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
    """Write nested brackets; what is too long is cut."""
    number = "%.2f " if values.dtype.kind == "f" else "%d "
    # A number takes two letters at least.
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
