"""Damage a file of another profiler again and again, and read it within memory and time.

In `tests/`, `python -m support.damaged_python_files py-spy.collapsed 1000` prints how many of a
thousand were shown and how many refused.
"""

import faulthandler
import json
import resource
import signal
import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from random import Random

from support.paths import DATA

MEMORY = 1_500_000_000
"""Limit on the address space in bytes, including libraries."""
LONGEST = 30
"""Seconds of CPU after which a read counts as hung, a thousand times what it usually takes."""
HEAD = 12
"""First bytes that are seldom damaged, since a file would no longer be recognised."""
BYTES = (b"\xff\xff\xff\x7f", b"\xff" * 4, b"r\0\0\0\0", b"(\x05\0\0\0", b"{", b"0", b";", b" 1\n")
VALUES = (
    *(None, True, -1, 0, 2**31, 2**63, 10**400, 0.5, 1e308, float("nan"), float("-inf")),
    *("", "bytes", "O", "\ud800", [], [[]], {}, [0] * 500),
)


def damaged_bytes(data, chance):
    """Cut, change, insert, drop or repeat some bytes."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(
            0 if chance.random() < 0.05 else min(HEAD, len(data)), len(data) + 1
        )
        length = chance.choice((1, 2, 10, 200))
        match chance.randrange(6):
            case 0:
                del data[place + chance.randrange(400) :]
            case 1:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 2:
                data[place:place] = chance.randbytes(length)
            case 3:
                del data[place : place + length]
            case 4:
                data[place:place] = data[place : place + length]
            case 5:
                data[place : place + chance.choice((0, 4))] = chance.choice(BYTES)
    return bytes(data)


def damaged_values(data, chance):
    """Replace, drop or repeat values of a JSON file, which stays valid JSON."""
    whole = json.loads(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        places = [*_places(whole)]
        holder, key = chance.choice(places)
        match chance.randrange(3):
            case 0:
                holder[key] = deepcopy(chance.choice(VALUES))
            case 1:
                del holder[key]
            case 2 if isinstance(holder, list):
                holder[key:key] = [holder[key]] * chance.choice((1, 50))
    return json.dumps(whole).encode()


def _places(value):
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def read(path):
    """Load a file, make its views and write it again; return whether that worked."""
    import nbprof

    try:
        profile = nbprof.load(path)
        if "samples" in profile.recording.watched:
            assert profile.call().text
        profile.export(path.with_name("again.dot"))
    except nbprof.NbprofError:
        return False
    return True


def main(name, count):
    data = (DATA / "python" / name).read_bytes()
    ways = [damaged_bytes, damaged_values] if name.endswith("json") else [damaged_bytes]
    shown = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        assert read(path)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        faulthandler.register(signal.SIGVTALRM, chain=True)
        for place in range(count):
            chance = Random(f"{name} {place}")
            path.write_bytes(chance.choice(ways)(data, chance))
            signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
            try:
                shown += read(path)
            except BaseException:
                print(f"place {place}", file=sys.stderr)
                raise
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(shown, count - shown)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
