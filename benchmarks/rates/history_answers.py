"""Sentences of the answer on history, by the stated confidence

Six cells of one run per night. In every second history, one of them changes in a step in the middle
and one drifts from the first to the last night, each in either direction. The runs have planted
distributions. A claim is that a cell has regressed or improved, that it is steady although changes
of the stated size would be reported, a change on record, or one of its intervals. Its class is the
confidence of the answer. A change is right if one was planted in this cell and direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from answers import COV, SHAPES
from draws import DAY, Rng
from history import judged
from rate import Rate
from steadiness_answers import Counted

from assay.arrays import Floats
from assay.subjects.history.answer import answer
from assay.subjects.history.model import CellHistory, HistoryEvent

CELLS = 6
# Numbers of nights; fewer than 24 runs have medium confidence.
NIGHTS = (14, 20, 30, 90)
# Sizes of the step and of the drift, in CoVs of the runs.
STEP, DRIFT = 6.0, 8.0
# Fewer claims of one distribution tell nothing about it.
_LEAST = 50
# What isn't a change of level is none: modes that last for several nights, and a slow wave.
_CHANGES_BY_NATURE = ("two equal modes that last five launches", "sine of ten launches")


@dataclass(frozen=True)
class Truth:
    """The change planted in a cell: its relative size, and whether it is a drift."""

    size: float = 0.0
    drifts: bool = False


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Right claims by planted distribution and confidence, all numbers of nights together."""
    histories = max(trials // 50, 2)
    together: dict[str, Counted] = {}
    for place, name in enumerate(SHAPES):
        of_shape: dict[str, Counted] = {}
        for nights in NIGHTS:
            rng = np.random.default_rng((seed, place, nights))
            for trial in range(histories):
                rows, truths = _planted(rng, name, nights, changed=bool(trial % 2))
                found = judged(rows)
                reply = answer(found)
                for cell, truth in zip(found.cells, truths, strict=True):
                    for what, right in _claims(cell, truth, nights):
                        of_shape.setdefault(what, Counted()).take(reply, [right])
                        if name not in _CHANGES_BY_NATURE:
                            together.setdefault(what, Counted()).take(reply, [right])
        for what, counted in of_shape.items():
            yield from counted.rates(what, f"{name}, CoV {COV:.1%}, {_NIGHTS_TEXT}", _LEAST)
    for what, counted in together.items():
        yield from counted.rates(what, f"all distributions of single runs, {_NIGHTS_TEXT}", _LEAST)


_NIGHTS_TEXT = f"{', '.join(map(str, NIGHTS[:-1]))} and {NIGHTS[-1]} nights"


def _planted(rng: Rng, name: str, nights: int, *, changed: bool) -> tuple[Floats, list[Truth]]:
    """Times by cell and night, and what was planted in each cell."""
    rows = SHAPES[name](rng, CELLS, nights)
    truths = [Truth() for _ in range(CELLS)]
    if changed:
        step, drift = rng.choice([-1.0, 1.0], 2) * COV * (STEP, DRIFT)
        truths[1], truths[4] = Truth(float(step)), Truth(float(drift), drifts=True)
        rows[1, nights // 2 :] *= 1.0 + step
        rows[4] *= 1.0 + drift * np.linspace(0.0, 1.0, nights)
    return rows, truths


def _claims(cell: CellHistory, truth: Truth, nights: int) -> Iterator[tuple[str, bool]]:
    if cell.state in ("regression", "improvement"):
        slower = cell.state == "regression"
        yield "a cell has regressed or improved, as stated", truth.size * (slower - 0.5) > 0.0
    if cell.state == "steady" and cell.detectable is not None:
        least = abs(truth.size) < cell.detectable
        yield "a cell is steady, except for changes below the stated size", least
    for event in cell.events:
        if event.kind in ("step", "drift"):
            yield from _of_event(event, truth, nights)


def _of_event(event: HistoryEvent, truth: Truth, nights: int) -> Iterator[tuple[str, bool]]:
    yield "a change on record was there, in this direction", event.size * truth.size > 0.0
    if event.kind == "step" and truth.size and not truth.drifts:
        dated = event.after_utc <= DAY * (nights // 2 - 0.5) <= event.before_utc
        yield "the interval of a step's date holds it", dated
        low, high = event.size_ci95
        yield "the interval of a step's size holds it", low <= truth.size <= high
