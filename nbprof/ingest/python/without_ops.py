"""The tables of ops, all empty, for a profile of Python alone."""

from typing import Any

from nbprof.columns import summed_columns
from nbprof.lazy_tables import empty


def _whole(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "int64")


def _numbers(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "float64")


def _texts(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "object")


def _truths(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "bool")


def tables_without_ops() -> dict[str, Any]:
    """Return functions that make the tables of ops without any rows."""
    return {
        "nodes": empty(
            **_texts("name op_type kernel device data_format shape types"),
            **_truths("fused trainable"),
            **_numbers("params"),
            **_whole("layer"),
        ),
        "events": empty(
            **_whole("node step thread start_ns duration_ns self_ns stack layer"),
            **_whole("input_shapes output_shapes"),
            **_truths("is_run accelerator backward"),
            **_numbers(" ".join(summed_columns())),
        ),
        "layers": empty(**_texts("name kind"), **_whole("parent")),
        "inputs": empty(**_whole("node position source"), **_texts("shape")),
        "shapes": empty(**_texts("shapes")),
        "allocations": empty(
            **_whole("event node start_ns bytes"),
            **_texts("device region shape dtype"),
            **_numbers("end_ns"),
        ),
        "steps": empty(
            **_whole("step"),
            **_numbers("start_micros micros"),
            **_texts("function"),
            **_truths("traced in_detail"),
        ),
        "traces": empty(
            **_texts("function changed"), **_whole("count step"), **_numbers("start_micros micros")
        ),
    }
