"""The user's own marks: how long one use takes, while nothing is recorded and while a cell is."""

from time import process_time

from ways import medians

TITLE = "Marks"
USES = 200_000
"""How often each kind of mark is used."""


def measure(settings):
    from nbprof.capture.python.marks import start_marks, stop_marks

    rows = []
    for state in ("nothing is recorded", "a cell is recorded"):
        if state != "nothing is recorded":
            start_marks()
        try:
            seconds = medians(_uses(), settings.rounds, process_time)
        finally:
            stop_marks()
        empty = seconds.pop("an empty loop")
        rows += [
            {"cell": state, "way": way, "nanoseconds": 1e9 * (taken - empty) / USES}
            for way, taken in seconds.items()
        ]
    return rows


def _uses():
    """Return loops that use each kind of mark, and one that uses none."""
    import nbprof

    marked = nbprof.span("marked")(calls_nothing)

    def spans():
        for _ in range(USES):
            with nbprof.span("block"):
                pass

    def counts():
        for _ in range(USES):
            nbprof.count("counter")

    def functions():
        for _ in range(USES):
            marked()

    def nothing():
        for _ in range(USES):
            pass

    return {
        "an empty loop": nothing,
        "with nbprof.span(…)": spans,
        "@nbprof.span(…), per call": functions,
        "nbprof.count(…)": counts,
    }


def calls_nothing():
    pass
