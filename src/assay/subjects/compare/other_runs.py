"""Other stored runs of the compared machines: how much runs of one machine differ, and since when.

The scatter of runs is taken within the segments that a history of these runs finds, so that a
change of the machine does not count as scatter. A change between the compared runs is a difference
of the machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay.arrays import Floats
from assay.records.store import Store
from assay.records.summary import Identity
from assay.stats.changes.courses import (
    CellCourse,
    RunLaunches,
    courses_of,
    identity_of,
    repeats_of_runs,
    runs_near,
)
from assay.stats.compare.levels import numbered, places_of
from assay.stats.compare.run_scatter import RunScatter, RunStep, run_scatter
from assay.stats.core.one_thread import one_thread
from assay.stats.repeats.repeats import Repeats
from assay.subjects.compare.sides import AnySide, Side


@dataclass(frozen=True)
class OtherRun:
    """A run with its start (Unix time, s) and the values of its launches, by the cell's id."""

    utc: float
    values: Mapping[str, Floats]
    name: str = ""


@dataclass(frozen=True)
class OtherRuns:
    """Runs other than the compared ones, by machine."""

    of_machine: Mapping[Identity, Sequence[OtherRun]] = field(default_factory=dict)
    #: Cells over all runs of a machine, the compared ones included, by the cell's id.
    courses: Mapping[Identity, Mapping[str, CellCourse]] = field(default_factory=dict)

    def scatter(self, cell: str, one: AnySide, other: AnySide) -> RunScatter | None:
        """The scatter of a cell between runs of the machines of two sides; None if unknown.

        If both sides ran on one machine whose history has no change, its other runs form two
        groups, each nearer in time to one side: a change may be too small, or the runs too few, for
        the history. If two groups are too few runs each, all runs are one group.
        """
        if not isinstance(one, Side) or not isinstance(other, Side):
            return None
        first, second = machine_of(one), machine_of(other)
        if first != second:
            groups = [[each.values for each in self._runs(m, cell)] for m in (first, second)]
            return run_scatter(groups)
        runs = self._runs(first, cell)
        course = self._course(first, cell)
        if course is not None and len(course.changes.segments) > 1:
            return course.scatter(runs)
        return _by_nearness(runs, one, other)

    def mean_scatter(self, cells: Sequence[str], one: AnySide, other: AnySide) -> RunScatter | None:
        """The scatter of the mean logarithm of these cells between runs of one machine.

        Only of runs that have all of them. A change of some cells counts as scatter.
        """
        if not isinstance(one, Side) or not isinstance(other, Side):
            return None
        if machine_of(one) != machine_of(other):
            return None
        runs: list[RunLaunches] = []
        level = 0.0
        for run in self.of_machine.get(machine_of(one), ()):
            values = [run.values[cell] for cell in cells if cell in run.values]
            if len(values) < len(cells) or min(float(each.min()) for each in values) <= 0.0:
                continue
            count = min(each.size for each in values)
            blocks = np.mean([np.log(each[:count]) for each in values], axis=0)
            # Only ratios matter; the first run's level keeps the exponential in range.
            level = level if runs else float(blocks.mean())
            runs.append(RunLaunches(run.name, run.utc, np.exp(blocks - level)))
        return _by_nearness(runs, one, other)

    def step(self, cell: str, one: AnySide, other: AnySide) -> RunStep | None:
        """The change of a cell's level between two runs of one machine; None if there is none.

        Parts of runs, and several runs as one side, have none.
        """
        if not isinstance(one, Side) or not isinstance(other, Side):
            return None
        if any(side.members or side.nodes is not None for side in (one, other)):
            return None
        course = self._course(machine_of(one), cell)
        if course is None or machine_of(one) != machine_of(other):
            return None
        ends = [(side.run.manifest.run, side.run.manifest.utc) for side in (one, other)]
        return course.step(*ends)

    def _course(self, machine: Identity, cell: str) -> CellCourse | None:
        return self.courses.get(machine, {}).get(cell)

    def _runs(self, machine: Identity, cell: str) -> list[RunLaunches]:
        return [
            RunLaunches(run.name, run.utc, run.values[cell])
            for run in self.of_machine.get(machine, ())
            if cell in run.values
        ]


def _by_nearness(runs: Sequence[RunLaunches], one: Side, other: Side) -> RunScatter | None:
    """The scatter within the runs nearer to either side, or of all if these are too few."""
    begun = [side.run.manifest.utc for side in (one, other)]
    near: tuple[list[Floats], ...] = ([], [])
    for each in runs:
        near[abs(each.utc - begun[1]) < abs(each.utc - begun[0])].append(each.values)
    return run_scatter(near) or run_scatter([[each.values for each in runs]])


@one_thread
def read_other_runs(root: Path, sides: Sequence[AnySide]) -> OtherRuns:
    """The complete runs under ``root`` of the machines of these sides, without the sides.

    Groups of runs, imported runs, published figures and parts of a single run have no other runs.
    Runs that can't be read are left out.
    """
    compared = {run.manifest.run for side in sides if isinstance(side, Side) for run in side.runs}
    measured = [
        side
        for side in sides
        if isinstance(side, Side) and not side.members and not side.run.manifest.imported
    ]
    if len(compared) < 2:
        return OtherRuns()
    store = Store(root)
    found: dict[Identity, list[OtherRun]] = {}
    courses: dict[Identity, dict[str, CellCourse]] = {}
    for machine in dict.fromkeys(map(machine_of, measured)):
        own = [side for side in measured if machine_of(side) == machine]
        others = runs_near(store, machine, [s.run.manifest.utc for s in own], without=compared)
        if not others:
            continue
        names = {*others, *(side.run.manifest.run for side in own)}
        repeats = repeats_of_runs(root, names)
        found[machine] = _runs(repeats, others)
        courses[machine] = courses_of(repeats)
    return OtherRuns(found, courses)


def _runs(of_cells: Sequence[Repeats], begun: Mapping[str, float]) -> list[OtherRun]:
    """The launches of the runs in ``begun``."""
    values: dict[str, dict[str, Floats]] = defaultdict(dict)
    for repeats in of_cells:
        codes, names = numbered(repeats.run)
        for name, places in zip(names, places_of(codes, len(names)), strict=True):
            if name in begun:
                values[name][repeats.cell.id] = repeats.values[places]
    return [OtherRun(begun[name], of_run, name) for name, of_run in values.items()]


def machine_of(side: Side) -> Identity:
    """What runs of one machine have in common (``identity_of``)."""
    return identity_of(side.run.manifest, side.name)
