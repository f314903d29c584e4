"""Loops of tests become one waiting call; what isn't such a loop stays."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from assay.models.program.waits import wait_states
from assay.trace.events import Events, Trace
from assay.trace.matching import match
from assay.trace.polling import joined_tests
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
    ranks = (replace(r, events=joined_tests(r.events, trace.functions)) for r in trace.ranks)
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
    for trace in (_polling(late_sender(), gap=100 * US), _polling(late_sender(), other_site=True)):
        assert len(_joined(trace)) == len(trace)
    plain = late_sender()
    assert len(_joined(plain)) == len(plain)
