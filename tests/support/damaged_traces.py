"""Damage good traces as an adversary or a full disk would, and read them.

In `tests/`, `python -m support.damaged_traces 3 0 1000` reads the first thousand traces of round 3
with limits on memory and time; `python -m support.damaged_traces 3 17 18 --keep x.xplane.pb`
also keeps that one.
"""

import argparse
import faulthandler
import resource
import signal
import struct
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from support.paths import DATA
from support.xspace_bytes import (
    Unsigned,
    Written,
    event,
    fixed32,
    fixed64,
    line,
    number,
    payload,
    plane,
    space,
    varint,
)

from nbprof.ingest.protobuf.varints import first_varint

MEMORY = 1_500_000_000
"""Limit on the address space in bytes, including libraries."""
LONGEST = 30
"""Seconds after which a read counts as hung, a thousand times what it usually takes."""
REAL = DATA / "traces" / "small.xplane.pb"
"""A recorded trace: an eager op, a function, a compiled function and an input pipeline."""

ABSURD = (0, 1, 127, 128, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
"""Numbers at the limits of integer types."""
DEEP = 3000
"""Maximum depth of nested messages."""

# Good traces


def cpu():
    allocation = {"allocator_name": "cpu", "requested_bytes": 256, "addr": 64, "id": 7}
    shaped = {"region_type": "output", "shape": "[8,8]", "data_type": 1, "tf_op": "a/MatMul"}
    main = [
        event("step", 0, 900, {"tf_function_call": "notTraced-nonXla", "tracing_count": 1}),
        event("EagerExecute", 10, 800, {"eager_op": "__inference_step_1", "is_func": 1}),
        event("FunctionRun", 20, 700, {"id": 7, "_r": 1}),
        event("EagerExecute", 1000, 90, {"eager_op": "Mul", "is_func": 0}),
        event("KernelAndDeviceFunc::Run", 1010, 70),
    ]
    worker = [
        event("ExecutorState::Process", 30, 600, {"id": 7, "step_id": 7, "iter_num": 0}),
        event(
            "a/MatMul:MatMul",
            40,
            200,
            {"shape": "(float[8,8];float[8,8])"},
            display_name="MatMul",
        ),
        event("MemoryAllocation", 50, 0, allocation | shaped),
        event("b/Relu:Relu", 300, 100, {"shape": Written("(float[8,8])")}, display_name="Relu"),
        event("MemoryDeallocation", 350, 0, allocation),
        event("Iterator::Root::Map", 700, 60, {"id": Unsigned(2**63 + 5), "parent_id": 3}),
        event("total", None, 70, {"ratio": 0.5, "raw": b"\xff\x00"}, occurrences=12),
    ]
    stats = {"profile_start_time": Unsigned(10**18), "profile_stop_time": Unsigned(10**18 + 5)}
    lines = [line(1, "python", 3, main), line(-2, "tf_Compute/-2", 3, worker)]
    return space(plane("/host:CPU", lines), plane("Task Environment", stats=stats))


def accelerators():
    launched = {"tf_op": "a/MatMul:MatMul", "correlation_id": 5, "kernel_details": Written("r")}
    kernels = [event("sgemm", 100, 80, launched), event("relu", 200, 20, {"tf_op": "b/Relu:Relu"})]
    hlo = {"hlo_op": "fusion.1", "hlo_module": "jit_f", "program_id": 3, "flops": Unsigned(9)}
    modules = [event("jit_f(3)", 0, 300, {"run_id": 1, "program_id": 3})]
    steps = [event("1", 0, 400, {"step_num": 1})]
    host = [
        event("a/MatMul:MatMul", 40, 200, display_name="MatMul"),
        event("train", 0, 500, {"step_num": 1, "_r": 1}),
    ]
    return space(
        plane("/host:CPU", [line(1, "python", 3, host)]),
        plane("/device:GPU:0", [line(7, "Stream #7(Compute)", 3, kernels)]),
        plane(
            "/device:TPU:0",
            [
                line(1, "Steps", 3, steps),
                line(2, "XLA Modules", 3, modules),
                line(3, "XLA Ops", 3, [event("fusion.1", 10, 90, hlo)]),
            ],
            {"peak_teraflops_per_second": 1.5},
        ),
    )


# Traces as trees, so that damage can be done without breaking everything around it

MESSAGES = {
    "space": {1: "plane"},
    "plane": {3: "line", 4: "entry", 5: "entry", 6: "stat"},
    "line": {4: "event"},
    "event": {4: "stat"},
    "entry": {2: "metadata"},
    "metadata": {5: "stat"},
    "stat": {},
}
"""The messages inside each message, by field number."""


def tree(data, kind="space"):
    """Parse a message into [field number, wire type, value or fields] lists."""
    fields, at = [], 0
    while at < len(data):
        tag, at = first_varint(data, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = first_varint(data, at)
        elif wire == 2:
            size, at = first_varint(data, at)
            value, at = data[at : at + size], at + size
            inner = MESSAGES[kind].get(field)
            value = tree(value, inner) if inner else value
        else:
            size = 8 if wire == 1 else 4
            value, at = data[at : at + size], at + size
        fields.append([field, wire, value])
    return fields


def written(fields):
    return b"".join(map(write_field, fields))


def write_field(field):
    tag, wire, value = field
    if wire == 0:
        return number(tag, value)
    if wire == 2:
        return payload(tag, written(value) if isinstance(value, list) else value)
    return varint(tag << 3 | wire) + value


def messages(fields):
    """Yield the list of fields of every message in the tree, itself included."""
    yield fields
    for _, _, value in fields:
        if isinstance(value, list):
            yield from messages(value)


def copied(fields):
    return [[tag, wire, copied(v) if isinstance(v, list) else v] for tag, wire, v in fields]


# Damage


def flip_bits(whole, chance):
    data = bytearray(whole.data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def cut(whole, chance):
    begin, end = sorted(chance.randrange(len(whole.data) + 1) for _ in range(2))
    keep_rest = chance.random() < 0.5
    return whole.data[:begin] + (whole.data[end:] if keep_rest else b"")


def overwrite(whole, chance):
    place = chance.randrange(len(whole.data))
    bytes_ = chance.choice((varint(chance.choice(ABSURD)), b"\xff" * 11, chance.randbytes(9)))
    rest = chance.choice((0, len(bytes_)))
    return whole.data[:place] + bytes_ + whole.data[place + rest :]


def splice(whole, chance):
    """Insert a piece of another trace, or replace some bytes with it."""
    begin, end = sorted(chance.randrange(len(whole.other) + 1) for _ in range(2))
    piece = whole.other[begin : min(end, begin + 3000)]
    place = chance.randrange(len(whole.data) + 1)
    return whole.data[:place] + piece + whole.data[place + chance.choice((0, len(piece))) :]


def absurd_numbers(fields, chance):
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        message = chance.choice(list(messages(fields)))
        numbers = [field for field in message if field[1] == 0]
        if numbers:
            chance.choice(numbers)[2] = chance.choice(ABSURD)


def absurd_numbers_everywhere(fields, chance):
    """Set all fields of one number, in all messages of a level, to one absurd value."""
    tag, value = chance.randrange(1, 8), chance.choice(ABSURD)
    depth = chance.randrange(1, 5)

    def visit(fields, level):
        for field in fields:
            if level == depth and field[0] == tag and field[1] == 0:
                field[2] = value
            elif isinstance(field[2], list):
                visit(field[2], level + 1)

    visit(fields, 0)


def other_wire_types(fields, chance):
    message = chance.choice([each for each in messages(fields) if each])
    field = chance.choice(message)
    field[1] = chance.choice((0, 1, 2, 5))
    field[2] = {
        0: chance.choice(ABSURD),
        1: struct.pack("<d", chance.choice((0.0, 1e308, float("nan"), float("-inf")))),
        2: chance.randbytes(chance.choice((0, 1, 5, 300))),
        5: chance.randbytes(4),
    }[field[1]]


def strange_texts(fields, chance):
    message = chance.choice([each for each in messages(fields) if each])
    texts = [field for field in message if field[1] == 2 and isinstance(field[2], bytes)]
    if texts:
        strange = (b"", b"\xff\xfe", b":", b"::", b"/" * 50, b"a/" * 5000 + b"b:MatMul")
        more = (b"[1,2", b"(float[9999999999999999999])", b"(float[-1];", b"\x00:\x00", b"%s{}")
        chance.choice(texts)[2] = chance.choice(strange + more)


def moved_messages(fields, chance):
    """Drop, repeat or move a field to another message."""
    places = [each for each in messages(fields) if each]
    for _ in range(chance.choice((1, 1, 3))):
        source, target = chance.choice(places), chance.choice(places)
        if not source:
            continue
        field = chance.choice(source)
        size = len(write_field(field))
        match chance.randrange(3):
            case 0:
                source.remove(field)
            case 1:
                source.extend(copied([field]) * min(chance.choice((1, 100)), 1 + 20_000 // size))
            case 2 if size < 20_000:
                target.insert(chance.randrange(len(target) + 1), copied([field])[0])


def deep_nesting(fields, chance):
    message = chance.choice(list(messages(fields)))
    tag = chance.choice((1, 2, 3, 4, 5, 6, 15))
    nested = chance.choice((b"", b"\x08\x01"))
    for _ in range(chance.randrange(2, DEEP)):
        nested = payload(tag, nested)
    message.append([tag, 2, nested])


def unknown_fields(fields, chance):
    for _ in range(5):
        message = chance.choice(list(messages(fields)))
        tag = chance.choice((11, 15, 16, 100, 2**29 - 1))
        message.insert(chance.randrange(len(message) + 1), [tag, 2, chance.randbytes(20)])
        message.insert(chance.randrange(len(message) + 1), [tag, 0, chance.choice(ABSURD)])
        message.append([tag, 5, fixed32(1, 7)[1:]])
        message.append([tag, 1, fixed64(1, 0.5)[1:]])


ON_BYTES = (flip_bits, cut, overwrite, splice)
ON_TREES = (
    absurd_numbers,
    absurd_numbers_everywhere,
    other_wire_types,
    strange_texts,
    moved_messages,
    deep_nesting,
    unknown_fields,
)


class Whole:
    """A good trace, as bytes and as a tree, and another one to take pieces from."""

    def __init__(self, data, other):
        self.data, self.other, self.tree = data, other, tree(data)
        assert written(self.tree) == data


def wholes():
    real = REAL.read_bytes()
    return [Whole(cpu(), real), Whole(accelerators(), cpu()), Whole(real, accelerators())]


def damaged(whole, chance):
    """Damage the bytes of a trace, its tree, or first its tree and then its bytes."""
    data = whole.data
    if chance.random() < 0.35:
        fields = copied(whole.tree)
        chance.choice(ON_TREES)(fields, chance)
        data = written(fields)
        if chance.random() < 0.8:
            return data
    damaged_twice = Whole.__new__(Whole)
    damaged_twice.data, damaged_twice.other = data or b"\n", whole.other
    return chance.choice(ON_BYTES)(damaged_twice, chance)


# Reading them


def read(path):
    """Load a trace and make a view; return whether that worked."""
    import nbprof

    try:
        profile = nbprof.load(path)
        profile.op(select="bytes,peak_bytes,residual_bytes,micros,occurrence,input_shapes")
    except nbprof.NbprofError:
        return False
    return True


def read_in_parts(chosen):
    """Make nbprof read traces of any size part by part, like long ones, or at once."""
    from nbprof.files import file_kinds
    from nbprof.ingest.xspace import xspace

    file_kinds.SMALL, xspace.LONG = (0, 64) if chosen else (1 << 20, 1 << 20)


def main(options):
    """Read a part of a round; print the number of traces read and the longest time in seconds."""
    good = wholes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.xplane.pb"
        for whole in good:
            path.write_bytes(whole.data)
            assert read(path)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        # An alarm ends the process; the timer of faulthandler is a thread, which takes memory.
        faulthandler.register(signal.SIGALRM, chain=True)
        shown, longest = 0, 0.0
        for place in range(options.first, options.last):
            chance = Random(f"{options.round} {place}")
            # Only one in four comes from the recorded trace, as that is the longest.
            data = damaged(good[(0, 1, 0, 2)[place % 4]], chance)
            path.write_bytes(data)
            read_in_parts(place % 2 == 1)
            if options.keep:
                options.keep.write_bytes(data)
            signal.setitimer(signal.ITIMER_REAL, LONGEST)
            began = time.perf_counter()
            try:
                shown += read(path)
            except BaseException:
                print(f"round {options.round}, place {place}", file=sys.stderr)
                raise
            longest = max(longest, time.perf_counter() - began)
            signal.setitimer(signal.ITIMER_REAL, 0)
    print(shown, longest)


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("round", "first", "last"):
        parser.add_argument(name, type=int)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(parse())
