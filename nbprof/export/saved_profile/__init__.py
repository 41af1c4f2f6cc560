"""The file format in which tfprof saves profiles, ProfileProto."""

from typing import TYPE_CHECKING, BinaryIO

from nbprof.export.saved_profile.node_columns import saved_profile
from nbprof.export.saved_profile.proto_writer import write_profile_proto

if TYPE_CHECKING:
    from nbprof._profile import Profile


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write a file that tfprof opens (`ProfilerFromFile`, `--profile_path`).

    For a profile from `load_tfprof`, tfprof then shows what nbprof shows. The format has no place
    for inputs from unknown nodes, shapes of unused outputs, checkpoint values, attributes other
    than `data_format`, and allocations on GPUs, which only tfprof's timeline draws.

    For a captured cell, times become whole µs (sums stay right to half a µs per node and step), a
    node has one call stack and its mean float_ops, and nodes that share a name are renamed.
    Layers, threads, traces, run-time shapes and the summary are left out.
    """
    file.write(write_profile_proto(saved_profile(profile)))
