"""Hundreds of damaged files of other profilers give a Profile or an NbprofError, quickly.

They are read in a process whose memory is limited, as a length that is believed would fill it.
"""

import json
import marshal
import subprocess
import sys

import pytest
from support.paths import TOP

from nbprof.ingest.python.signatures import (
    looks_like_collapsed,
    looks_like_pstats,
    looks_like_speedscope,
)

FILES = {
    "cprofile-3.8.prof": 400,
    "cprofile-3.13.prof": 400,
    "py-spy.speedscope.json": 500,
    "pyinstrument.speedscope.json": 300,
    "py-spy.collapsed": 500,
}
"""How often each file is damaged."""


@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_read_or_refused_within_time_and_memory(file):
    command = [sys.executable, "-m", "support.damaged_python_files", file, str(FILES[file])]
    done = subprocess.run(
        command, cwd=TOP / "tests", capture_output=True, text=True, check=False, timeout=600
    )

    assert done.returncode == 0, done.stderr[-3000:]
    shown, refused = map(int, done.stdout.split())
    assert shown + refused == FILES[file]
    assert min(shown, refused) > 0.03 * FILES[file]


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"\x0a\x05hello", b"{}", b"{ }", b"[1, 2]"),
        *(b'{"nodes": []}', b"{0 more", marshal.dumps({"a": 1}), marshal.dumps([1])),
        *(json.dumps({"traceEvents": []}).encode(), b"a,b\n1,2\n", b"#!/bin/sh\necho 1\n"),
    ],
    ids=repr,
)
def test_files_of_other_kinds_are_not_recognised(head):
    assert not looks_like_pstats(head)
    assert not looks_like_speedscope(head)
    assert not looks_like_collapsed(head)
