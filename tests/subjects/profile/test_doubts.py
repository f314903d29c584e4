"""What a doubt touches isn't said: whatever its numbers are, the report is the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.subjects.profile import answer as profile_answer
from assay.subjects.profile import doubts as doubts_of
from assay.subjects.profile import figures as profile_figures
from assay.subjects.profile import tables as profile_tables
from assay.subjects.profile.doubts import (
    KINDS,
    LEAVES_RANGE,
    STATEMENTS,
    TOUCHED,
    DoubtKind,
    ProgramStatement,
)
from assay.subjects.profile.findings import find
from assay.subjects.profile.model import ProfileFindings
from assay.subjects.profile.traced import answer as traced_answer
from assay.subjects.profile.traced import figures as traced_figures
from assay.subjects.profile.traced import tables as traced_tables
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.profile.traced.model import MessagesInARow, TraceFindings, TransferOverlap
from assay.trace.model import LaunchTime
from assay.trace.reading import read_profile
from profiles import call, header, kind, write_profile
from simulated_mpi import Net
from traces import ETHERNET, FAST, MS, stencil

_APART = [LaunchTime(2.0, 1.0), LaunchTime(3.0, 1.0), LaunchTime(4.0, 2.0)]


def _profile() -> ProfileFindings:
    """Rank 1 computes longer; small messages; much of the time in one place."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = {
            str(rank): [
                header(rank),
                kind("point", 5000, 7.0 - 4.0 * rank),
                call("Send", 7.0 - 4.0 * rank, calls=5000, payload=40_000),
            ]
            for rank in range(2)
        }
        return find(read_profile(write_profile(Path(folder), ranks)))


def _trace() -> TraceFindings:
    """A stencil on a slow network in which all that can be said is worth saying."""
    found = find_trace(stencil(4, 40, Net(ETHERNET, FAST), size=60_000, computing=0.3 * MS))
    assert found.network is not None
    calm = replace(
        found.network,
        doubt="",
        misfit=0.01,
        predictions=[replace(one, doubt="") for one in found.network.predictions],
    )
    row = MessagesInARow("Send", "hand_over (app.c:1)", False, False, 2, 640, 64, 8, 0.6, 0.2)
    overlap = TransferOverlap("Recv", "take (app.c:2)", 1, 10, 0.01, 0.02, 0.3, 0.1)
    efficiencies = replace(found.efficiencies, serialisation=0.7, transfer=0.6)
    origin = replace(found.origins[0], gain=0.3)
    return replace(
        found, wall=3.0, waiting=0.2, network=calm, in_a_row=[row], overlaps=[overlap],
        efficiencies=efficiencies, origins=[origin, *found.origins[1:]], inside=4.0, analysed=1.0,
    )  # fmt: skip


PROFILE, TRACE = _profile(), _trace()
Plant = Callable[[Any], Any]


def _predictions(found: TraceFindings, **fields: Any) -> TraceFindings:
    network = found.network
    assert network is not None
    every = [replace(one, **fields) for one in network.predictions]
    return replace(found, network=replace(network, predictions=every))


IN_PROFILE: dict[DoubtKind, Plant] = {
    "no cpu": lambda found: replace(found, cpu_wait=0.52),
    "gaps": lambda found: replace(found, absent=[2]),
    "short": lambda found: replace(found, wall=0.5),
    "launches": lambda found: replace(found, launches=_APART),
    "no room": lambda found: replace(found, lost=0.3),
}
IN_TRACE: dict[DoubtKind, Plant] = {
    "no cpu": lambda found: replace(found, cpu_wait=0.52),
    "gaps": lambda found: replace(found, incomplete=[1]),
    "not analysed": lambda found: replace(found, analysed=0.5),
    "short": lambda found: replace(found, wall=0.5),
    "launches": lambda found: replace(found, launches=_APART),
    "misfit": lambda found: replace(found, network=replace(found.network, misfit=0.4)),
    "prediction": lambda found: _predictions(found, doubt="It is under a third of the run."),
}


def _of_profile(found: ProfileFindings, statement: ProgramStatement, x: float) -> Any:
    """Other numbers in what the profile says of a statement."""
    of, grain = found.efficiencies, found.grain
    assert of is not None
    changed = {
        "efficiency": {"efficiencies": replace(of, parallel=x, load_balance=x, communication=x)},
        "grain": {"grain": replace(grain, ratio=9.0 * x, fine=x > 0.5, waiting_share=x)},
        "computing": {"grain": replace(grain, between=x)},
    }
    return replace(found, **changed[statement]) if statement in changed else None


def _of_trace(found: TraceFindings, statement: ProgramStatement, x: float, span: bool) -> Any:
    """Likewise of a trace. ``span``: the range of predictions, too."""
    of, network = found.efficiencies, found.network
    assert network is not None
    first = found.origins[0]
    other = {"seconds": 40.0 * x, "ratio": 9.0 * x, "grain": "fine" if x > 0.5 else "coarse",
             "computing_ratio": x, "fine_from": 100 * x, "medium_from": 20 * x}  # fmt: skip
    if span:
        other |= {"low": 30.0 * x, "high": 50.0 * x}
    link = replace(network.links[0], latency=x, overhead=x, bandwidth=x, observations=3)
    curve = [replace(one, ratio=one.ratio * (1 + x)) for one in network.grains]
    needed = [replace(one, latency=x, bandwidth=1e6 * x) for one in network.needed]
    changed: dict[str, Callable[[], TraceFindings]] = {
        "efficiency": lambda: replace(
            found, efficiencies=replace(of, parallel=x, load_balance=x, communication=x)
        ),
        "ideal": lambda: replace(found, efficiencies=replace(of, serialisation=x, transfer=x)),
        "origin": lambda: replace(
            found, origins=[replace(first, rank=3, share=x, direct=x, gain=x * found.wall)]
        ),
        "path": lambda: replace(
            found, critical=[replace(one, time=x, share=x) for one in found.critical]
        ),
        "link": lambda: replace(found, network=replace(network, links=[link, *network.links[1:]])),
        "need": lambda: replace(
            found, network=replace(network, messages=99 * x, bytes=1e5 * x, needed=needed)
        ),
        "run time": lambda: replace(
            _predictions(found, **other),
            network=replace(_predictions(found, **other).network, grains=curve),
        ),
        "saving": lambda: replace(found, overlaps=[replace(found.overlaps[0], gain=x, share=x)]),
        "model saving": lambda: replace(
            found, in_a_row=[replace(found.in_a_row[0], gain=x, share=x)]
        ),
    }
    return changed[statement]() if statement in changed else None


def _shown(found: ProfileFindings | TraceFindings) -> str:
    """All that a report shows: sentences, tables, figures."""
    parts: list[Any]
    if isinstance(found, ProfileFindings):
        parts = [profile_answer.answer(found), profile_tables.tables(found),
                 profile_figures.figures(found), profile_tables.rank_table(found)]  # fmt: skip
    else:
        parts = [traced_answer.answer(found), traced_tables.tables(found),
                 traced_figures.figures(found)]  # fmt: skip
    return msgspec.json.encode(parts).decode()


def test_every_doubt_and_every_statement_is_planted() -> None:
    assert IN_PROFILE.keys() | IN_TRACE.keys() == set(KINDS) == TOUCHED.keys()
    said = {one for one in STATEMENTS if _of_trace(TRACE, one, 0.3, True) is not None}
    said |= {one for one in STATEMENTS if _of_profile(PROFILE, one, 0.3) is not None}
    assert said == set(STATEMENTS) - {"waiting", "site"}  # which have tests of their own


@pytest.mark.parametrize("statement", STATEMENTS)
def test_without_a_doubt_the_numbers_are_there(statement: ProgramStatement) -> None:
    for found, other in (
        (PROFILE, _of_profile(PROFILE, statement, 0.31)),
        (TRACE, _of_trace(TRACE, statement, 0.31, True)),
    ):
        if other is not None:
            assert _shown(found) != _shown(other)


@pytest.mark.parametrize("planted", IN_PROFILE)
@given(x=st.floats(0.05, 0.84))
@settings(max_examples=5, deadline=None)
def test_no_number_of_a_profile_survives_its_doubt(planted: DoubtKind, x: float) -> None:
    doubtful = IN_PROFILE[planted](PROFILE)
    for statement in TOUCHED[planted]:
        other = _of_profile(doubtful, statement, x)
        if other is not None:
            assert _shown(other) == _shown(doubtful), statement


@pytest.mark.parametrize("planted", IN_TRACE)
@given(x=st.floats(0.05, 0.84))
@settings(max_examples=5, deadline=None)
def test_no_number_of_a_trace_survives_its_doubt(planted: DoubtKind, x: float) -> None:
    """But the range of a run time, with doubts that leave one."""
    doubtful = IN_TRACE[planted](TRACE)
    for statement in TOUCHED[planted]:
        other = _of_trace(doubtful, statement, x, planted not in LEAVES_RANGE)
        if other is not None:
            assert _shown(other) == _shown(doubtful), statement


def test_what_the_doubts_touch() -> None:
    """Without a CPU all times of ranks are wrong, so that only waiting is left."""
    assert TOUCHED["no cpu"] == set(STATEMENTS) - {"waiting"}
    for planted in ("gaps", "not analysed", "short", "launches", "misfit"):
        assert TOUCHED[planted] >= {"need", "run time", "ideal", "model saving"}
    assert "origin" in TOUCHED["not analysed"] & TOUCHED["gaps"]


def test_without_a_doubt_advice_is_sorted_by_its_gain() -> None:
    look, small, even = profile_answer.answer(PROFILE).advice
    assert look.startswith("Look at Send in ") and "50.0% of the wall time" in look
    assert "sends 10,000 messages of 8.00 B on average" in small and "`--trace`" in small
    assert even.endswith("Balanced work would save up to 20.0% of the run time.")
    advice = traced_answer.answer(TRACE).advice
    begins = ["40.0% of the time is transfer", "30.0% of the time on an ideal", "Send in hand_over"]
    for text, begin in zip(advice, begins, strict=False):
        assert text.startswith(begin)
    assert "64 messages of 8 B in a row" in advice[2]
    assert "save up to 20.0% of the run time" in advice[2]
    rest = " ".join(advice[3:])
    assert "Recv in take (app.c:2) takes 10.0 ms for its transfer" in rest
    assert "the run would save up to 10.0% of its time" in rest


@pytest.mark.parametrize("planted", ["no cpu", "gaps", "short", "launches"])
def test_the_first_advice_removes_the_doubt(planted: DoubtKind) -> None:
    for found, answer in (
        (IN_PROFILE[planted](PROFILE), profile_answer.answer),
        (IN_TRACE[planted](TRACE), traced_answer.answer),
    ):
        doubts = (
            doubts_of.profile_doubts(found)
            if isinstance(found, ProfileFindings)
            else doubts_of.trace_doubts(found)
        )
        reply = answer(found)  # type: ignore[operator]
        assert reply.advice[0] == doubts.remedies[0]
        assert doubts.found[0].reason in reply.advice[0]
        assert reply.confidence == "low"
        said = " ".join(reply.advice)
        assert "would save" not in said and "Balanced work" not in said


def test_ranks_without_a_cpu_get_no_other_advice() -> None:
    for found, answer in (
        (IN_PROFILE["no cpu"](PROFILE), profile_answer.answer),
        (IN_TRACE["no cpu"](TRACE), traced_answer.answer),
    ):
        reply = answer(found)  # type: ignore[operator]
        assert reply.advice == [
            "Give each rank a CPU of its own and profile again: ranks had no CPU for 52.0% of "
            "their time."
        ]
        assert "unknown: ranks had no CPU for 52.0% of their time." in reply.verdict


def test_waiting_of_which_a_part_is_not_seen_is_a_bound() -> None:
    for planted in ("gaps", "not analysed"):
        reply = traced_answer.answer(IN_TRACE[planted](TRACE))
        assert reply.verdict.startswith("At least 20.0% of the time is waiting")
        assert any("at least" in row.label for row in reply.evidence if row.metric == "waiting")
    assert "At least" not in traced_answer.answer(TRACE).verdict


def test_call_sites_without_room_are_not_what_to_look_at() -> None:
    assert any("Look at Send" in text for text in profile_answer.answer(PROFILE).advice)
    advice = profile_answer.answer(IN_PROFILE["no room"](PROFILE)).advice
    assert not any("Look at" in text for text in advice)
    assert "ASSAY_PROFILE_ENTRIES" in advice[0]


def test_a_change_that_saves_next_to_nothing_is_not_advised() -> None:
    little = replace(
        TRACE,
        in_a_row=[replace(TRACE.in_a_row[0], gain=0.029, share=0.0099)],
        overlaps=[replace(TRACE.overlaps[0], gain=0.029, share=0.0099)],
    )
    said = " ".join(traced_answer.answer(little).advice)
    assert "in a row" not in said and "transfer, right before" not in said
    assert "trace-savings" in {table.id for table in traced_tables.tables(little)}
