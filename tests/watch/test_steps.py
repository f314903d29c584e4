"""Steps from lines: patterns, groups, bursts, and arbitrary output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.watch.steps import LONGEST_LINE, StepLines

MS = 1_000_000
OUT, ERR = 0, 1


def seconds(steps):
    return [round(step.seconds, 9) for step in steps]


def test_a_step_is_the_time_between_two_lines():
    lines = StepLines("step")
    assert lines.feed(OUT, 0, b"hello\nstep\n") == []
    assert seconds(lines.feed(OUT, 100 * MS, b"step 2\n")) == [0.1]
    assert lines.feed(OUT, 150 * MS, b"nothing\nst") == []
    assert seconds(lines.feed(OUT, 350 * MS, b"ep\nrest")) == [0.25]
    assert (lines.lines, lines.matched) == (5, 3)
    assert seconds(lines.finish(400 * MS)) == []


def test_a_last_line_without_an_end_counts():
    lines = StepLines("step")
    lines.feed(OUT, 0, b"step\nstep")
    assert seconds(lines.finish(70 * MS)) == [0.07]


def test_streams_do_not_mix_their_lines():
    lines = StepLines("^step$")
    lines.feed(OUT, 0, b"step\nst")
    lines.feed(ERR, 10 * MS, b"warning\n")
    assert seconds(lines.feed(OUT, 20 * MS, b"ep\n")) == [0.02]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.125", 0.125),
        ("1.5e-3", 0.0015),
        ("0.15D-02", 0.0015),
        ("1d2", 100.0),
        ("12.5 ms", 0.0125),
        ("250us", 0.00025),
        ("2 min", 120.0),
    ],
)
def test_the_time_given_by_a_line(text, value):
    for group in ("seconds", "time", "step"):
        lines = StepLines(rf"took (?P<{group}>.+)$")
        assert seconds(lines.feed(OUT, 0, f"took {text}\n".encode())) == [pytest.approx(value)]


def test_invalid_times_are_counted():
    lines = StepLines(r"took (?P<seconds>\S+)")
    assert lines.feed(OUT, 0, b"took ages\ntook nan\ntook -1\ntook inf\n") == []
    assert lines.unreadable == 4


def test_numbers_give_the_steps_per_line():
    lines = StepLines(r"step (?P<i>\d+) of (?P<n>\d+)")
    lines.feed(OUT, 0, b"step 10 of 100\n")
    (step,) = lines.feed(OUT, 1000 * MS, b"step 20 of 100\n")
    assert (step.seconds, step.count, step.number, step.of) == (0.1, 10, 20, 100)
    # Another rank reports the same step, later.
    assert lines.feed(OUT, 1500 * MS, b"step 20 of 100\n") == []
    (step,) = lines.feed(OUT, 2000 * MS, b"step 30 of 100\n")
    assert (step.seconds, step.count) == (0.1, 10)
    # It counts again from the start: a second phase.
    (step,) = lines.feed(OUT, 2200 * MS, b"step 1 of 5\n")
    assert (step.count, step.of) == (1, 5)


def test_lines_that_arrive_together_share_their_time():
    lines = StepLines("s")
    lines.feed(OUT, 0, b"s\n")
    for burst in range(1, 4):
        (step,) = lines.feed(OUT, burst * 1000 * MS, b"s\n" * 20)
        assert (step.seconds, step.count) == (0.05, 20)
    assert lines.buffered == 20


def test_single_lines_are_not_treated_as_bursts():
    lines = StepLines("s")
    for at in range(200):
        lines.feed(OUT, at * 1000 * MS, b"s\n")
    assert lines.buffered == 0


def test_carriage_returns_end_lines():
    lines = StepLines(r"it (?P<i>\d+)$")
    lines.feed(OUT, 0, b"it 1\r")
    assert seconds(lines.feed(OUT, 30 * MS, b"it 2\r")) == [0.03]


def test_a_wrong_pattern_is_answered_with_a_valid_form():
    with pytest.raises(AssayError, match="not a regular expression") as caught:
        StepLines("(step")
    assert "(step" in caught.value.where and "--step" in caught.value.fix


def test_a_pattern_is_suggested_for_frequent_lines():
    lines = StepLines("never")
    for i in range(50):
        lines.feed(OUT, i, f" iter = {i:3d}  residual 1.{i}e-3\n".encode())
    suggested = lines.suggestion()
    again = StepLines(suggested)
    again.feed(OUT, 0, b" iter =   7  residual 1.0e-3\n")
    assert again.matched == 1
    assert again._last_number == 7
    assert StepLines("never").suggestion() is None


@given(
    st.lists(st.binary(max_size=300), max_size=30),
    st.sampled_from(["x", r"(?P<seconds>\d+)", r"(?P<i>\d)"]),
)
def test_any_bytes_in_any_pieces_yield_the_same_lines(pieces, pattern):
    apart, whole = StepLines(pattern), StepLines(pattern)
    for time_ns, piece in enumerate(pieces):
        apart.feed(OUT, time_ns, piece)
    whole.feed(OUT, 0, b"".join(pieces))
    assert (apart.lines, apart.matched, apart.unreadable) == (
        whole.lines,
        whole.matched,
        whole.unreadable,
    )


def test_no_lines_at_all_take_no_memory():
    lines = StepLines("x")
    for at in range(200):
        lines.feed(OUT, at, bytes(1 << 16))
    assert len(lines._rest[OUT]) <= LONGEST_LINE


@pytest.mark.long
def test_a_million_lines_are_counted():
    lines = StepLines(r"step (?P<i>\d+)")
    found = 0
    for block in range(200):
        text = b"".join(
            b"step %d of the work\n" % i for i in range(block * 5000, block * 5000 + 5000)
        )
        for at in range(0, len(text), 65536):
            found += sum(
                step.count for step in lines.feed(OUT, block * 100 * MS + at, text[at : at + 65536])
            )
    assert lines.matched == 1_000_000
    # The first piece ends no step: time begins there.
    first = 65536 // len(b"step 1000 of the work\n")
    assert 999_999 - 2 * first <= found < 1_000_000
