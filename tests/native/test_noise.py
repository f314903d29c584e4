"""noise.fwq, noise.ftq and noise.barrier: real traces, planted disturbances, planted faults."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from assay.kernels import find_kernel
from assay.kernels.noise import LATENESS_LEVELS
from assay.model.placement import Placement
from assay.records.model import Measurement
from assay.stats.noise.detours import trace_spectrum, traces
from assay.units import format_quantity
from kernel_runs import faulty, is_good, measure, measure_faults, plain, sanitized
from records_builder import make_cell

FWQ, FTQ, BARRIER = "noise.fwq", "noise.ftq", "noise.barrier"
# Keeps a given CPU busy for a time at regular intervals by the clock, and ends with its parent.
DISTURBER = """
import os, sys, time
cpu, period, burn = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {cpu})
parent, due = os.getppid(), time.monotonic()
print("ready", flush=True)
while os.getppid() == parent and time.monotonic() - due < 60:
    until = time.monotonic() + burn
    while time.monotonic() < until:
        pass
    due += period
    time.sleep(max(0.0, due - time.monotonic()))
"""


def named(record, metric, rank=None):
    """The values of one series."""
    (series,) = [s for s in record.series if s.metric == metric and s.rank == rank]
    return series.values


def test_a_trace_that_takes_too_long_is_refused_before_anything_is_launched():
    for name, span in ((FWQ, "quantum"), (FTQ, "interval"), (BARRIER, "quantum")):
        check = find_kernel(name).check
        assert check({span: 0.1, "count": 600}, Placement(ppn=2)) is None
        assert "61 s per sample" in check({span: 0.1, "count": 610}, Placement(ppn=2))


def test_shares_are_shown_as_percentages():
    assert format_quantity(0.0123, "1") == "1.23%"
    assert format_quantity(0.0123, "1", (0.0119, 0.0127)) == "1.23% [1.19, 1.27]"


def test_memory_covers_what_is_kept():
    """The kept traces, a spare one, both clock readings of each barrier, and the kept lateness."""
    need = find_kernel(BARRIER).memory({"count": 16384, "quantum": 1e-4}, 2, 1)
    assert need >= 8 * (20_000 + 3 * 16384 + (1 << 18))


@pytest.mark.slow
def test_traces_hold_every_quantum_of_every_rank():
    orders = [(FWQ, {"quantum": 2e-5, "count": 300}), (FTQ, {"interval": 2e-5, "count": 300})]
    fwq, ftq = measure(plain(), *orders, ranks=2)
    for record, name in ((fwq, "quantum"), (ftq, "pieces")):
        assert is_good(record), record
        samples = len(named(record, "time"))
        traces = int(record.facts["traces_told"])
        assert record.batch == 300 and record.facts["ranks_traced"] == "0, 1"
        assert 1 <= traces <= min(samples, 20_000 // 600)
        assert len(named(record, "noise")) == len(named(record, "detour")) == samples
        for rank in (0, 1):
            values = named(record, name, rank)
            assert len(values) == 300 * traces and all(value >= 0 for value in values)
    # The sum of the quanta is the sample's time, whose first trace is reported; the clock is read
    # once more at either end.
    for rank in (0, 1):
        first = sum(named(fwq, "quantum", rank)[:300])
        assert first <= named(fwq, "time")[0] * 300 * (1 + 1e-9)
    # By the definitions, from the traces themselves: one or two samples fit into the budget.
    shares = {
        "quantum": lambda t: t.mean(axis=1) / t.min() - 1,
        "pieces": lambda t: 1 - t.mean(axis=1) / t.max(),
    }
    for record, name in ((fwq, "quantum"), (ftq, "pieces")):
        if int(record.facts["traces_told"]) < len(named(record, "noise")):
            continue
        tables = [np.array(named(record, name, rank)).reshape(-1, 300) for rank in (0, 1)]
        each = [shares[name](table) for table in tables]
        assert named(record, "noise") == pytest.approx(np.mean(each, axis=0).tolist())
        for rank in (0, 1):
            assert named(record, "noise", rank) == pytest.approx([each[rank].mean()])
        if name == "quantum":
            longest = [table.max(axis=1) - table.min() for table in tables]
            assert named(record, "detour") == pytest.approx(np.max(longest, axis=0).tolist())


@pytest.mark.slow
def test_the_record_stays_bounded():
    """Of five ranks four are traced; all of them report their own numbers."""
    (record,) = measure(plain(), (FWQ, {"quantum": 1e-6, "count": 6000}), ranks=5)
    assert is_good(record)
    traced = [s for s in record.series if s.metric == "quantum"]
    assert len(traced) == len(record.facts["ranks_traced"].split(", ")) <= 4
    assert traced[0].rank == 0
    assert sum(len(s.values) for s in traced) == 6000 * len(traced) * record.facts["traces_told"]
    assert record.facts["traces_told"] == 1
    assert sorted(s.rank for s in record.series if s.metric == "noise" and s.rank is not None) == [
        *range(5)
    ]


@pytest.mark.slow
def test_arrivals_add_up():
    (record,) = measure(plain(), (BARRIER, {"quantum": 2e-5, "count": 200}), ranks=2)
    assert is_good(record), record
    assert record.facts["clocks"] == "one clock"
    assert record.facts["barriers"] == 200 * len(named(record, "time"))
    # Some rank is last at every barrier; two only within one tick of the clock.
    last = [named(record, "last", rank)[0] for rank in (0, 1)]
    assert 1.0 <= sum(last) < 1.1
    for rank in (0, 1):
        levels = named(record, "lateness", rank)
        worst = named(record, "latest", rank)
        assert len(levels) == len(LATENESS_LEVELS) and levels == sorted(levels)
        assert worst == sorted(worst, reverse=True) and len(worst) == 5
        assert worst[0] >= levels[-1] >= 0.0
    # Of two ranks one is first: on average half of the spread is spent waiting. The share refers to
    # both ranks' mean time, which is between half of the slower one's and all of it.
    for lost, spread, time in zip(
        named(record, "lost"), named(record, "spread"), named(record, "time"), strict=True
    ):
        assert 0.0 <= lost < 1.0
        assert spread / 2 <= lost * time * (1 + 1e-9) <= spread * (1 + 1e-6)
    assert all(value > 0 for value in named(record, "barrier"))


@pytest.mark.slow
@pytest.mark.sanitizable
def test_a_rank_with_more_work_is_the_late_one():
    """The last rank works five times as long: it arrives last, four quanta late."""
    (record,) = measure(
        faulty(), (BARRIER, {"quantum": 5e-5, "count": 200, "fault": "late"}), ranks=2
    )
    assert is_good(record)
    assert named(record, "last", 1)[0] > 0.8 > 0.2 > named(record, "last", 0)[0]
    middle = LATENESS_LEVELS.index(0.5)
    assert named(record, "lateness", 0)[middle] == 0.0
    assert named(record, "lateness", 1)[middle] > 3 * 5e-5


@pytest.mark.slow
@pytest.mark.sanitizable
def test_faults_are_found():
    cases = [(k, f) for k in (FWQ, FTQ, BARRIER) for f in ("none", "work", "count")]
    cases.append((BARRIER, "early"))
    span = {FWQ: "quantum", FTQ: "interval", BARRIER: "quantum"}
    found = measure_faults(
        *((k, {span[k]: 2e-5, "count": 100, "fault": f}) for k, f in cases), ranks=2
    )
    for (_, fault), record in zip(cases, found, strict=True):
        if fault in ("work", "count"):
            assert record.verification.value == 1  # of the last rank alone


@pytest.mark.slow
def test_wrong_parameters_are_reported():
    wrong = {
        "between 16 and 16384, not 15": (FWQ, {"count": 15}),
        "not 16385": (FTQ, {"count": 16385}),
        "between 0.000001 and 0.1 seconds": (FTQ, {"interval": 0.0}),
        "at most 60 s may": (BARRIER, {"quantum": 0.1, "count": 601}),
        "too few pieces of work": (FTQ, {"interval": 1e-6}),
    }
    found = measure(plain(), *wrong.values(), ranks=2)
    for words, record in zip(wrong, found, strict=True):
        assert record.status == "failed" and words in record.error
    (alone,) = measure(plain(), (BARRIER, {}))
    assert alone.status == "failed" and "at least two ranks" in alone.error


@pytest.mark.long
@pytest.mark.slow
def test_defaults_are_the_catalogues():
    kernels = (FWQ, FTQ, BARRIER)
    found = measure(plain(), *((k, {}) for k in kernels), ranks=2)
    for name, record in zip(kernels, found, strict=True):
        assert record.parameters == {p.name: p.default for p in find_kernel(name).parameters}


def disturbed(kernel, parameters, cpu):
    """One rank's trace on that CPU while a process burns 5 ms of each 50 ms of it."""
    command = [sys.executable, "-c", DISTURBER, str(cpu), "0.05", "0.005"]
    allowed = os.sched_getaffinity(0)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as disturber:
        try:
            assert disturber.stdout.readline() == b"ready\n"
            os.sched_setaffinity(0, {cpu})  # the ranks inherit it
            (record,) = measure(plain(), (kernel, parameters))
        finally:
            os.sched_setaffinity(0, allowed)
            disturber.kill()
    assert is_good(record)
    cell = make_cell(kernel, ppn=1, **parameters)
    (trace,) = traces([Measurement(cell, 0, "0", 0.0, record, None, ())])
    return trace


@pytest.mark.long
@pytest.mark.slow
def test_a_disturbance_is_found_in_the_spectrum_of_a_real_trace():
    """It must be found, not measured exactly: other work on this machine may affect all else."""
    lost = []
    for cpu in sorted(os.sched_getaffinity(0))[:3]:
        trace = disturbed(FTQ, {"interval": 1e-3, "count": 4000}, cpu)  # 80 periods
        seen = trace_spectrum(trace)
        # At 20 Hz or a multiple; other periodic load on this machine may share some of them.
        places = np.searchsorted(seen.frequencies, np.arange(1, 9) * 20.0 - 1e-6)
        near = places[:, None] + np.arange(-1, 2)
        if np.any(seen.periodic and seen.power[near] > seen.threshold[near]):
            return
        lost.append(trace.share)
        # The disturbance takes 10%; if others take far more it isn't scheduled in time.
        if trace.share < 0.2:
            pytest.fail(f"no line at 20 Hz or a multiple of it: {seen.periodic}")
    pytest.skip(f"other work took the CPUs: {', '.join(f'{share:.0%}' for share in lost)} lost")


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers():
    orders = [
        (FWQ, {"quantum": 1e-5, "count": 16}),
        (FTQ, {"interval": 1e-4, "count": 16}),
        (BARRIER, {"quantum": 1e-5, "count": 16}),
    ]
    for record in measure(sanitized(), *orders, ranks=2):
        assert is_good(record), record
