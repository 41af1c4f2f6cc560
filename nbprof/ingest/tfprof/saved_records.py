"""The records of a saved profile: what ran, as far as tfprof keeps it."""

from collections.abc import Mapping

import numpy as np

from nbprof.arrays import NONE, Ints, Mask
from nbprof.ingest.tfprof.graph_def import count_up
from nbprof.ingest.tfprof.profile_source import Records, check_times
from nbprof.protos.saved_profile import ExecMemory, Execs


def read_records(execs: Execs, row_of_place: Ints, number: Mapping[str, int]) -> Records:
    """Make a row of each time on a device, and of each device that has no times.

    `row_of_place` is the node of each node in the file, `number` that of each device; the last of
    these stands for an exec that names none.
    """
    table = execs.times
    owner = table.owner[table.times.owner]
    device = _numbers(table.device.strings(), number)[table.times.owner]
    accelerator = table.is_accelerator[table.times.owner]
    idle_owner, idle_device = _idle(execs, owner, device, number)
    nothing = np.zeros(len(idle_owner), dtype=np.int64)
    never = nothing.astype(bool)
    begin = execs.all_start_micros[idle_owner]
    lasted = np.where(begin > 0, execs.latest_end_micros[idle_owner] - begin, 0)

    exec_of_row = np.append(owner, idle_owner)
    start = np.append(table.times.start_micros, begin)
    check_times(start)
    is_run = np.append(~accelerator, never)
    node = row_of_place[execs.owner]
    order = np.lexsort((exec_of_row, execs.step[exec_of_row]))
    order = order[_counts(execs, node)[exec_of_row[order]]]
    memory = _held(execs.memory, exec_of_row, is_run, len(execs))
    return Records(
        node=node[exec_of_row][order],
        step=execs.step[exec_of_row][order],
        device=np.append(device, idle_device)[order],
        start=start[order],
        micros=np.append(table.times.micros, nothing)[order],
        duration=np.append(table.times.micros, lasted)[order],
        is_run=is_run[order],
        accelerator=np.append(accelerator, never)[order],
        **{name: values[order] for name, values in memory.items()},
    )


def _numbers(devices: list[str], number: Mapping[str, int]) -> Ints:
    return np.array([number[name] for name in devices], dtype=np.int64)


def _counts(execs: Execs, node: Ints) -> Mask:
    """Tell which execs count: those of known nodes, the last of each step."""
    pairs = zip(execs.owner.tolist(), execs.step.tolist(), strict=True)
    last = {pair: place for place, pair in enumerate(pairs)}
    counts = np.zeros(len(execs), dtype=bool)
    counts[np.fromiter(last.values(), np.int64, len(last))] = True
    counts[node == NONE] = False
    return counts


def _idle(execs: Execs, owner: Ints, device: Ints, number: Mapping[str, int]) -> tuple[Ints, Ints]:
    """Give the devices on which an exec was seen without times; a nameless one if on none."""
    seen = execs.devices.owner
    seen_on = _numbers(execs.devices.text.strings(), number)
    width = len(number)
    idle = ~np.isin(seen * width + seen_on, owner * width + device)
    bare = np.setdiff1d(np.arange(len(execs)), np.append(owner, seen[idle]))
    nameless = np.full(len(bare), width - 1)
    return np.append(seen[idle], bare), np.append(seen_on[idle], nameless)


def _held(memory: ExecMemory, exec_of_row: Ints, is_run: Mask, count: int) -> dict[str, Ints]:
    """Give each run what its exec held then; what is left over belongs to the exec's first row."""
    first = np.zeros(count, dtype=np.int64)
    first[exec_of_row[::-1]] = np.arange(len(exec_of_row))[::-1]
    runs = np.flatnonzero(is_run)
    owner = exec_of_row[runs]
    places = zip(owner.tolist(), count_up(owner).tolist(), strict=True)
    row_of = dict(zip(places, runs.tolist(), strict=True))
    pairs = zip(memory.owner.tolist(), count_up(memory.owner).tolist(), strict=True)
    rows = np.array([row_of.get(pair, first[pair[0]]) for pair in pairs], dtype=np.int64)
    columns = {
        "bytes": memory.requested_bytes,
        "peak_bytes": memory.peak_bytes,
        "residual_bytes": memory.residual_bytes,
        "output_bytes": memory.output_bytes,
    }
    sums = {name: np.zeros(len(exec_of_row), dtype=np.int64) for name in columns}
    for name, values in columns.items():
        np.add.at(sums[name], rows, values)
    return sums
