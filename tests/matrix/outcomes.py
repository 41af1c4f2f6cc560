"""What became of an environment, and the table of all."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass, field

PACKAGES = {"TensorFlow": ("tensorflow", "tf-nightly"), "Keras": ("keras", "keras-nightly")}
PACKAGES |= {name: (name.lower(),) for name in ("IPython", "pandas", "numpy")}
NOT_TRIED = "–"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one environment."""

    name: str
    versions: dict[str, str] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    """How many tests passed, by area."""
    failed: dict[str, list[str]] = field(default_factory=dict)
    """The tests that failed, by area."""
    skipped: dict[str, int] = field(default_factory=dict)
    """How many tests say why they do not hold here, by reason."""
    trouble: str = ""
    """Why nothing was tried, if so."""

    @property
    def good(self):
        return not self.trouble and not self.failed

    def row(self, areas):
        """Return the cells of the table after the name."""
        return [
            *(self.versions.get(package, NOT_TRIED) for package in ("Python", *PACKAGES)),
            *(self._cell(area) for area in areas),
        ]

    def _cell(self, area):
        if area in self.failed:
            return f"{len(self.failed[area])} fail"
        return "✓" if area in self.passed else NOT_TRIED


def named_versions(installed):
    """Return the versions the table shows, from those of all packages."""
    return {
        title: next((installed[name] for name in names if name in installed), NOT_TRIED)
        for title, names in PACKAGES.items()
    }


def read_junit(path):
    """Return what passed, failed and was skipped, as `Outcome` has it."""
    passed, failed, skipped = defaultdict(int), defaultdict(list), defaultdict(int)
    for case in ET.parse(path).iter("testcase"):
        properties = {each.get("name"): each.get("value") for each in case.iter("property")}
        area = properties.get("area", "other")
        if case.find("failure") is not None or case.find("error") is not None:
            failed[area].append(f"{case.get('classname')}: {case.get('name')}")
        elif (reason := case.find("skipped")) is not None:
            skipped[reason.get("message")] += 1
        else:
            passed[area] += 1
    return {"passed": dict(passed), "failed": dict(failed), "skipped": dict(skipped)}


def table(outcomes):
    """Return the table in Markdown, aligned so that it reads well in a terminal, too."""
    areas = sorted({area for outcome in outcomes for area in (*outcome.passed, *outcome.failed)})
    rows = [["environment", "Python", *PACKAGES, *areas]]
    rows += [[outcome.name, *outcome.row(areas)] for outcome in outcomes]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(map(str.ljust, cells, widths)) + " |" for cells in rows)


def remarks(outcomes):
    """Yield what the table has no room for: what failed, and what does not hold where."""
    for outcome in outcomes:
        log = f"(build/matrix/{outcome.name}.log)"
        if outcome.trouble:
            yield f"{outcome.name}: {outcome.trouble} {log}"
        for tests in outcome.failed.values():
            yield from (f"{outcome.name}: failed: {test} {log}" for test in tests)
    for reason in sorted({reason for outcome in outcomes for reason in outcome.skipped}):
        where = ", ".join(outcome.name for outcome in outcomes if reason in outcome.skipped)
        yield f"{where}: {reason}"
