"""Copy the figures of build/bench.json to docs/benchmarks.md: `python tests/benchmarks/report.py`.

Each table of the page goes between `<!-- figures: NAME -->` and `<!-- end -->`.
"""

import json
import re

from run import PACKAGES, RESULT
from tables import as_markdown, spread
from ways import TOP

PAGE = TOP / "docs" / "benchmarks.md"
PLACE = re.compile(r"(<!-- figures: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def by_trace(part, value):
    return lambda results: as_markdown(spread(results[part], "way", "trace", value))


def machine(results):
    known = (key for key in ("python", *PACKAGES) if key in results["machine"])
    with_versions = {key: results["machine"][key] for key in known}
    named = ", ".join(f"{name} {version}" for name, version in with_versions.items())
    found = results["machine"]
    return (
        f"Measured on a virtual {found['system']} machine of {found['cores']} cores and "
        f"{found['gigabytes']} GB,\nat times shared with other work: {named}."
    )


def traces(results):
    shown = ("trace", "events", "file_megabytes")
    found = {row["trace"]: {key: row[key] for key in shown} for row in results["reading_traces"]}
    return as_markdown(list(found.values()))


def of_tfprof(view):
    def table(results):
        rows = [row for row in results["tfprof_inputs"] if row["view"] == view]
        return "\n\n".join(
            as_markdown(spread(rows, "way", "nodes", value))
            for value in ("ratio", "seconds", "megabytes")
        )

    return table


def cost_of_memit(rows):
    """Return the milliseconds that each magic adds to the code it runs."""
    added = {row["way"]: row["added_milliseconds"] for row in rows if row["added_milliseconds"]}
    return [
        {
            "way": way,
            "added_milliseconds": taken,
            "of_memory_profiler": taken / added["memory_profiler's %memit"],
        }
        for way, taken in added.items()
    ]


FIGURES = {
    "machine": machine,
    "traces": traces,
    "time of reading": by_trace("reading_traces", "ratio"),
    "seconds of reading": by_trace("reading_traces", "seconds"),
    "events per second": by_trace("reading_traces", "events_per_second"),
    "memory of reading": by_trace("reading_traces", "of_file"),
    "growth": lambda results: as_markdown(results["growth"]),
    "time of saved profiles": by_trace("saved_profiles", "ratio"),
    "size of saved profiles": lambda results: as_markdown(
        [
            {key: row[key] for key in ("trace", "own_megabytes", "of_trace")}
            for row in results["saved_profiles"]
            if row["way"] == results["saved_profiles"][0]["way"]
        ]
    ),
    "peaks of memory": lambda results: as_markdown(
        spread(results["memory"], "way", "spike", "mebibytes")
    ),
    "cost of %memit": lambda results: as_markdown(cost_of_memit(results["memory"])),
    "memory of lines": lambda results: as_markdown(results["memory_lines"]),
    "tables in JupyterLab": lambda results: as_markdown(
        spread(results["explorer"], "way", "figure", "milliseconds")
    ),
    "nbprof's share of them": lambda results: as_markdown(
        spread(results["explorer"], "way", "figure", "ours")
    ),
    "long cells": lambda results: as_markdown(results["long_cells"]),
    "limits of long cells": lambda results: as_markdown(results["limits"]),
    "allocations of Python": lambda results: as_markdown(results["python_allocations"]),
    "marks": lambda results: as_markdown(results["python_marks"]),
    "profiling": lambda results: as_markdown(results["profiling"]),
    "cost of watching Python": lambda results: as_markdown(
        spread(results["python_side"], "way", "cell", "ratio")
    ),
    "error of watching Python": lambda results: as_markdown(
        [
            {key: row[key] for key in ("way", "error")}
            for row in results["python_side"]
            if row["error"] is not None
        ]
    ),
    "loading": lambda results: as_markdown(results["loading"]),
    "op view of tfprof's inputs": of_tfprof("op"),
    "scope view of tfprof's inputs": of_tfprof("scope"),
}


def main():
    results = json.loads(RESULT.read_text(encoding="utf-8"))

    def replaced(place):
        try:
            return f"{place[1]}\n{FIGURES[place[2]](results)}\n\n{place[3]}"
        except KeyError:  # parts that were not measured keep their figures
            return place[0]

    PAGE.write_text(PLACE.sub(replaced, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
