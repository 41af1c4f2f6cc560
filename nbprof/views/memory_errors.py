"""Read from an exception's message how much memory could not be allocated."""

import re
from dataclasses import dataclass
from math import nan, prod

_TENSOR = re.compile(
    r"OOM when allocating tensor with shape(?P<shape>\[[\d,]{0,400}\]) and type (?P<dtype>\w+)"
    r"(?: on (?P<device>\S+))?"
)
_ARRAY = re.compile(
    r"for an array with shape (?P<shape>\([\d, ]{0,400}\)) and data type (?P<dtype>\S+)"
)
_AMOUNT = re.compile(
    r"allocat\w{1,4} (?P<number>\d[\d.]{0,20}) ?(?P<unit>[KMGTPE]?)i?(?:bytes|B)\b"
)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_OP_TYPE = re.compile(r"\[Op:(?!__)(\w+)\]")
_FUNCTION = re.compile(r"\[Op:__inference_(\w+)_\d+\]")
_UNITS = ("", *"KMGTPE")
_ITEM_BYTES = {"float": 4, "double": 8, "half": 2, "bool": 1}
"""Bytes of one element, of types whose names do not state their bits."""


@dataclass(frozen=True, kw_only=True)
class MemoryRequest:
    """An allocation that failed; what the message does not say is NaN or empty."""

    asked_bytes: float = nan
    shape: str = ""
    """Such as `[512,1024]`."""
    dtype: str = ""
    device: str = ""
    """Such as `CPU:0`."""
    op: str = ""
    """The name of the graph's node that asked, or of the function that XLA compiled."""
    op_type: str = ""
    """The type of the eager op that asked."""


def read_message(message: str) -> MemoryRequest:
    """Read the message of TensorFlow, XLA or numpy."""
    node = _NODE.search(message) or _FUNCTION.search(message)
    op_type = None if node else _OP_TYPE.search(message)
    who = {"op": node[1] if node else "", "op_type": op_type[1] if op_type else ""}
    found = _TENSOR.search(message)
    device = (found["device"] or "").rpartition("/device:")[2] if found else ""
    found = found or _ARRAY.search(message)
    if not found:
        return MemoryRequest(asked_bytes=_amount(message), **who)
    dims = re.findall(r"\d+", found["shape"])
    return MemoryRequest(
        asked_bytes=prod(map(int, dims)) * _item_bytes(found["dtype"]),
        shape=f"[{','.join(dims)}]",
        dtype=found["dtype"],
        device=device,
        **who,
    )


def _amount(message: str) -> float:
    """Return the bytes in a sentence such as `… trying to allocate 4.00TiB`."""
    found = _AMOUNT.search(message)
    if not found or found["number"].count(".") > 1:
        return nan
    return float(found["number"]) * 1024.0 ** _UNITS.index(found["unit"])


def _item_bytes(dtype: str) -> float:
    bits = re.search(r"\d{1,3}$", dtype)
    return _ITEM_BYTES.get(dtype, int(bits[0]) / 8 if bits else nan)
