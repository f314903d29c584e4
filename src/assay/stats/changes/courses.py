"""Cells over the runs of a machine: which runs lie between the same changes of level.

A cell's changes are found once (``level_changes``). What is said about two of its runs, or about
the launches of some of them, is read from the same segments.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.records.model import Manifest, system_name
from assay.records.store import Store
from assay.records.summary import Identity, machine_identity
from assay.stats.changes.changes import Changes, SeriesSegment
from assay.stats.changes.level_changes import level_changes, segment_difference
from assay.stats.compare.run_scatter import RunScatter, RunStep, run_scatter
from assay.stats.repeats.repeats import Repeats
from assay.stats.repeats.run_values import RunValues, above_zero, run_values

# Maximum number of runs of a machine that a course covers beside the runs of interest. The runs
# nearest in time to these are used.
MOST = 40


@dataclass(frozen=True)
class RunLaunches:
    """The values of a cell's launches in one run."""

    #: Name of the run.
    run: str
    #: Start of the run, Unix time (s).
    utc: float
    #: Positive values, in order of time.
    values: Floats


@dataclass(frozen=True)
class CellCourse:
    """A cell over the runs of a machine."""

    #: Whether more or less of the metric is better.
    better: Literal["more", "less"]
    #: One value of the metric per run, in order of time.
    of_runs: RunValues
    #: Changes of these values, and the segments between them.
    changes: Changes

    def segment(self, run: str, utc: float) -> SeriesSegment | None:
        """The segment that contains a run; of other runs, the one of the nearest run in time.

        None if a run of several days lies in several segments.
        """
        places = [place for place, name in enumerate(self.of_runs.runs) if name == run]
        if not places:
            places = [int(np.abs(self.of_runs.utc - utc).argmin())]
        (first, *more) = {self._segment_at(place) for place in places}
        return None if more else self.changes.segments[first]

    def _segment_at(self, place: int) -> int:
        segments = self.changes.segments
        return next(number for number, each in enumerate(segments) if place < each.stop)

    def others(self, run: str, utc: float, least: int = 1) -> Floats:
        """The values of the other runs in a run's segment; ``least``: their fewest launches.

        A drifting segment has none: its runs have no common level.
        """
        segment = self.segment(run, utc)
        if segment is None or segment.drifting:
            return np.empty(0)
        part = slice(segment.start, segment.stop)
        other = np.array([name != run for name in self.of_runs.runs[part]], dtype=np.bool_)
        other &= self.of_runs.counts[part] >= least
        return self.of_runs.values[part][other]

    def scatter(self, others: Sequence[RunLaunches]) -> RunScatter | None:
        """The scatter of these runs within the segments; in a drifting one, around its line.

        None if they leave too few degrees of freedom.
        """
        groups: dict[int, list[Floats]] = {}
        drifting = set()
        for each in others:
            segment = self.segment(each.run, each.utc)
            if segment is None:
                continue
            values = each.values
            if segment.drifting:
                drifting.add(segment.start)
                values = values / self._line(segment, each.utc)
            groups.setdefault(segment.start, []).append(values)
        return run_scatter(list(groups.values()), slopes=len(drifting))

    def _line(self, segment: SeriesSegment, utc: float) -> float:
        """The level of a drifting segment at this time."""
        part = slice(segment.start, segment.stop)
        hours = (self.of_runs.utc[part] - self.of_runs.utc[segment.start]) / 3600.0
        line = np.polyfit(hours, np.log(self.of_runs.values[part]), 1)
        return math.exp(float(np.polyval(line, (utc - self.of_runs.utc[segment.start]) / 3600.0)))

    def step(self, one: tuple[str, float], other: tuple[str, float]) -> RunStep | None:
        """The level around the other run relative to the level around the first one.

        Each run is a name and a time (Unix time, s). None if no change lies between them, or if the
        level of a run is not known because its segment drifts.
        """
        segments = [self.segment(*each) for each in (one, other)]
        if segments[0] is None or segments[1] is None or segments[0] == segments[1]:
            return None
        if segments[0].drifting or segments[1].drifting:
            return None
        before, after = sorted((segments[0], segments[1]), key=lambda each: each.start)
        found = segment_difference(self.of_runs.values, self.changes, before, after)
        step = RunStep(
            math.exp(found.size),
            (math.exp(found.interval[0]), math.exp(found.interval[1])),
            found.p,
            before.runs + after.runs,
        )
        return step if before is segments[0] else step.inverse()


def courses_of(repeats: Iterable[Repeats]) -> dict[str, CellCourse]:
    """The courses of a machine's cells, by the cell's id; of cells with results above zero."""
    found = [
        (each, of_runs) for each in repeats if (of_runs := run_values(above_zero(each))) is not None
    ]
    changes = level_changes([of_runs for _, of_runs in found], [""] * len(found))
    return {
        each.cell.id: CellCourse(each.better, of_runs, of_cell)
        for (each, of_runs), of_cell in zip(found, changes, strict=True)
    }


def identity_of(manifest: Manifest, name: str = "") -> Identity:
    """What runs of one machine have in common: system, processor and its number of cores.

    The host name is ignored, because a scheduler may start a job on any node. ``name``: the name of
    a run without a system.
    """
    return (system_name(manifest, name), *machine_identity(manifest.system)[1:])


def runs_near(
    store: Store, machine: Identity, begun: Sequence[float], without: Collection[str] = ()
) -> dict[str, float]:
    """The starts (Unix times, s) of a machine's complete runs, by name: those nearest to ``begun``.

    At most ``MOST``; ``without``: names of runs that are not wanted.
    """
    known = {
        run.name: summary.utc
        for run, summary in store.complete()
        if run.name not in without and (summary.system, *summary.machine[1:]) == machine
    }
    distance = {name: min(abs(utc - each) for each in begun) for name, utc in known.items()}
    return {name: known[name] for name in sorted(known, key=distance.__getitem__)[:MOST]}


def repeats_of_runs(root: Path, names: Collection[str]) -> list[Repeats]:
    """The results of these stored runs, from their tables. Runs that can't be read are left out."""
    import polars as pl

    from assay.stats.repeats.stored_repeats import repeats_in

    store = Store(root)
    store = Store(root, without={run.name for run in store.directories()} - set(names))
    try:
        return repeats_in(store)
    except (OSError, pl.exceptions.PolarsError):
        return repeats_in(Store(root, without=store.without | set(store.unreadable())))
