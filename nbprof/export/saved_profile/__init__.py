"""The file in which tfprof saves a profile, a ProfileProto."""

from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.saved_profile.node_columns import saved_profile
from nbprof.export.saved_profile.proto_writer import write_profile_proto

if TYPE_CHECKING:
    from nbprof._profile import Profile


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write a file that tfprof opens (`ProfilerFromFile`, `--profile_path`).

    tfprof shows what nbprof shows of a profile from `load_tfprof`. Not kept, for want of a place:
    inputs from nodes that are not known, shapes of outputs that nobody takes, the values of a
    checkpoint, attributes but for `data_format`, and what only tfprof's timeline draws, the
    allocations on GPUs. Of a captured cell, times become whole µs (sums stay right to half a µs per
    node and step), a node has one call stack and the mean of its float_ops, and layers, threads,
    traces, shapes at run time and the summary are left out; two nodes of one name get different
    ones.
    """
    file.write(write_profile_proto(saved_profile(profile)))
