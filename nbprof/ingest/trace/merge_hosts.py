"""Merge the profiles of many hosts: what they share becomes one row, and numbers add up.

Only whole numbers are added and only sets are joined, and every table is sorted by names or by
hosts. So the result does not depend on which hosts are merged first.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from nbprof._profile import Profile
from nbprof.arrays import Rows
from nbprof.ingest.trace.attribution.devices import join_devices
from nbprof.note import joined
from nbprof.recording import Recording

Numbers = list[Rows]
"""For each profile, the new row of each old row; the last entry maps -1 (none) to -1."""


def merge(profiles: Iterable[Profile]) -> Profile:
    """Merge the profiles of traces, no two of which share a host."""
    profiles = sorted(profiles, key=lambda profile: str(profile.machines["host"].min()))
    shift_ns = _shifts(profiles)
    layers, layer = _layers(profiles)
    frames, stack = _frames(profiles)
    shapes, shape = _numbered([profile.shapes["shapes"].tolist() for profile in profiles])
    nodes, node = _nodes(profiles, layer)
    numbers = {
        **{"node": node, "thread": _threads(profiles), "stack": stack, "layer": layer},
        **{"input_shapes": shape, "output_shapes": shape},
    }
    return Profile(
        nodes=nodes,
        events=_events(profiles, numbers, shift_ns),
        layers=layers,
        inputs=_inputs(profiles, node),
        shapes=pd.DataFrame({"shapes": shapes}, dtype=object),
        allocations=_allocations(profiles, node, shift_ns),
        frames=frames,
        threads=_concatenated(profiles, "threads"),
        steps=_steps(profiles, shift_ns),
        traces=_shifted(
            _concatenated(profiles, "traces"), np.repeat(shift_ns, _lengths(profiles, "traces"))
        ),
        spent=_concatenated(profiles, "spent"),
        machines=_concatenated(profiles, "machines"),
        recording=_recording(profiles, shift_ns),
        notes=joined(note for profile in profiles for note in profile.notes),
    )


def _concatenated(profiles: list[Profile], table: str) -> pd.DataFrame:
    """Return one table of all profiles, concatenated."""
    tables: list[pd.DataFrame] = [getattr(profile, table) for profile in profiles]
    return pd.concat(tables, ignore_index=True)


def _lengths(profiles: list[Profile], table: str) -> list[int]:
    return [len(getattr(profile, table)) for profile in profiles]


def _threads(profiles: list[Profile]) -> Numbers:
    first = np.cumsum([0, *_lengths(profiles, "threads")])
    return [np.append(np.arange(*bounds), -1) for bounds in pairwise(first)]


def _events(
    profiles: list[Profile], numbers: dict[str, Numbers], shift_ns: list[int]
) -> pd.DataFrame:
    tables = []
    for host, events in enumerate(profile.events for profile in profiles):
        renumbered: dict[str, Any] = {
            name: rows[host][events[name].to_numpy()].astype(np.int32)
            for name, rows in numbers.items()
        }
        tables.append(events.assign(**renumbered, start_ns=events["start_ns"] + shift_ns[host]))
    return pd.concat(tables, ignore_index=True)


def _numbered(keys: Sequence[Sequence[Hashable]]) -> tuple[list[Any], Numbers]:
    """Return the sorted distinct keys of all profiles, and where each profile's keys went."""
    distinct: list[Any] = sorted({key for own in keys for key in own})
    number = {key: place for place, key in enumerate(distinct)}
    return distinct, [np.array([*(number[key] for key in own), -1], dtype=np.intp) for own in keys]


def _shifts(profiles: list[Profile]) -> list[int]:
    """Return how much later than the first each profile begins, in ns; 0 if a clock is unknown.

    The times of a Profile count from the start of its first host.
    """
    starts = [int(profile.machines["start_ns"].min()) for profile in profiles]
    return [start - min(starts) if min(starts) else 0 for start in starts]


def _nodes(profiles: list[Profile], layer: Numbers) -> tuple[pd.DataFrame, Numbers]:
    """Merge the nodes with the same name and type; the result ran on all their devices."""
    keys = [
        list(zip(profile.nodes["name"], profile.nodes["op_type"], strict=True))
        for profile in profiles
    ]
    _, number = _numbered(keys)
    row = np.concatenate([own[:-1] for own in number])
    every_node = _concatenated(profiles, "nodes")
    every_node["layer"] = np.concatenate(
        [
            own[profile.nodes["layer"].to_numpy()]
            for own, profile in zip(layer, profiles, strict=True)
        ]
    ).astype(np.int32)
    _, first = np.unique(row, return_index=True)
    nodes = every_node.iloc[first].reset_index(drop=True)
    devices = pd.DataFrame({"row": row, "device": every_node["device"]}).drop_duplicates()
    several = devices[devices.duplicated("row", keep=False)]
    names = nodes["device"].tolist()
    for merged, texts in several.groupby("row")["device"]:
        names[int(str(merged))] = join_devices(texts)
    nodes["device"] = pd.Series(names, dtype=object)
    return nodes, number


def _layers(profiles: list[Profile]) -> tuple[pd.DataFrame, Numbers]:
    paths = [_paths(profile.layers) for profile in profiles]
    distinct, number = _numbered(paths)
    row_of_path = {path: row for row, path in enumerate(distinct)}
    rows = [(*path[-1], row_of_path.get(path[:-1], -1)) for path in distinct]
    return pd.DataFrame(rows, columns=["name", "kind", "parent"]), number


def _paths(layers: pd.DataFrame) -> list[Hashable]:
    """Return the path to each layer: names and kinds, outermost first."""
    own = list(zip(layers["name"], layers["kind"], strict=True))
    parent = layers["parent"].tolist()
    paths: list[Hashable] = []
    for row in range(len(own)):
        path, above = [own[row]], parent[row]
        while above >= 0:
            path.insert(0, own[above])
            above = parent[above]
        paths.append(tuple(path))
    return paths


def _frames(profiles: list[Profile]) -> tuple[pd.DataFrame, Numbers]:
    """Merge the stacks whose frames are all the same."""
    columns = [name for name in profiles[0].frames.columns if name != "stack"]
    stacks: list[list[Hashable]] = []
    for profile in profiles:
        rows = profile.frames[columns].itertuples(index=False, name=None)
        found: dict[int, list[Any]] = {}
        for stack, row in zip(profile.frames["stack"].tolist(), rows, strict=True):
            found.setdefault(stack, []).append(row)
        stacks.append([tuple(found.get(stack, ())) for stack in range(max(found, default=-1) + 1)])
    distinct, number = _numbered(stacks)
    listed = [(place, *frame) for place, stack in enumerate(distinct) for frame in stack]
    frames = pd.DataFrame(listed, columns=["stack", *columns], dtype=object)
    return frames.astype({"stack": np.int64, "line": np.int64, "framework": bool}), number


def _inputs(profiles: list[Profile], node: Numbers) -> pd.DataFrame:
    tables = [
        profile.inputs.assign(
            node=own[profile.inputs["node"].to_numpy(np.intp)],
            source=own[profile.inputs["source"].to_numpy(np.intp)],
        )
        for own, profile in zip(node, profiles, strict=True)
    ]
    inputs = pd.concat(tables, ignore_index=True).drop_duplicates()
    return inputs.sort_values(["node", "position", "source", "shape"], ignore_index=True)


def _allocations(profiles: list[Profile], node: Numbers, shift_ns: list[int]) -> pd.DataFrame:
    first = np.cumsum([0, *_lengths(profiles, "events")])
    tables = []
    for number, profile in enumerate(profiles):
        allocations = profile.allocations
        event = allocations["event"].to_numpy()
        tables.append(
            allocations.assign(
                event=np.where(event < 0, -1, event + first[number]),
                node=node[number][allocations["node"].to_numpy()],
                start_ns=allocations["start_ns"] + shift_ns[number],
                end_ns=allocations["end_ns"] + shift_ns[number],
            )
        )
    return pd.concat(tables, ignore_index=True)


def _shifted(table: pd.DataFrame, shift_ns: Any) -> pd.DataFrame:
    """Shift `start_micros` in whole ns, so that two shifts equal one shift by their sum."""
    start_ns = np.rint(table["start_micros"].to_numpy(np.float64) * 1e3)
    return table.assign(start_micros=(start_ns + shift_ns) / 1e3)


def _steps(profiles: list[Profile], shift_ns: list[int]) -> pd.DataFrame:
    """Merge steps of the same number: start with the earliest, last as long as the longest."""
    tables = [
        _shifted(profile.steps, shift) for profile, shift in zip(profiles, shift_ns, strict=True)
    ]
    by_step = pd.concat(tables, ignore_index=True).groupby("step", sort=True)
    how: dict[str, str | Callable[..., Any]] = {
        **{"start_micros": "min", "micros": "max", "function": "min", "traced": "any"},
        "in_detail": "all",
    }
    return by_step.agg(how).reset_index()


def _recording(profiles: list[Profile], shift_ns: list[int]) -> Recording:
    count = sum(_lengths(profiles, "machines"))
    walls = [
        profile.recording.wall_ns + shift for profile, shift in zip(profiles, shift_ns, strict=True)
    ]
    hows = {part for profile in profiles for part in profile.recording.how.split(", ")}
    return Recording(
        what=f"{count:,} hosts",
        how=", ".join(sorted(hows)),
        wall_ns=max(walls),
        cost_ns=0,
        traced_ns=max(walls),
        has_stacks=all(profile.recording.has_stacks for profile in profiles),
        has_definitions=all(profile.recording.has_definitions for profile in profiles),
        single_runs=all(profile.recording.single_runs for profile in profiles),
        outside_ops_bytes=sum(profile.recording.outside_ops_bytes for profile in profiles),
    )
