"""Cut `gpu-bert-2020.xplane.pb.gz` from the whole trace (see README.md in this folder).

Run it as `python cut_gpu_trace.py whole.xplane.pb gpu-bert-2020.xplane.pb.gz`.
"""

import gzip
import sys
from pathlib import Path

from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

HOUSEKEEPING = ("ExecutorPropagateOutputs", "ExecutorDoneCallback")
"""Events of the runtime's own, which say nothing about ops."""
STATISTICS = ("bytes_reserved", "bytes_available", "fragmentation", "peak_bytes_in_use")
"""Stats of allocators, which every allocation repeats."""


def cut(space):
    """Remove the machine's address, housekeeping, and metadata that nothing refers to."""
    del space.hostnames[:]
    for plane in space.planes:
        names = {key: each.name for key, each in plane.event_metadata.items()}
        stats = {key: each.name for key, each in plane.stat_metadata.items()}
        events, used = set(), {stat.metadata_id for stat in plane.stats}
        for line in plane.lines:
            kept = [each for each in line.events if names[each.metadata_id] not in HOUSEKEEPING]
            for event in kept:
                chosen = [each for each in event.stats if stats[each.metadata_id] not in STATISTICS]
                keep(event.stats, chosen)
                events.add(event.metadata_id)
                used.update(stat.metadata_id for stat in event.stats)
                used.update(
                    stat.ref_value
                    for stat in event.stats
                    if stat.WhichOneof("value") == "ref_value"
                )
            keep(line.events, kept)
        for table, wanted in ((plane.event_metadata, events), (plane.stat_metadata, used)):
            for key in set(table) - wanted:
                del table[key]
    return space


def keep(field, chosen):
    """Leave only the chosen messages in a repeated field."""
    copies = [type(each).FromString(each.SerializeToString()) for each in chosen]
    del field[:]
    field.extend(copies)


if __name__ == "__main__":
    whole, target = map(Path, sys.argv[1:])
    space = XSpace.FromString(whole.read_bytes())
    data = cut(space).SerializeToString(deterministic=True)
    target.write_bytes(gzip.compress(data, 9, mtime=0))
