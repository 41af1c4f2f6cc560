import math

import pytest

from nbprof.units import format_bytes, format_count, format_micros, format_seconds


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "0us"),
        (999, "999us"),
        (1000, "1.00ms"),
        (999_999, "1000.00ms"),
        (1_000_000, "1.00sec"),
        (3_600_000_000, "3600.00sec"),
        (0.43, "0.43us"),
        (math.nan, "n/a"),
    ],
)
def test_times_are_written_as_in_tfprof_but_keep_fractions_of_a_microsecond(micros, text):
    assert format_micros(micros) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.00k"),
        (5_830, "5.83k"),
        (2_500_000, "2.50m"),
        (7e9, "7.00b"),
    ],
)
def test_counts_carry_decimal_suffixes(count, text):
    assert format_count(count) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (999, "999B"),
        (1280, "1.28KB"),
        (999_999, "1000.00KB"),
        (1_234_567_890, "1234.57MB"),
    ],
)
def test_memory_is_written_as_in_tfprof(size, text):
    assert format_bytes(size) == text


def test_unrecorded_values_are_never_written_as_numbers():
    assert format_count(math.nan) == format_micros(math.nan) == format_bytes(math.nan) == "n/a"


@pytest.mark.parametrize(
    ("ns", "text"),
    [(1_500, "2 µs"), (3_210_000, "3.21 ms"), (999_600_000, "1.00 s"), (1_240_000_000, "1.24 s")],
)
def test_durations_in_sentences_are_short(ns, text):
    assert format_seconds(ns) == text
