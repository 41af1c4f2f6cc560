"""Write docs/reference.md from the tables of magics, views and flags.

Run `python docs/make_reference.py`. `CALLS` below lists the Python calls; the rest is read from
the package.
"""

import sys
from pathlib import Path

PAGE = Path(__file__).parent / "reference.md"

CALLS = {
    "Profile and load": {
        "with nbprof.profile() as run: …": "profile a block; afterwards `run.profile` is a Profile",
        "nbprof.last()": "the Profile of the last profiled cell or block, or None",
        "nbprof.load(path)": "a [saved profile](own-file.md), a [trace](traces.md), a run's "
        "folder, a TensorBoard logdir, a file that tfprof saved, or one of [another profiler of "
        "Python](python-files.md)",
        "nbprof.load_tfprof(graph, run_meta, op_log, checkpoint)": "tfprof's own inputs, with "
        "tfprof's numbers",
        "with nbprof.span(name): …": "[mark](marks.md) a block; `@nbprof.span(name)` marks every "
        "call of a function",
        "nbprof.count(name, value=1)": "add a value to a [counter](marks.md)",
        "nbprof.parse_text(report)": "a [printed report](parse-text.md) as a View",
    },
    "Profile": {
        "profile.view(name, **options)": "a View; also `profile.op(…)` and the like",
        "profile.summary()": "[where the wall time went](summary.md)",
        "profile.steps": "one row per step",
        "profile.samples_of_python": "one row per [sample](summary.md) of the cell's Python stack",
        "profile.sites": "one row per line of Python that [allocated memory](views/alloc.md)",
        "profile.spans": "one row per use of [`nbprof.span`](marks.md)",
        "profile.counters": "one row per counter of [`nbprof.count`](marks.md); "
        "`profile.counts` has every value",
        "profile.memory()": "live bytes over time",
        "profile.live_at_peak()": "the tensors alive at the peak",
        "profile.out_of_memory()": "what a cell that [ran out of memory](memory.md) asked for, and "
        "what was alive then; None for other cells",
        "profile.process_memory()": "resident memory over time, as `%memit` shows it",
        "profile.advise()": "suggestions, with the numbers behind them",
        "profile.plot_timeline()": "a [figure](plots.md) of what each thread did when",
        "profile.plot_memory()": "a [figure](plots.md) of live bytes over time",
        "profile.save(path)": "write [nbprof's own file](own-file.md)",
        "profile.export(path)": "write `.trace.json` for Perfetto, `.pb.gz` for pprof, "
        "`.tfprof` for tfprof, or [what was watched of Python](python-files.md): `.prof`, "
        "`.callgrind`, `.speedscope.json`, `.collapsed` or `.dot`",
        "profile.to_html(path)": "write the whole [explorer](explorer.md) as one file",
    },
    "View": {
        "view.frame": "the numbers as a DataFrame, in µs and bytes",
        "view.text": "the report as tfprof prints it",
        "view.explore()": "the [live explorer](explorer.md); its `.selection` is a DataFrame",
        "view.plot()": "a [figure](plots.md) of the largest rows",
        "view.write_output()": "write the file that the option `output` names",
        "view.to_csv(path)": "write the frame; also `to_json` and, with `nbprof[parquet]`, "
        "`to_parquet`",
        "view.to_html(path)": "write the explorer of this view as one file",
    },
}
"""The calls of the public interface, by what they are called on."""


def reference_page():
    """Return the page as Markdown."""
    from nbprof.flag_values import PRESETS
    from nbprof.magics.help_and_completion import forms
    from nbprof.magics.magic_table import MAGICS
    from nbprof.view_kinds import VIEWS

    lines = [
        "# Reference",
        "",
        "Every magic, flag and call. This page is written by `python docs/make_reference.py`; "
        "`%tfprof help` and `%memit?` show the same tables.",
        "",
        "## Views",
        "",
        "The first word after `%%tfprof` or `%tfprof`; without one it is `op`.",
        "",
        *table(("view", "rows"), ((view_link(name), view.doc) for name, view in VIEWS.items())),
    ]
    for name, magic in MAGICS.items():
        lines += [
            *("", f"## %{name}", "", magic.does, ""),
            *table(("line", "what it does"), ((code(form), does) for form, does in forms(name))),
            "",
            *flags_section(name),
            *("", magic.remark),
        ]
    lines += [
        *("", "## Presets", ""),
        "`-preset NAME`, or `profile.view(…, preset=NAME)`. Options given beside it win.",
        "",
        *table(("preset", "same as"), ((code(n), code(spell(o))) for n, o in PRESETS.items())),
    ]
    for heading, calls in CALLS.items():
        lines += ["", f"## {heading}", ""]
        lines += table(("call", "what it is"), ((code(call), does) for call, does in calls.items()))
    return "\n".join(lines) + "\n"


def view_link(name):
    """Link a view to its page, if it has one."""
    page = PAGE.parent / "views" / f"{name}.md"
    return f"[`{name}`](views/{name}.md)" if page.exists() else f"`{name}`"


def flags_section(magic):
    """Return the tables of a magic's flags: first its own, then the options of views."""
    from nbprof.flags import flags_of

    flags = flags_of(magic).values()
    own = [flag for flag in flags if not flag.is_option]
    options = [flag for flag in flags if flag.is_option]
    lines = table(("flag", "meaning"), ((code(flag.usage), flag.help) for flag in own))
    if options:
        lines += [
            "",
            "These options are also keywords of `profile.view(…)`, without the dash, and "
            f"`%{magic} set` keeps them:",
            "",
            *table(("option", "meaning"), ((code(flag.usage), flag.help) for flag in options)),
        ]
    return lines


def table(header, rows):
    """Return the lines of a Markdown table."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]


def code(text):
    """Format text as code; a bar is escaped, because GitHub and mkdocs read it differently."""
    return f"<code>{text.replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def spell(options):
    """Write options as they are typed."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append(f"-{name}")
        else:
            words.append(f"-{name} {','.join(value) if isinstance(value, tuple) else value}")
    return " ".join(words)


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parent.parent))
    PAGE.write_text(reference_page(), encoding="utf-8")
