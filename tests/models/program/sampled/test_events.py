"""Events by function, and processes, from samples with known numbers."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.models.program.sampled.events import count_events
from assay.models.program.sampled.threads import process_times
from assay.trace.samples.model import Activity, ProgramSamples, ThreadSamples
from known_samples import PERIOD, place, thread


def _with_events(of: ThreadSamples, *events: float, counted: float = 1.0) -> ThreadSamples:
    rows = np.array(events, float).reshape(-1, 1)
    return msgspec.structs.replace(of, events=rows, counted=counted)


def _program(
    *threads: ThreadSamples, counters: tuple[str, ...] = ("page-faults",)
) -> ProgramSamples:
    places = (place("solve", 7), place("read", 3))
    return ProgramSamples(PERIOD, "cpu-clock", places, ((0,), (1,)), threads, counters=counters)


def test_events_belong_to_the_function_at_the_end_of_their_period() -> None:
    found = count_events(_program(_with_events(thread(0, [0, 0, 1, 1, 0]), 10, 20, 30, 40, 50)))
    assert found is not None and found.names == ("page-faults",)
    solve, read = found.functions
    assert (solve.place.function, solve.events, solve.samples) == ("solve", (80.0,), 3)
    assert (read.place.function, read.events, read.samples) == ("read", (70.0,), 2)
    assert solve.shared == pytest.approx(1 / 3) and read.shared == pytest.approx(1 / 2)
    assert solve.seconds == pytest.approx(3 * PERIOD)
    assert found.totals == (150.0,)


def test_samples_in_mpi_and_without_counters_are_left_out() -> None:
    kinds = [Activity.COMPUTING, Activity.MPI, Activity.COMPUTING]
    first = _with_events(thread(0, [0, 0, 0], kinds), 10, 20, np.nan)
    second = _with_events(thread(1, [1]), 5, counted=0.5)
    found = count_events(_program(first, second))
    assert found is not None
    assert {one.place.function: one.events for one in found.functions} == {
        "solve": (10.0,), "read": (5.0,)
    }  # fmt: skip
    assert found.counted == pytest.approx((3 * 1.0 + 1 * 0.5) / 4)
    assert count_events(_program(thread(0, [0]), counters=())) is None


def test_each_process_has_its_times_and_functions() -> None:
    def of(process: int, parent: int, number: int, stacks: list[int]) -> ThreadSamples:
        one = thread(0, stacks, number=number)
        return msgspec.structs.replace(one, process=process, parent=parent)

    parent, child = process_times(
        _program(of(5, 0, 0, [0]), of(6, 5, 1, [1, 1, 1]), of(6, 5, 2, [0, 1]))
    )
    assert (parent.process, parent.parent, parent.threads, parent.samples) == (5, 0, 1, 1)
    assert (child.process, child.parent, child.threads, child.samples) == (6, 5, 2, 5)
    assert child.computing == pytest.approx(5 * PERIOD)
    assert [(one.function, pytest.approx(spent)) for one, spent in child.functions] == [
        ("read", 4 * PERIOD), ("solve", PERIOD)
    ]  # fmt: skip
