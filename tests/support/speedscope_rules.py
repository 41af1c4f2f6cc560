"""The rules of speedscope's file format that what is written must follow.

They are those of https://www.speedscope.app/file-format-schema.json, which tests cannot download,
and what its importer checks.
"""

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
UNITS = {"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}
NUMBER = (int, float)


def check_speedscope(whole):
    """Raise AssertionError if a file, read as JSON, is not in speedscope's format."""
    assert whole["$schema"] == SCHEMA
    optional = {"exporter": str, "name": str, "activeProfileIndex": int}
    assert set(whole) <= {"$schema", "shared", "profiles", *optional}
    for key, kind in optional.items():
        assert isinstance(whole.get(key, kind()), kind)
    assert set(whole["shared"]) == {"frames"}
    for frame in whole["shared"]["frames"]:
        check_frame(frame)
    assert whole["profiles"]
    assert 0 <= whole.get("activeProfileIndex", 0) < len(whole["profiles"])
    for profile in whole["profiles"]:
        check_sampled(profile, len(whole["shared"]["frames"]))


def check_frame(frame):
    assert set(frame) <= {"name", "file", "line", "col"}
    assert isinstance(frame["name"], str)
    assert isinstance(frame.get("file", ""), str)
    for key in ("line", "col"):
        assert type(frame.get(key, 0)) is int


def check_sampled(profile, frames):
    assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    assert profile["type"] == "sampled"
    assert isinstance(profile["name"], str)
    assert profile["unit"] in UNITS
    assert type(profile["startValue"]) in NUMBER
    assert type(profile["endValue"]) in NUMBER
    assert len(profile["samples"]) == len(profile["weights"])
    for sample in profile["samples"]:
        assert all(type(frame) is int and 0 <= frame < frames for frame in sample)
    assert all(type(weight) in NUMBER and weight >= 0 for weight in profile["weights"])
    length = profile["endValue"] - profile["startValue"]
    assert abs(length - sum(profile["weights"])) <= 1e-6 * max(length, 1)
