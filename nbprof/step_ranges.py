"""Name the steps that were traced in detail: `steps 0-1 and 2-61`."""

from collections.abc import Iterable

MOST_RANGES = 4
"""Maximum number of ranges to name."""


def name_ranges(steps: Iterable[tuple[int, bool, bool]]) -> str:
    """Name the steps in detail, given the number of each step, whether it traced, and its detail.

    Those before the first warm step are a range of their own.
    """
    ranges: list[list[int]] = []
    cold = True
    for step, traced, in_detail in steps:
        gets_warm, cold = cold and not traced, cold and traced
        if not in_detail:
            continue
        if ranges and ranges[-1][1] == step - 1 and not gets_warm:
            ranges[-1][1] = step
        else:
            ranges.append([step, step])
    return _in_words(ranges)


def _in_words(ranges: list[list[int]]) -> str:
    if not ranges:
        return "no steps"
    texts = [f"{first}-{last}" if last > first else f"{first}" for first, last in ranges]
    word = "step" if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "steps"
    if len(texts) > MOST_RANGES:
        texts = [*texts[:MOST_RANGES], f"{len(texts) - MOST_RANGES} more ranges"]
    *most, last = texts
    return f"{word} {', '.join(most)} and {last}" if most else f"{word} {last}"
