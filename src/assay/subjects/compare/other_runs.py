"""Other stored runs of the compared machines: they show how much runs of one machine differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.arrays import Floats
from assay.records.model import system_name
from assay.records.store import RunFilter, Store
from assay.records.summary import Identity, machine_identity
from assay.stats.compare.levels import numbered, places_of
from assay.stats.compare.run_scatter import RunScatter, run_scatter
from assay.stats.core.one_thread import one_thread
from assay.stats.repeats.stored_repeats import repeats_in
from assay.subjects.compare.sides import AnySide, Side

# Maximum number of other runs of a machine. The runs nearest in time to the sides are used.
MOST = 40


@dataclass(frozen=True)
class OtherRun:
    """A run with its start (Unix time, s) and the values of its launches, by the cell's id."""

    utc: float
    values: Mapping[str, Floats]


@dataclass(frozen=True)
class OtherRuns:
    """Runs other than the compared ones, by machine."""

    of_machine: Mapping[Identity, Sequence[OtherRun]] = field(default_factory=dict)

    def scatter(self, cell: str, one: AnySide, other: AnySide) -> RunScatter | None:
        """The scatter of a cell between runs of the machines of two sides; None if unknown.

        If both sides ran on one machine, its other runs form two groups, each nearer in time to one
        side, because the machine may have changed in between.
        """
        if not isinstance(one, Side) or not isinstance(other, Side):
            return None
        first, second = machine_of(one), machine_of(other)
        if first != second:
            groups = [self._values(machine, cell) for machine in (first, second)]
        else:
            near: tuple[list[tuple[float, Floats]], ...] = ([], [])
            begun = [side.run.manifest.utc for side in (one, other)]
            for utc, values in self._values(first, cell):
                near[abs(utc - begun[1]) < abs(utc - begun[0])].append((utc, values))
            groups = list(near)
        return run_scatter([[values for _, values in group] for group in groups])

    def _values(self, machine: Identity, cell: str) -> list[tuple[float, Floats]]:
        runs = self.of_machine.get(machine, ())
        return [(run.utc, run.values[cell]) for run in runs if cell in run.values]


@one_thread
def read_other_runs(root: Path, sides: Sequence[AnySide]) -> OtherRuns:
    """The complete runs under ``root`` of the machines of these sides, without the sides.

    Groups of runs, imported runs, published figures and parts of a single run have no other runs.
    Runs that can't be read are left out.
    """
    import polars as pl

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
    for machine in dict.fromkeys(map(machine_of, measured)):
        begun = [side.run.manifest.utc for side in measured if machine_of(side) == machine]
        known = {
            run.name: summary.utc
            for run, summary in store.complete()
            if run.name not in compared and (summary.system, *summary.machine[1:]) == machine
        }
        distance = {name: min(abs(utc - each) for each in begun) for name, utc in known.items()}
        nearest = set(sorted(known, key=distance.__getitem__)[:MOST])
        if not nearest:
            continue
        chosen = Store(
            root, without={run.name for run in store.directories() if run.name not in nearest}
        )
        try:
            found[machine] = _runs(chosen, known)
        except (OSError, pl.exceptions.PolarsError):
            readable = nearest - set(chosen.unreadable())
            found[machine] = _runs(
                Store(root, without=chosen.without | (nearest - readable)), known
            )
    return OtherRuns(found)


def _runs(store: Store, begun: Mapping[str, float]) -> list[OtherRun]:
    values: dict[str, dict[str, Floats]] = defaultdict(dict)
    for repeats in repeats_in(store, RunFilter()):
        codes, names = numbered(repeats.run)
        for name, places in zip(names, places_of(codes, len(names)), strict=True):
            values[name][repeats.cell.id] = repeats.values[places]
    return [OtherRun(begun[name], of_run) for name, of_run in values.items()]


def machine_of(side: Side) -> Identity:
    """What runs of one machine have in common: system, processor and its number of cores.

    The host name is ignored, because a scheduler may start a job on any node.
    """
    manifest = side.run.manifest
    return (system_name(manifest, side.name), *machine_identity(manifest.system)[1:])
