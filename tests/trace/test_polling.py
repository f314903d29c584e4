"""Loops of tests become one waiting call; what isn't such a loop stays."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from assay.models.program.waits import wait_states
from assay.trace.events import UNKNOWN_BYTES, Events, Trace
from assay.trace.matching import match
from assay.trace.polling import joined_polls
from simulated_mpi import events_of
from traces import late_sender

US = 1e-6


def _polling(trace: Trace, *, gap: float = US, other_site: bool = False) -> Trace:
    """The trace with each receive as Irecv, a loop of 100 failed tests, and a successful one."""
    names = (*trace.functions, "Irecv", "Test")
    irecv, test = len(names) - 2, len(names) - 1
    ranks = []
    for rank in trace.ranks:
        events = rank.events
        receives = events.function == trace.functions.index("Recv")
        number = np.where(receives, 3, 1)
        row = np.repeat(np.arange(len(events)), number)
        first = np.concatenate([[0], np.cumsum(number)[:-1]])
        columns = {
            one.name: getattr(events, one.name)[row]
            for one in fields(Events)
            if not one.name.startswith("completed")
        }
        begins, ends = first[receives], first[receives] + 2
        loops = begins + 1
        columns["function"][begins], columns["function"][loops] = irecv, test
        columns["function"][ends] = test
        for tests in (loops, ends):
            columns["peer"][tests], columns["tag"][tests] = -1, -1
            columns["received"][tests] = 0
        columns["end"][begins] = columns["begin"][begins]
        columns["end"][ends] = events.end[receives]
        columns["begin"][ends] = events.end[receives] - US
        columns["end"][loops] = columns["begin"][ends] - gap
        columns["request"][begins] = np.arange(len(begins))
        columns["count"][loops] = 100
        if other_site:
            columns["site"][loops] += 1
        completed = np.zeros(len(row), dtype=np.int64)
        completed[ends] = 1
        ranks.append(
            replace(
                rank,
                events=Events(
                    **columns,
                    completed_start=np.concatenate([[0], np.cumsum(completed)]),
                    completed_request=np.arange(len(begins)),
                ),
            )
        )
    return replace(trace, functions=names, ranks=tuple(ranks))


def _joined(trace: Trace) -> Trace:
    ranks = (replace(r, events=joined_polls(r.events, trace.functions)) for r in trace.ranks)
    return replace(trace, ranks=tuple(ranks))


def test_polling_is_waiting() -> None:
    """Waiting is that of the same program with blocking receives; tests are counted."""
    blocking = late_sender()
    polling = _joined(_polling(blocking))
    wanted, found = (wait_states(match(one)).by_cause() for one in (blocking, polling))
    assert found.keys() == wanted.keys()
    assert abs(found["late sender"] - wanted["late sender"]) < 10 * US
    apart = wait_states(match(_polling(blocking))).by_cause()
    assert apart.get("late sender", 0.0) < 0.01 * wanted["late sender"]
    events = polling.ranks[1].events
    tests = events.function == polling.functions.index("Test")
    assert events.count[tests].tolist() == [101] * int(tests.sum())
    assert len(match(polling).messages) == len(match(blocking).messages)


def test_tests_with_work_between_them_stay_apart() -> None:
    trace = _polling(late_sender(), gap=1000 * US)
    assert len(_joined(trace)) == len(trace)
    plain = late_sender()
    assert len(_joined(plain)) == len(plain)


def test_questions_in_turn_are_one_loop() -> None:
    """From another place, too: a loop over several requests tests each from its own line."""
    wanted = wait_states(match(late_sender())).by_cause()
    joined = _joined(_polling(late_sender(), other_site=True))
    found = wait_states(match(joined)).by_cause()
    assert abs(found["late sender"] - wanted["late sender"]) < 10 * US


def test_a_loop_that_the_scheduler_stopped_is_one_loop() -> None:
    """As far as the rank had no CPU; otherwise a gap as long is work."""
    trace = _polling(late_sender(), gap=1000 * US)
    assert len(_joined(trace)) == len(trace)
    for without_cpu, joins in ((0.0005, False), (0.005, True)):
        events = trace.ranks[1].events
        found = joined_polls(events, trace.functions, without_cpu)
        assert (len(found) < len(events)) == joins


def test_probes_that_found_nothing_join_the_one_that_found_a_message() -> None:
    rows = [
        (0.0, 1.0, 0, 0, 0, -3, -1, -1, -1, 0, UNKNOWN_BYTES, -1),
        (1.0 + US, 1.1, 0, 0, 0, 1, 7, -1, -1, 0, 0, -1),
        (1.2, 1.3, 0, 0, 0, -3, -1, -1, -1, 0, UNKNOWN_BYTES, -1),
    ]
    found = joined_polls(events_of(rows, [[], [], []]), ("Iprobe",))
    assert found.begin.tolist() == [0.0, 1.2]
    assert found.end.tolist() == [1.1, 1.3]
    assert (found.peer[0], found.tag[0], found.count[0]) == (1, 7, 2)
