"""Profiles of Python made by hand: samples, cells, and the source of files."""

from dataclasses import replace

import pandas as pd
from support.by_hand import FRAME, profile

MS = 1_000_000


def sampled(*samples, source=None):
    """Make a profile of samples, each of some ms on a stack of `(file, line, function)`.

    `source` has the text of cells and files, by name.
    """
    made = profile()
    source = source or {}
    stacks = list(dict.fromkeys(stack for _, stack in samples))
    frames = [
        (number, file, line, function, line_of(source, file, line), "/site-packages/" in file)
        for number, stack in enumerate(stacks)
        for file, line, function in stack
    ]
    ns = [ms * MS for ms, _ in samples]
    table = pd.DataFrame(
        {
            "start_ns": pd.Series(ns).cumsum() - ns,
            "duration_ns": ns,
            "thread": 0,
            "stack": [stacks.index(stack) for _, stack in samples],
        }
    )
    cells = [
        (name, number, text)
        for name, texts in source.items()
        for number, text in enumerate(texts.splitlines(), start=1)
    ]
    return replace(
        made,
        samples_of_python=table,
        frames=pd.DataFrame(frames, columns=FRAME, dtype=object).astype(
            {"stack": int, "line": int, "framework": bool}
        ),
        cells=pd.DataFrame(cells, columns=["file", "line", "text"]).astype({"line": int}),
        recording=replace(made.recording, watched=("samples",), wall_ns=sum(ns)),
    )


def line_of(source, file, line):
    """Return the text of a line without its indentation."""
    lines = source.get(file, "").splitlines()
    return lines[line - 1].strip() if line <= len(lines) else ""


CELL = "\n".join(
    [
        "%%pyprof call",
        "import pandas as pd",
        "",
        "",
        "def clean(frame):",
        "    return frame.dropna().assign(day=parse(frame.when))",
        "",
        "",
        *(f"limit_{number} = {number}" for number in range(9, 40)),
        "orders = read('orders.csv')",
        "result = report(clean(orders))",
    ]
)
CLEANING = "\n".join(
    [
        '"""Read and clean orders."""',
        "",
        *(f"COLUMN_{number} = 'column {number}'" for number in range(3, 60)),
        "def parse(texts):",
        "    days = []",
        "    for text in texts:",
        "        days.append(parse_one(text))",
        "    return days",
        "",
        "",
        "def parse_one(text):",
        "    day, month, year = text.split('.')",
        "    return datetime(int(year), int(month), int(day))",
    ]
)
MODULE, CELL_NAME = "/home/ada/shop/cleaning.py", "In [3]"
READ = (CELL_NAME, 40, "<module>")
REPORT = (CELL_NAME, 41, "<module>")
CLEAN = (CELL_NAME, 6, "clean")
PARSE = (MODULE, 63, "parse")
PANDAS = "/env/lib/python3.12/site-packages/pandas/core/frame.py"
ORDERS = sampled(
    (180, (READ, (PANDAS, 900, "read_csv"))),
    (90, (REPORT, CLEAN, (PANDAS, 120, "dropna"))),
    (40, (REPORT, CLEAN, PARSE)),
    (310, (REPORT, CLEAN, PARSE, (MODULE, 68, "parse_one"))),
    (520, (REPORT, CLEAN, PARSE, (MODULE, 69, "parse_one"))),
    (120, (REPORT, (PANDAS, 400, "groupby"))),
    source={CELL_NAME: CELL, MODULE: CLEANING},
)
"""A cell that reads orders and spends most of its time on parsing dates in a file."""


FUNCTIONS = pd.DataFrame(
    [
        ("In [3]", 1, "<module>", 1, 1, 10, 1000),
        ("/home/ada/shop/cleaning.py", 60, "parse", 1, 1, 90, 900),
        ("/home/ada/shop/cleaning.py", 67, "parse_one", 5000, 5000, 500, 810),
        ("~", 0, "{method 'split' of 'str' objects}", 5000, 5000, 310, 310),
    ],
    columns=["file", "line", "function", "calls", "primitive_calls", "self_ns", "total_ns"],
).assign(framework=False)
CALLS = pd.DataFrame(
    [(0, 1, 1, 1, 90, 900), (1, 2, 5000, 5000, 500, 810), (2, 3, 5000, 5000, 310, 310)],
    columns=["caller", "function", "calls", "primitive_calls", "self_ns", "total_ns"],
)


def with_calls(made, functions=FUNCTIONS, calls=CALLS):
    """Return the profile with functions and their calls of each other."""
    recording = replace(made.recording, watched=("calls",), wall_ns=1000)
    return replace(made, functions=functions, calls=calls, recording=recording)
