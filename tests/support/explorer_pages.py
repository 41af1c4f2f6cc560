"""Read the data of an explorer's page back, as its JavaScript does."""

import json
import re
import struct
import zlib
from base64 import b64decode

TYPES = {"i8": "b", "i16": "h", "i32": "i", "f64": "d"}
UNKNOWN = {"i8": -(2**7), "i16": -(2**15), "i32": -(2**31)}
LOAD = re.compile(r"""^load\("[\w-]+","([\w+/=]*)","([\w+/=]*)"\);$""", re.M)


class PageData:
    """The description in a page, and the buffers it points into."""

    def __init__(self, html):
        data, _ = LOAD.search(html).groups()
        raw = inflate(data)
        length = int.from_bytes(raw[-4:], "little")
        self.described = json.loads(raw[-4 - length : -4])
        self.buffers = split(raw, self.described["sizes"])
        self.strings = strings_of(self.described, self.buffers)

    def __getitem__(self, name):
        return self.described[name]

    def view(self, name):
        (found,) = (view for view in self["views"] if view["name"] == name)
        return found

    def numbers(self, packed):
        return unpack(packed, self.buffers)


def script_of(html):
    """Return the script in a page."""
    return inflate(LOAD.search(html)[2]).decode()


def inflate(text):
    return zlib.decompress(b64decode(text), -zlib.MAX_WBITS)


def split(raw, sizes):
    buffers, start = [], 0
    for size in sizes:
        buffers.append(raw[start : start + size])
        start += size
    return buffers


def strings_of(described, buffers):
    return [text for place in described["strings"] for text in json.loads(buffers[place])]


def unpack(packed, buffers):
    """Read a column of numbers."""
    place, name, divisor = (*packed, 1)[:3]
    data = buffers[place]
    if name == "var":
        return varints(data, divisor)
    kind = TYPES[name]
    raw = struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)
    unknown = UNKNOWN.get(name)
    return [float("nan") if value == unknown else value / divisor for value in raw]


def varints(data, divisor):
    """Read varints, in groups of 7 bits, lowest first; 0 stands for unknown, n + 1 for n."""
    values, value, bits = [], 0, 0
    for byte in data:
        value |= (byte & 127) << bits
        bits += 7
        if byte < 128:
            values.append((value - 1) / divisor if value else float("nan"))
            value = bits = 0
    return values
