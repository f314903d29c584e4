"""How results have gone over months of runs: what changed when, by how much, and with what."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from assay.answers.history_data import Machines, Series
from assay.answers.snapshots import Difference, difference_text, differences
from assay.plans.model import Cell
from assay.stats.changes import Change, Changes, Segment, Suspect, find_changes
from assay.stats.scan import FIRST
from assay.stats.stretches import compared
from assay.units import counted

if TYPE_CHECKING:
    from assay.records.store import PassedOver

HISTORY_SCHEMA = 1
State = Literal["regression", "improvement", "steady", "short"]

# Expected share of false ones among the cells that are called worse or better.
FALSE_DISCOVERIES = 0.01
LEAST = 0.01
# Fewest runs of a stretch that the present is held against.
_REFERENCE = 5
# Runs on either side of a change whose snapshots are compared.
_BESIDE = 8


class Event(msgspec.Struct, frozen=True):
    """One change of a cell.

    ``kind``: ``step``, ``drift`` or ``spread`` (of scatter alone). ``run``: the first after it,
    begun at ``utc`` (s); ``after_utc`` and ``before_utc``: between these two it happened, in 95 of
    100 cases; of a drift its beginning and its end. ``found``: the run after which it could first
    be told. ``size``: relative change of the metric, of scatter of its deviation, with its 95%
    interval; ``worse``: whether it is one to the worse. ``p``: see ``stats.changes.Change``.
    ``differences``: what the machine's and the toolchain's snapshots beside it differ in;
    ``remark``: a sentence on them.
    """

    kind: Literal["step", "drift", "spread"]
    run: str
    utc: float
    after_utc: float
    before_utc: float
    found: str
    size: float
    size_ci95: tuple[float, float]
    worse: bool
    p: float
    differences: list[Difference]
    remark: str


class Stretch(msgspec.Struct, frozen=True):
    """Runs between changes of level. ``first`` and ``last``: indices of points.

    ``level`` with ``ci95``: in the metric's unit, see ``stats.changes.Segment``; ``deviation``:
    relative, of a run; ``drifting``: the level is its end's.
    """

    first: int
    last: int
    level: float
    ci95: tuple[float, float] | None
    deviation: float | None
    drifting: bool


class Points(msgspec.Struct, frozen=True):
    """A cell's results, an entry a run: name, time (s), median, and of how many measurements."""

    run: list[str]
    utc: list[float]
    value: list[float]
    measurements: list[int]


class CellHistory(msgspec.Struct, frozen=True):
    """One cell on one machine.

    ``state``: ``regression`` or ``improvement`` against the best that it has been, or was before;
    ``short``: too few runs to tell. ``level``, ``level_ci95``, ``deviation``: of the present
    stretch. ``reference``: the level that the present is held against, of the runs from
    ``reference_first`` to ``reference_last`` (indices of points); null where there is but one
    stretch. ``against``: the present over it, less 1, with its interval; ``p``, times the number of
    places where stretches might have begun, and the same corrected for all cells looked at.
    ``suspect``: the newest runs, where they are off but too few to tell. ``outliers``: names of
    runs that lay apart alone. ``dependence``: autocorrelation of neighbouring runs.
    """

    system: str
    id: str
    cell: Cell
    label: str
    metric: str
    unit: str
    better: Literal["more", "less"]
    state: State
    level: float
    level_ci95: tuple[float, float] | None
    deviation: float | None
    reference: float | None
    reference_first: int | None
    reference_last: int | None
    against: float | None
    against_ci95: tuple[float, float] | None
    p: float | None
    p_corrected: float | None
    suspect: Suspect | None
    outliers: list[str]
    dependence: float
    events: list[Event]
    stretches: list[Stretch]
    points: Points

    def worsening(self, share: float) -> float:
        """A relative change of the metric as one to the worse, which is positive."""
        return -share if self.better == "more" else share


class History(msgspec.Struct, frozen=True):
    """All cells, with how many runs they are of and how many were left out.

    ``least``: relative changes smaller than that are no regression and no improvement. ``utc``: s,
    when this was worked out.
    """

    schema: int
    utc: float
    least: float
    runs: int
    systems: list[str]
    passed_over: dict[str, int]
    verdict: str
    cells: list[CellHistory]


def answer_history(
    series: Sequence[Series],
    machines: Machines,
    passed_over: PassedOver,
    *,
    least: float = LEAST,
) -> History:
    """The history of these cells; ``least``: the smallest relative change that matters."""
    from assay.stats.multiple import corrected

    found = [(each, find_changes(each.values, each.utc, each.scatter)) for each in series]
    held = [_against(each, changes) for each, changes in found]
    raw = [1.0 if one is None else one.p for one in held]
    adjusted = corrected(raw, "bh")
    cells = [
        _cell(each, changes, one, float(p), machines, least)
        for (each, changes), one, p in zip(found, held, adjusted, strict=True)
    ]
    runs = {name for each in series for name in each.runs}
    return History(
        schema=HISTORY_SCHEMA,
        utc=time.time(),
        least=least,
        runs=len(runs),
        systems=list(dict.fromkeys(each.system for each in series)),
        passed_over=msgspec.structs.asdict(passed_over),
        verdict=_verdict(cells),
        cells=cells,
    )


class _Against(msgspec.Struct, frozen=True):
    """The present held against a reference: logarithm of the ratio, interval, p."""

    reference: Segment
    size: float
    interval: tuple[float, float]
    p: float


def _against(series: Series, changes: Changes) -> _Against | None:
    """The last stretch against the best one before it; None where there is none."""
    *earlier, present = changes.segments
    known = [each for each in earlier if each.runs >= _REFERENCE]
    if not known and present.drifting and present.runs >= _REFERENCE:
        return _over_drift(changes, present)
    if not known:
        return None
    sign = 1.0 if series.better == "more" else -1.0
    best = max(known, key=lambda each: sign * each.level)
    difference = compared(
        *((_around(series, each), np.ones(each.runs)) for each in (best, present)),
        rho=changes.dependence,
    )
    # A stretch is where the series was found to change, and the best one at that: chosen by what
    # it shows, out of as many as there are places.
    p = min(1.0, difference.p * series.values.size)
    return _Against(best, difference.size, difference.interval, p)


def _around(series: Series, segment: Segment) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The logarithms of a stretch's results, clipped at three deviations around its level.

    A drifting one is held against others by where it has come to, not by where it has been.
    """
    logs = np.log(series.values[segment.start : segment.stop])
    middle, reach = float(np.log(segment.level)), 3.0 * (segment.deviation or 0.0)
    if segment.drifting:
        line = np.polyfit(np.arange(logs.size), logs, 1)
        logs = logs - np.polyval(line, np.arange(logs.size)) + middle
    return np.clip(logs, middle - reach, middle + reach) if reach > 0 else logs


def _over_drift(changes: Changes, present: Segment) -> _Against:
    """Where all runs drift: the end against the beginning."""
    drift = next(each for each in reversed(changes.changes) if each.kind == "drift")
    low, high = (float(np.log1p(end)) for end in drift.size_ci95)
    start = msgspec.structs.replace(present, level=present.level / (1.0 + drift.size))
    return _Against(start, float(np.log1p(drift.size)), (low, high), drift.p)


def _cell(
    series: Series,
    changes: Changes,
    held: _Against | None,
    p_corrected: float,
    machines: Machines,
    least: float,
) -> CellHistory:
    present = changes.segments[-1]
    against = None if held is None else float(np.expm1(held.size))
    interval = (
        None
        if held is None
        else (float(np.expm1(held.interval[0])), float(np.expm1(held.interval[1])))
    )
    return CellHistory(
        system=series.system,
        id=series.cell.id,
        cell=series.cell,
        label=series.label,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        state=_state(series, changes, against, p_corrected, least),
        level=present.level,
        level_ci95=present.level_ci95,
        deviation=present.deviation,
        reference=None if held is None else held.reference.level,
        reference_first=None if held is None else held.reference.start,
        reference_last=None if held is None else held.reference.stop - 1,
        against=against,
        against_ci95=interval,
        p=None if held is None else held.p,
        p_corrected=None if held is None else p_corrected,
        suspect=changes.suspect,
        outliers=[series.runs[place] for place in changes.outliers],
        dependence=changes.dependence,
        events=[_event(series, change, machines) for change in changes.changes],
        stretches=[
            Stretch(s.start, s.stop - 1, s.level, s.level_ci95, s.deviation, s.drifting)
            for s in changes.segments
        ],
        points=Points(
            run=list(series.runs),
            utc=series.utc.tolist(),
            value=series.values.tolist(),
            measurements=series.counts.tolist(),
        ),
    )


def _state(
    series: Series, changes: Changes, against: float | None, p: float, least: float
) -> State:
    if against is None:
        return "short" if series.values.size < FIRST else "steady"
    worse = -against if series.better == "more" else against
    if p > FALSE_DISCOVERIES or abs(against) < least:
        return "steady"
    if worse > 0:
        return "regression"
    return "improvement"


def _event(series: Series, change: Change, machines: Machines) -> Event:
    last = len(series.runs) - 1
    at = min(change.at, last)
    if change.kind == "drift":
        early, late = change.earliest, min(change.latest, last)
        after_utc, before_utc = series.utc[early], series.utc[late]
        before, between, after = early, range(early + 1, late), late
    else:
        early, late = change.earliest, min(change.latest, last)
        after_utc, before_utc = series.utc[max(early - 1, 0)], series.utc[late]
        before, between, after = early - 1, range(early, late), late
    found = differences(
        machines.snapshots(series, range(max(before - _BESIDE + 1, 0), before + 1)),
        machines.snapshots(series, between[:_BESIDE]),
        machines.snapshots(series, range(after, min(after + _BESIDE, last + 1))),
    )
    more = change.size > 0
    return Event(
        kind=change.kind,
        run=series.runs[at],
        utc=float(series.utc[at]),
        after_utc=float(after_utc),
        before_utc=float(before_utc),
        found=series.runs[min(change.found, last)],
        size=change.size,
        size_ci95=change.size_ci95,
        worse=more if change.kind == "spread" or series.better == "less" else not more,
        p=change.p,
        differences=found,
        remark=_remark(found, change.kind),
    )


def _remark(found: Sequence[Difference], kind: str) -> str:
    """What is to be said of the snapshots beside a change."""
    together = [each for each in found if each.coincides]
    others = [each for each in found if not each.coincides]
    if together:
        head = "Meanwhile changed" if kind == "drift" else "With it came"
        return f"{head}: {'; '.join(difference_text(each) for each in together)}."
    if others:
        said = "; ".join(difference_text(each) for each in others[:3])
        return f"Nothing changed with it alone; what comes and goes otherwise too: {said}."
    return "Nothing in the snapshots of machine and toolchain changed with it."


def _verdict(cells: Sequence[CellHistory]) -> str:
    counts = Counter(cell.state for cell in cells)
    if not cells:
        return "There is no history: no complete run holds a result that was asked for."
    judged = len(cells) - counts["short"]
    if not judged:
        return f"Too few runs to tell: a history needs {FIRST} of a cell."
    parts = []
    for state, words in (("regression", "worse than it has been"), ("improvement", "better")):
        of_state = [cell for cell in cells if cell.state == state]
        if of_state:
            lead = max(of_state, key=lambda cell: abs(cell.against or 0.0))
            verb = "is" if len(of_state) == 1 else "are"
            parts.append(
                f"{counted(len(of_state), 'cell')} of {judged} {verb} {words}, most {lead.label}"
                f" ({100 * (lead.against or 0.0):+.1f}% {lead.metric})"
            )
    steady = counts["steady"]
    if steady == judged:
        return f"Steady: none of {counted(judged, 'cell')} is worse or better than it was."
    said = "; ".join(parts)
    return f"{said}; {steady} steady." if steady else f"{said}."
