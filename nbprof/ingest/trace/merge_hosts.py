"""Many hosts, one Profile: what is the same on all of them becomes one row, and numbers add up.

All is whole numbers and unions of sets, and every table has one order, by names or by hosts. So it
does not matter which neighbours are merged first: the tables come out the same.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nbprof._profile import Profile, Recording
from nbprof.arrays import Rows
from nbprof.ingest.trace.devices import join_devices

Given = list[Profile]


def merge(profiles: Iterable[Profile]) -> Profile:
    """Merge the profiles of traces, each of hosts that no other one has."""
    given = sorted(profiles, key=lambda profile: str(profile.machines["host"].min()))
    shift_ns = _shifts(given)
    layers, layer = _layers(given)
    frames, stack = _frames(given)
    shapes, shape = _numbered([profile.shapes["shapes"].tolist() for profile in given])
    nodes, node = _nodes(given, layer)
    first_thread = np.cumsum([0, *(len(profile.threads) for profile in given)])
    events = [
        profile.events.assign(
            **_renumbered(
                profile.events,
                node=node[number],
                thread=np.arange(first_thread[number], first_thread[number + 1]),
                stack=stack[number],
                layer=layer[number],
                input_shapes=shape[number],
                output_shapes=shape[number],
            ),
            start_ns=profile.events["start_ns"] + shift_ns[number],
        )
        for number, profile in enumerate(given)
    ]
    return Profile(
        nodes=nodes,
        events=pd.concat(events, ignore_index=True),
        layers=layers,
        inputs=_inputs(given, node),
        shapes=pd.DataFrame({"shapes": shapes}, dtype=object),
        allocations=_allocations(given, node, shift_ns),
        frames=frames,
        threads=_all(given, "threads"),
        steps=_steps(given, shift_ns),
        traces=_later(_all(given, "traces"), np.repeat(shift_ns, _lengths(given, "traces"))),
        spent=_all(given, "spent"),
        machines=_all(given, "machines"),
        recording=_recording(given, shift_ns),
        notes=tuple(dict.fromkeys(note for profile in given for note in profile.notes)),
    )


def _all(given: Given, table: str) -> pd.DataFrame:
    """Put the rows of all hosts below each other, those of an earlier host first."""
    tables: list[pd.DataFrame] = [getattr(profile, table) for profile in given]
    return pd.concat(tables, ignore_index=True)


def _lengths(given: Given, table: str) -> list[int]:
    return [len(getattr(profile, table)) for profile in given]


def _numbered(keys: Sequence[Sequence[Hashable]]) -> tuple[list[Any], list[Rows]]:
    """Number the distinct keys of all hosts in their order; give them, and each host's numbers.

    The last number of a host is that of -1, none.
    """
    distinct: list[Any] = sorted({key for own in keys for key in own})
    number = {key: place for place, key in enumerate(distinct)}
    return distinct, [np.array([*(number[key] for key in own), -1], dtype=np.intp) for own in keys]


def _renumbered(events: pd.DataFrame, **numbers: Rows) -> dict[str, Any]:
    return {
        name: number[events[name].to_numpy()].astype(np.int32) for name, number in numbers.items()
    }


def _shifts(given: Given) -> list[int]:
    """Say by how much each one's times are later than the first one's; 0 if a clock is not known.

    The times of a Profile count from the start of its first host.
    """
    starts = [int(profile.machines["start_ns"].min()) for profile in given]
    return [start - min(starts) if min(starts) else 0 for start in starts]


def _nodes(given: Given, layer: list[Rows]) -> tuple[pd.DataFrame, list[Rows]]:
    """Make one node of those that have the same name and type; it ran on all their devices."""
    keys = [
        list(zip(profile.nodes["name"], profile.nodes["op_type"], strict=True)) for profile in given
    ]
    _, number = _numbered(keys)
    row = np.concatenate([own[:-1] for own in number])
    whole = _all(given, "nodes")
    whole["layer"] = np.concatenate(
        [own[profile.nodes["layer"].to_numpy()] for own, profile in zip(layer, given, strict=True)]
    ).astype(np.int32)
    _, first = np.unique(row, return_index=True)
    nodes = whole.iloc[first].reset_index(drop=True)
    devices = pd.DataFrame({"row": row, "device": whole["device"]}).drop_duplicates()
    several = devices[devices.duplicated("row", keep=False)]
    names = nodes["device"].tolist()
    for which, texts in several.groupby("row")["device"]:
        names[int(str(which))] = join_devices(texts)
    nodes["device"] = pd.Series(names, dtype=object)
    return nodes, number


def _layers(given: Given) -> tuple[pd.DataFrame, list[Rows]]:
    paths = [_paths(profile.layers) for profile in given]
    distinct, number = _numbered(paths)
    place = {path: row for row, path in enumerate(distinct)}
    rows = [(*path[-1], place.get(path[:-1], -1)) for path in distinct]
    return pd.DataFrame(rows, columns=["name", "kind", "parent"]), number


def _paths(layers: pd.DataFrame) -> list[Hashable]:
    """Give for each layer the names and kinds of those around it and its own."""
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


def _frames(given: Given) -> tuple[pd.DataFrame, list[Rows]]:
    """Number the stacks that are the same, frame by frame, on all hosts."""
    columns = [name for name in given[0].frames.columns if name != "stack"]
    stacks: list[list[Hashable]] = []
    for profile in given:
        rows = profile.frames[columns].itertuples(index=False, name=None)
        found: dict[int, list[Any]] = {}
        for stack, row in zip(profile.frames["stack"].tolist(), rows, strict=True):
            found.setdefault(stack, []).append(row)
        stacks.append([tuple(found.get(stack, ())) for stack in range(max(found, default=-1) + 1)])
    distinct, number = _numbered(stacks)
    listed = [(place, *frame) for place, stack in enumerate(distinct) for frame in stack]
    frames = pd.DataFrame(listed, columns=["stack", *columns], dtype=object)
    return frames.astype({"stack": np.int64, "line": np.int64, "framework": bool}), number


def _inputs(given: Given, node: list[Rows]) -> pd.DataFrame:
    tables = [
        profile.inputs.assign(
            node=own[profile.inputs["node"].to_numpy(np.intp)],
            source=own[profile.inputs["source"].to_numpy(np.intp)],
        )
        for own, profile in zip(node, given, strict=True)
    ]
    whole = pd.concat(tables, ignore_index=True).drop_duplicates()
    return whole.sort_values(["node", "position", "source", "shape"], ignore_index=True)


def _allocations(given: Given, node: list[Rows], shift_ns: list[int]) -> pd.DataFrame:
    first = np.cumsum([0, *_lengths(given, "events")])
    tables = []
    for number, profile in enumerate(given):
        made = profile.allocations
        event = made["event"].to_numpy()
        tables.append(
            made.assign(
                event=np.where(event < 0, -1, event + first[number]),
                node=node[number][made["node"].to_numpy()],
                start_ns=made["start_ns"] + shift_ns[number],
                end_ns=made["end_ns"] + shift_ns[number],
            )
        )
    return pd.concat(tables, ignore_index=True)


def _later(table: pd.DataFrame, shift_ns: Any) -> pd.DataFrame:
    """Move `start_micros`, in whole ns, so that moving twice is moving once by the sum."""
    start_ns = np.rint(table["start_micros"].to_numpy(np.float64) * 1e3)
    return table.assign(start_micros=(start_ns + shift_ns) / 1e3)


def _steps(given: Given, shift_ns: list[int]) -> pd.DataFrame:
    """Make one step of those with the same number: from its first start, as long as the longest."""
    tables = [_later(one.steps, shift) for one, shift in zip(given, shift_ns, strict=True)]
    by_step = pd.concat(tables, ignore_index=True).groupby("step", sort=True)
    how: dict[str, str | Callable[..., Any]] = {
        **{"start_micros": "min", "micros": "max", "function": "min", "traced": "any"},
    }
    return by_step.agg(how).reset_index()


def _recording(given: Given, shift_ns: list[int]) -> Recording:
    count = sum(_lengths(given, "machines"))
    walls = [
        profile.recording.wall_ns + shift for profile, shift in zip(given, shift_ns, strict=True)
    ]
    hows = {part for profile in given for part in profile.recording.how.split(", ")}
    return Recording(
        what=f"{count:,} hosts",
        how=", ".join(sorted(hows)),
        wall_ns=max(walls),
        cost_ns=0,
        traced_ns=max(walls),
        has_stacks=all(profile.recording.has_stacks for profile in given),
        has_definitions=all(profile.recording.has_definitions for profile in given),
        single_runs=all(profile.recording.single_runs for profile in given),
    )
