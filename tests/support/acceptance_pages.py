"""Acceptances in every state, for tests of their pages and worksheets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from acceptance_runs import BEGIN, contract, filed_run, normal_times
from assay.acceptance.availability import Downtime
from assay.acceptance.measured import ContractRun, read_measured
from assay.report.acceptance.build import build_acceptance
from assay.report.model import ReportModel
from assay.subjects.acceptance.findings import find
from assay.subjects.acceptance.further import Outages
from assay.subjects.acceptance.model import AcceptanceFindings
from records_builder import make_cell

SIZES = [2**k for k in range(3, 11)]
CELLS = [make_cell("network.pingpong", bytes=size) for size in SIZES]
# 2026-09-21, the day on which the runs begin, and three weeks before it.
DAY = 86400.0
_MONEY = '[penalties]\ncurrency = "EUR"\ncap = 200000\n'
_SCORE = '[score]\nmean = "geometric"\n'
Judged = tuple[AcceptanceFindings, list[ContractRun]]


def commitment(size: int, name: str = "", more: str = "", most: str = "1 ms") -> str:
    """A commitment on the latency of one size."""
    named = f'name = "{name}"\n' if name else ""
    return (
        f'[[commitment]]\n{named}cells = "network.pingpong bytes={size}"\n'
        f'at_most = "{most}"\n{more}\n'
    )


def judged(folder: Path, text: str, medians: Mapping[int, float], launches: int = 30) -> Judged:
    """A run of all cells whose medians are 0.99 ms unless stated, judged by a contract."""
    times = [
        (cell, normal_times(size, medians.get(size, 0.99e-3), launches, cov=0.003))
        for size, cell in zip(SIZES, CELLS, strict=True)
    ]
    run = filed_run(folder, times)
    runs = read_measured(folder, [run.name])
    return find(contract(text), runs), runs


def accepted(folder: Path) -> Judged:
    """Three commitments that are kept, with a score and without penalties."""
    text = _SCORE + "".join(commitment(size, f"Latency of {size} B") for size in SIZES[:3])
    return judged(folder, text, {})


def rejected(folder: Path) -> Judged:
    """One of four commitments is broken, with penalties and a promised score."""
    text = (
        f"{_MONEY}{_SCORE}at_least = 1.0\npenalty = 20000\n"
        + "".join(
            commitment(size, f"Latency of {size} B", "penalty = 10000\nbonus = 1000")
            for size in SIZES[:4]
        )
        + '[[steadiness]]\ncells = "network.pingpong bytes=8"\nvariation_at_most = "1%"\n'
    )
    return judged(folder, text, {SIZES[1]: 1.05e-3})


def undecided(folder: Path) -> Judged:
    """Few launches, and an availability whose log is missing."""
    text = (
        f"[machine]\nnodes = 8\n{_MONEY}{_SCORE}at_least = 1.0\n"
        + "".join(commitment(size, more="penalty = 10000") for size in SIZES[:3])
        + '[[steadiness]]\navailability = "98%"\nbegin = 2026-09-01\ndays = 20\n'
    )
    return judged(folder, text, {}, launches=5)


def nothing(folder: Path) -> Judged:
    """No cell of the contract was measured."""
    text = '[[commitment]]\ncells = "npb.cg"\nmetric = "time"\nat_most = "1 s"\n'
    return judged(folder, _SCORE + text, {})


def available(folder: Path) -> Judged:
    """An availability of twenty days with planned maintenance, without runs."""
    text = (
        f'[machine]\nhosts = "n[1-8]"\n{_MONEY}'
        '[[steadiness]]\nname = "Availability in September"\navailability = "98%"\n'
        'begin = 2026-09-01\ndays = 20\nplanned = "excluded"\npenalty = 5000\n'
    )
    begin = 1788220800.0  # 2026-09-01
    log = [
        Downtime("n3", begin + 2.5 * DAY, begin + 6.0 * DAY),
        *(Downtime(f"n{k}", begin + 9.0 * DAY, begin + 9.5 * DAY, True) for k in range(1, 9)),
        Downtime("n7", begin + 12.0 * DAY, begin + 12.1 * DAY),
    ]
    return find(contract(text), [], Outages(log, ["outages.csv"])), []


def nodes(folder: Path, number: int = 60) -> Judged:
    """A promise per node on many nodes with long names, three of them slow."""
    draw = np.random.default_rng(3)
    names = []
    for node in range(number):
        median = 0.99e-3 * (1.06 if node in (7, 8, 51) else 1.0)
        values = median * (1.0 + 0.003 * draw.standard_normal(6))
        host = f"cluster-rack{node % 4}-node{node:04d}"
        names.append(
            filed_run(folder, [(CELLS[0], values)], host=host, utc=BEGIN + node * 600.0).name
        )
    text = f"{_MONEY}[machine]\nnodes = {number}\n" + commitment(
        SIZES[0], "Latency of each node", 'per = "node"\nshare = "98%"\npenalty = 10000'
    )
    runs = read_measured(folder, names)
    return find(contract(text), runs), runs


def many(folder: Path, number: int = 40) -> Judged:
    """Forty commitments with long names, some broken and some open."""
    cells = [make_cell("network.pingpong", bytes=1000 + 8 * k) for k in range(number)]
    medians = [0.99e-3 if k % 7 else (1.04e-3 if k % 14 else 0.999e-3) for k in range(number)]
    times = [
        (cell, normal_times(k, median, 30 if k % 5 else 4, cov=0.004))
        for k, (cell, median) in enumerate(zip(cells, medians, strict=True))
    ]
    run = filed_run(folder, times)
    text = _MONEY + _SCORE + "".join(
        commitment(
            1000 + 8 * k,
            f"Latency of messages of {1000 + 8 * k} bytes between two nodes in different racks, "
            f"as agreed in section {k + 1} of the appendix",
            "penalty = 1000",
        )
        for k in range(number)
    )  # fmt: skip
    runs = read_measured(folder, [run.name])
    return find(contract(text), runs), runs


# Acceptances by their state.
STATES: Mapping[str, Callable[[Path], Judged]] = {
    "accepted": accepted, "rejected": rejected, "undecided": undecided, "nothing": nothing,
    "availability": available, "nodes": nodes, "many": many,
}  # fmt: skip


def acceptance_report(folder: Path, state: str) -> ReportModel:
    """The report of an acceptance in a state."""
    return build_acceptance(*STATES[state](folder))
