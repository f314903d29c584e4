"""History: verdicts over many cells on series with modes, tails and dependence.

Twenty cells of one run per night are judged as by `assay history --fail-on regression` after 90
nights. Constants were chosen on normal noise and on a mode of a fifth; all other noises were
reserved for testing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from rate import Rate

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.store import SkippedRuns
from assay.subjects.history.findings import history_of
from assay.subjects.history.model import History
from assay.subjects.history.series import HistorySeries, Machines
from found_changes import find_changes

Noise = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
CELLS, NIGHTS = 20, 90
DAY = 86400.0


def modes(share: float) -> Noise:
    """This share of the runs is 3% slower; CoV 0.5% within a mode."""
    return lambda drawn, shape: (
        0.005 * drawn.standard_normal(shape) + 0.03 * (drawn.random(shape) < share)
    )


def dependent(rho: float) -> Noise:
    """An autoregressive series of first order, CoV 1%."""

    def draw(drawn: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        values = drawn.standard_normal(shape)
        for night in range(1, shape[1]):
            values[:, night] *= np.sqrt(1.0 - rho**2)
            values[:, night] += rho * values[:, night - 1]
        return 0.01 * values

    return draw


NOISES: dict[str, Noise] = {
    "normal, CoV 1%": lambda drawn, shape: 0.01 * drawn.standard_normal(shape),
    "20% of the runs 3% slower": modes(0.2),
    "35% of the runs 3% slower": modes(0.35),
    "lognormal tail, sigma 1": lambda drawn, shape: 0.01 * drawn.lognormal(0.0, 1.0, shape),
    "Pareto tail 1.5": lambda drawn, shape: 0.01 * drawn.pareto(1.5, shape),
    "AR(1) 0.3, CoV 1%": dependent(0.3),
    "AR(1) 0.6, CoV 1%": dependent(0.6),
    "AR(1) 0.7, CoV 1%": dependent(0.7),
}


def judged(rows: np.ndarray) -> History:
    """The history of cells with these nightly times, one row per cell."""
    series = [
        HistorySeries(
            system="planted",
            cell=Cell("npb.ft", {"number": number}, Placement(), "planted"),
            metric="time",
            unit="s",
            better="less",
            runs=tuple(f"night {night}" for night in range(row.size)),
            utc=DAY * np.arange(row.size),
            values=row,
            scatter=np.full(row.size, np.nan),
            counts=np.ones(row.size, dtype=np.int64),
            hosts=("n1",) * row.size,
        )
        for number, row in enumerate(rows)
    ]
    return history_of(series, Machines([]), SkippedRuns())


def rates(trials: int, seed: int) -> Iterator[Rate]:
    sets = max(trials // 10, 2)
    for place, (name, noise) in enumerate(NOISES.items()):
        drawn = np.random.default_rng((seed, place))
        failed = changed = 0
        for _ in range(sets):
            found = judged(1.0 + noise(drawn, (CELLS, NIGHTS)))
            failed += any(cell.state == "regression" for cell in found.cells)
            changed += any(e.kind != "spread" for cell in found.cells for e in cell.events)
        planted = f"{CELLS} flat cells, {NIGHTS} nights: {name}"
        yield Rate("--fail-on regression ends with 1", planted, failed, sets, 0.01, "false alarm")
        yield Rate("a change of level is on record", planted, changed, sets, 0.05, "false alarm")
    yield from power(sets, seed)
    yield from shown(max(trials // 5, 2), seed)
    yield from intervals(max(trials // 5, 2), seed)


def power(sets: int, seed: int) -> Iterator[Rate]:
    """The stated rate is that of Student's test without regard to modes and dependence, less 3%."""
    for size, last, stated in ((0.03, 5, 0.85), (0.03, 10, 0.97), (0.015, 20, 0.80)):
        drawn = np.random.default_rng((seed, last))
        found = 0
        for _ in range(sets):
            rows = 1.0 + NOISES["normal, CoV 1%"](drawn, (CELLS, NIGHTS))
            rows[3, -last:] *= 1.0 + size
            found += judged(rows).cells[3].state == "regression"
        yield Rate(
            "the verdict names the cell",
            f"one of {CELLS} cells {size:.1%} slower for the last {last} of {NIGHTS} nights, "
            "CoV 1%",
            found, sets, stated, "detection",
        )  # fmt: skip


def shown(trials: int, seed: int) -> Iterator[Rate]:
    """Steps of the stated detectable size from one series of nights, in other nights with the same
    noise.

    For the noises left out the stated size is known to be too small (docs/methods/history.md).
    """
    for nights in (30, 90):
        for place, (name, noise) in enumerate(NOISES.items()):
            if "0.6" in name or "0.7" in name or "Pareto" in name:
                continue
            drawn = np.random.default_rng((seed, nights, place))
            of = found = 0
            for _ in range(trials):
                first, second = np.exp(noise(drawn, (2, nights)))
                size = judged(first[None, :]).cells[0].detectable
                if size is None:
                    continue
                second[nights - nights // 2 :] *= 1.0 + size
                of += 1
                found += judged(second[None, :]).cells[0].state == "regression"
            if of:
                planted = f"halfway through {nights} nights of one cell: {name}"
                yield Rate(
                    "a step of the size stated by other nights is a regression",
                    planted, found, of, 0.8, "detection",
                )  # fmt: skip


def intervals(trials: int, seed: int) -> Iterator[Rate]:
    for place, (name, noise) in enumerate(NOISES.items()):
        if "0.7" in name:
            continue
        drawn = np.random.default_rng((seed, 100 + place))
        size = 0.05 if "0.6" in name else 0.03
        of = places = sizes = early = steps = 0
        for row in noise(drawn, (trials, 120)):
            values = (1.0 + row) * np.where(np.arange(120) >= 60, 1.0 + size, 1.0)
            found = [change for change in find_changes(values).changes if change.kind != "spread"]
            steps += len(found)
            early += sum(change.found < change.at for change in found)
            if [change.kind for change in found] != ["step"]:
                continue
            of += 1
            places += found[0].earliest <= 60 <= found[0].latest
            sizes += found[0].size_ci95[0] <= size <= found[0].size_ci95[1]
        planted = f"{size:.0%} in the middle of 120 runs: {name}"
        yield Rate("95% interval of the date holds it", planted, places, of, 0.92, "coverage")
        yield Rate("95% interval of the size holds it", planted, sizes, of, 0.92, "coverage")
        yield Rate("a step is found before it happened", planted, early, steps, 0.0, "false alarm")
