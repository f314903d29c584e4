"""Quantities to text and back: known examples, and round trips of random values."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.units import (
    agreeing,
    capitalised,
    counted,
    counted_verb,
    format_change,
    format_count,
    format_duration,
    format_memory,
    format_quantity,
    format_share,
    format_signed,
    format_size,
    parse_duration,
    parse_quantity,
    parse_walltime,
    rough_duration,
)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (19.5e9, "B/s", "19.5 GB/s"),
        (1e6, "B/s", "1.00 MB/s"),
        (999.96e6, "B/s", "1.00 GB/s"),
        (999.4e6, "B/s", "999 MB/s"),
        (1.02e-6, "s", "1.02 µs"),
        (0.5, "s", "500 ms"),
        (1234.5, "s", "1234 s"),
        (2.5e-13, "s", "2.50e-13 s"),
        (3e-12, "s", "3.00 ps"),
        (2.596e9, "Hz", "2.60 GHz"),
        (166151680000.0, "flop/s", "166 Gflop/s"),
        (537.212e15, "flop/s", "537 Pflop/s"),
        (1e22, "flop/s", "1.00e+22 flop/s"),
        (42.1e6, "op/s", "42.1 Mop/s"),
        (0.25, "B/s", "0.250 B/s"),
        (0, "B/s", "0 B/s"),
        (-19.5e9, "B/s", "−19.5 GB/s"),
        (12345, "", "12,345"),
        (7, "", "7"),
        (0.123456, "", "0.123"),
        (None, "B/s", "–"),
        (math.nan, "s", "NaN s"),
        (-math.inf, "B/s", "−∞ B/s"),
        (5e-324, "s", "4.94e-324 s"),
    ],
)
def test_quantities(value, unit, text):
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (19.5e9, (19.4e9, 19.6e9), "19.5 GB/s [19.4, 19.6]"),
        (19.512e9, (19.506e9, 19.518e9), "19.51 GB/s [19.51, 19.52]"),  # never more than four
        (8e9, (8e9, 8.000000001e9), "8.000 GB/s [equal to 9 digits]"),
        (8e9, (8e9, 8.00000001e9), "8.00000000 GB/s [8.00000000, 8.00000001]"),  # never ±0
        (19.512e9, (19.45e9, 19.61e9), "19.51 GB/s [19.45, 19.61]"),  # the width begins with 1
        (19.4e9, (12e9, 35e9), "19 GB/s [12, 35]"),
        (5e9, (0.02e9, 90e9), "5.0 GB/s [0.02, 90.0]"),  # no bound reads as 0
        (5e9, (-1e9, 11e9), "5.0 GB/s [−1.0, 11.0]"),
        (19.5e9, (19.5e9, 19.5e9), "19.5 GB/s [equal to 9 digits]"),
        (0.0, (-1.0, 1.0), "0 B/s [−1, 1]"),
    ],
)
def test_digits_match_the_interval(value, interval, text):
    assert format_quantity(value, "B/s", interval) == text


def test_shares():
    assert format_share(0.923) == "92.3%"
    assert format_share(0.923, (0.918, 0.929)) == "92.3% [91.8, 92.9]"
    assert format_share(1.5) == "150%"
    assert format_share(0) == "0%"
    assert format_share(None) == "–"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (200, "3 min 20 s"),
        (60, "1 min"),
        (59.97, "1 min"),
        (59.9, "59.9 s"),
        (3599.6, "1 h"),
        (7500, "2 h 5 min"),
        (86390, "1 d"),
        (356400, "4 d 3 h"),
        (12.34, "12.3 s"),
        (0, "0 s"),
        (-200, "−3 min 20 s"),
        (None, "–"),
        (math.inf, "∞ s"),
    ],
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (-0.034, "+.1%", "−3.4%"),
        (0.034, "+.1%", "+3.4%"),
        (-3.14159, ".3g", "−3.14"),
        (-2e-7, ".1e", "−2.0e-07"),
        (-1234567, ",", "−1,234,567"),
        (-0.0004, "+.1%", "0.0%"),
        (0.0004, "+.1%", "0.0%"),
        (-0.0, ".2f", "0.00"),
        (0, "d", "0"),
        (-7, "d", "−7"),
        (math.inf, "+.1f", "+inf"),
        (-math.inf, ".1f", "−inf"),
        (math.nan, "+.1f", "+nan"),
    ],
)
def test_numbers_for_people_have_a_minus_sign(value: float, spec: str, text: str) -> None:
    assert format_signed(value, spec) == text


@pytest.mark.parametrize(
    ("share", "interval", "spec", "text"),
    [
        (0.0123, None, "+.1f", "+1.2%"),
        (-0.031, (-0.04, 0.001), "+.1f", "−3.1% [−4.0, +0.1]"),
        (-0.315, (-0.431, -0.287), ".1f", "−31.5% [−43.1, −28.7]"),
        (0.00004, (-0.00004, 0.00004), "+.1f", "0.0% [0.0, 0.0]"),
    ],
)
def test_relative_changes(
    share: float, interval: tuple[float, float] | None, spec: str, text: str
) -> None:
    assert format_change(share, interval, spec=spec) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (4 << 20, "4 MiB"),
        (1536, "1.5 KiB"),
        (1000, "1000 B"),
        (0, "0 B"),
        (8, "8 B"),
        (28160 * 1024, "27.5 MiB"),
        ((4 << 20) + 1, "4194305 B"),
        (-2048, "-2 KiB"),  # as in a plan
        (None, "–"),
    ],
)
def test_sizes(size, text):
    assert format_size(size) == text


def test_memory_is_rounded():
    assert format_memory(24684084 * 1024) == "23.5 GiB"
    assert format_memory(1 << 30) == "1 GiB"
    assert format_memory(0) == "0 B"
    assert format_memory((1 << 30) - 1) == "1.00 GiB"
    assert format_memory(None) == "–"


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("64 KiB", "B", 65536),
        ("4MiB", "B", 4 << 20),
        ("1e6", "", 1_000_000),
        ("10 GB", "B", 10_000_000_000),
        ("1.5 us", "s", 1.5e-6),
        ("1.5 µs", "s", 1.5e-6),
        ("90 s", "s", 90),
        ("10 min", "s", 600),
        ("2.6 GHz", "Hz", 2_600_000_000),
        ("100 Gbit/s", "B/s", 12_500_000_000),
        ("1%", "1", 0.01),
        ("  8  ", "B", 8),
        (".5", "", 0.5),
        ("-3", "", -3),
        ("−3.5%", "1", -0.035),  # copied from a report
        (17, "B", 17),
        (0.25, "s", 0.25),
        ("9007199254740993", "", 9007199254740993),  # not a double
    ],
)
def test_parsing(text, unit, value):
    found = parse_quantity(text, unit)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "unit", "what", "fix"),
    [
        ("", "B", "is not a quantity", "64 KiB"),
        ("lots", "B", "is not a quantity", "64 KiB"),
        ("nan", "", "is not a quantity", "64 KiB"),
        ("1e", "", "unknown unit 'e'", ""),
        ("1_000", "", "unknown unit", ""),
        ("64 K", "B", "1000 or of 1024", "KiB"),
        ("4m", "B", "1000 or of 1024", "MiB"),
        ("64 KiBs", "B", "unknown unit 'KiBs'", "Did you mean 'KiB"),
        ("3 s", "B", "is in s, but a quantity in B", "Write it in B"),
        ("1e400", "", "too large", "smaller"),
        ("9e9999", "B", "too large", "smaller"),
        (True, "", "is not a quantity", "number"),
    ],
)
def test_parsing_reports_what_is_wrong(text, unit, what, fix):
    with pytest.raises(AssayError) as caught:
        parse_quantity(text, unit, where="plan.toml:7: bytes")
    assert what in caught.value.what
    assert fix in caught.value.fix
    assert caught.value.where == "plan.toml:7: bytes"


UNITS = st.sampled_from(["s", "B/s", "flop/s", "op/s", "Hz", "B"])
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.floats(1e-12, 1e20) | st.floats(-1e20, -1e-12), UNITS)
@example(999.5e3, "B/s")
def test_quantities_round_trip_to_three_digits(value, unit):
    found = parse_quantity(format_quantity(value, unit), unit)
    assert found == pytest.approx(value, rel=0.005, abs=0)


@given(FINITE, UNITS | st.just(""))
def test_no_value_is_lost(value, unit):
    """The text shows 0 only for 0, and has the value's sign."""
    text = format_quantity(value, unit)
    number = float(re.match(r"[-−\d.,e+]+", text)[0].replace(",", "").replace("−", "-"))
    assert (number == 0) == (value == 0)
    assert math.copysign(1, number) == math.copysign(1, value) or value == 0


@given(st.integers(-(2**62), 2**62))
def test_sizes_come_back_exactly(size):
    assert parse_quantity(format_size(size), "B") == size


@example(915004646507971.0, 0.15625, 0.125, "s")
@given(st.floats(1e-9, 1e15), st.floats(1e-8, 2), st.floats(0.1, 0.9), UNITS)
def test_intervals_hold_to_four_digits(value, width, place, unit):
    """Bounds are off by less than the width allows, or by less than the value's fourth digit."""
    low, high = value - width * place * value, value + width * (1 - place) * value
    text = format_quantity(value, unit, (low, high))
    match = re.fullmatch(r"(\S+) (\S+) \[(\S+), (\S+)\]", text)
    assume(match is not None)
    scale = parse_quantity(f"1 {match[2]}", unit)
    shown = [float(match[i].replace("−", "-")) * scale for i in (1, 3, 4)]
    digits = 0.0005 * 10 ** math.ceil(math.log10(value * 1.0001))  # half of the fourth digit
    assert shown[1] < shown[2] or high - low < 4 * digits
    for found, true in zip(shown, (value, low, high), strict=True):
        assert abs(found - true) <= max(0.51 * (high - low) * 0.55, 1.01 * digits)
    assert shown[1] <= shown[0] <= shown[2]


@given(st.floats(0, 1e9))
def test_durations_round_trip_to_their_last_part(seconds):
    total, last = 0.0, 1.0
    for number, unit in re.findall(r"([\d.e+-]+) (\S+)", format_duration(seconds)):
        total += parse_quantity(f"{number} {unit}", "s")
        last = parse_quantity(f"1 {unit}", "s")
    tolerance = 0.005 * seconds if seconds < 60 else max(last, 3600 if seconds > 86400 else 60)
    assert abs(total - seconds) <= tolerance


@given(st.text(max_size=20))
def test_parsing_never_raises_anything_else(text):
    try:
        value = parse_quantity(text)
    except AssayError:
        return
    assert math.isfinite(value)


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "core", "0 cores"),
        (1, "core", "1 core"),
        (2, "NUMA node", "2 NUMA nodes"),
        (1, "launch", "1 launch"),
        (1024, "launch", "1,024 launches"),
        (2, "search", "2 searches"),
        (3, "process", "3 processes"),
    ],
)
def test_numbers_with_nouns(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text


@pytest.mark.parametrize(
    ("number", "verb", "text"),
    [
        (0, "repeat", "0 ranks repeat"),
        (1, "repeat", "1 rank repeats"),
        (2, "repeat", "2 ranks repeat"),
        (1, "are", "1 rank is"),
        (1, "were", "1 rank was"),
        (1, "have", "1 rank has"),
        (1, "don't", "1 rank doesn't"),
        (2, "don't", "2 ranks don't"),
        (1, "can't", "1 rank can't"),
        (1, "reach", "1 rank reaches"),
        (1, "carry", "1 rank carries"),
        (1, "stay", "1 rank stays"),
        (1000, "are", "1,000 ranks are"),
    ],
)
def test_verbs_agree_with_numbers(number: int, verb: str, text: str) -> None:
    assert counted_verb(number, "rank", verb) == text
    assert text.endswith(f" {agreeing(number, verb)}")


def test_a_probability_is_never_rounded_to_certainty() -> None:
    from assay.units import format_probability

    assert format_probability(0.996) == format_probability(0.99999) == "99%"
    assert format_probability(0.99999, 1) == "99.9%"
    assert format_probability(0.0001) == "1%" and format_probability(0.0001, 1) == "0.1%"
    assert format_probability(0.8472) == "85%"
    assert (format_probability(1.0), format_probability(0.0)) == ("100%", "0%")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("each rank is pinned", "Each rank is pinned"),
        ("memory.", "Memory."),
        ("compute.dgemm's variation", "compute.dgemm's variation"),
        ("memory.stream op=triad is steady", "memory.stream op=triad is steady"),
        ("", ""),
    ],
)
def test_identifiers_keep_their_case_at_the_start_of_a_sentence(text: str, wanted: str) -> None:
    assert capitalised(text) == wanted


# sbatch(1), --time: "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours",
# "days-hours:minutes" and "days-hours:minutes:seconds".
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-00:00:00", 86400),
        ("24:00:00", 86400),
        ("2-12", 216000),
        ("1-2:30", 95400),
        ("0-0:1:5", 65),
        ("90:30", 5430),
        ("0:05", 5),
        ("100:00:01", 360001),
    ],
)
def test_times_as_for_slurm(text, seconds):
    assert parse_quantity(text, "s") == seconds
    assert parse_walltime(text) == seconds


@pytest.mark.parametrize(
    "text", ["1-24", "1-0:60", "1:60:00", "1:00:60", "0:60", "1:2:3:4", "-1:00", "1-", "1:5", ":30"]
)
def test_times_that_are_none(text):
    with pytest.raises(AssayError, match=r"is not a quantity|unknown unit"):
        parse_quantity(text, "s", where="x")


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(90, 5400.0), ("90", 5400.0), (1.5, 90.0), ("90 s", 90.0), ("2 h", 7200.0), ("1:30", 90.0)],
)
def test_a_bare_number_is_a_walltime_in_minutes(written, seconds):
    assert parse_walltime(written) == seconds


@pytest.mark.parametrize("written", [0, "-5", "0:00", "UNLIMITED", "5 GB"])
def test_walltimes_that_are_none(written):
    with pytest.raises(AssayError) as caught:
        parse_walltime(written, where="assay.toml:3")
    assert caught.value.where == "assay.toml:3"


@given(st.integers(0, 400), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_days_hours_minutes_seconds_add_up(days, hours, minutes, seconds):
    total = 86400 * days + 3600 * hours + 60 * minutes + seconds
    assert parse_quantity(f"{days}-{hours:02d}:{minutes:02d}:{seconds:02d}", "s") == total
    assert parse_quantity(f"{24 * days + hours}:{minutes:02d}:{seconds:02d}", "s") == total


@pytest.mark.parametrize(
    ("number", "text"), [(1.94, "1.9"), (59.3, "59"), (430.0, "430"), (12_345.0, "12,000")]
)
def test_numbers_of_cpus_have_no_exponent(number: float, text: str) -> None:
    assert format_count(number) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90 s", 90),
        ("90sec", 90),
        ("1 second", 1),
        ("10 mins", 600),
        ("10mins", 600),
        ("1 minute", 60),
        ("2 hrs", 7200),
        ("1.5 hr", 5400),
        ("2 Hours", 7200),
        ("3 d", 259200),
        ("1 w", 604800),
        ("250 ms", 0.25),
        ("1-12:00:00", 129600),
        ("00:10:00", 600),
        ("0", 0),
    ],
)
def test_durations_are_read_in_all_usual_notations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["10", "0.5", "1e3", " 10 ", "-5", 10, 2.5])
def test_a_duration_without_a_unit_is_refused(text: str | float) -> None:
    with pytest.raises(AssayError) as found:
        parse_duration(text, where="--budget")
    number = str(text).strip()
    assert found.value.what == f"'{number}' has no unit."
    assert found.value.fix == f'Give a unit: --budget "{number} min" or --budget "{number} s".'


@pytest.mark.parametrize(("text", "what"), [("10m", "minutes or months"), ("5 parsec", "unknown")])
def test_a_doubtful_unit_of_time_is_refused(text: str, what: str) -> None:
    with pytest.raises(AssayError, match=what):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (0.4, "0 s"), (28.4, "28 s"), (59.7, "1 min"), (203.0, "3 min 25 s")],
)
def test_an_estimated_duration_has_few_digits(seconds: float, text: str) -> None:
    assert rough_duration(seconds) == text
