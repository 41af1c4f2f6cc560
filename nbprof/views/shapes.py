"""With which input shapes the ops of each type ran."""

from typing import TYPE_CHECKING, Any

from nbprof.views.measure import chosen_events

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.measure import Step


def input_shapes(
    profile: "Profile", step: "Step", op_types: list[str]
) -> list[list[dict[str, Any]]]:
    """List for each op type its shapes, run counts, nodes and time; the most often run first."""
    events = chosen_events(profile, step)
    events = events.assign(op_type=profile.nodes["op_type"].to_numpy()[events["node"]])
    groups = events.groupby(["op_type", "shapes"]).agg(
        run_count=("is_run", "sum"), defined_count=("node", "nunique"), self_ns=("self_ns", "sum")
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for row in groups.reset_index().to_dict("records"):
        found.setdefault(row["op_type"], []).append(
            {
                "shapes": list(profile.shapes["inputs"].iloc[row["shapes"]]),
                "run_count": int(row["run_count"]),
                "defined_count": int(row["defined_count"]),
                "micros": row["self_ns"] / 1e3,
            }
        )
    for entries in found.values():
        entries.sort(key=lambda entry: (-entry["run_count"], entry["shapes"]))
    return [found.get(op_type, []) for op_type in op_types]
