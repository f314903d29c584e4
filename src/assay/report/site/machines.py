"""The machines of a site: their histories, updated by what changed since the last build."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.records.store import SkippedRuns, Store
from assay.report.site.judging import HistoryRun, present_cells
from assay.report.site.model import SiteMachine, SiteRun, named, shown, stored
from assay.report.site.values import (
    MachineValues,
    encoded,
    stored_values,
    with_runs,
    without_runs,
)
from assay.subjects.history.findings import history_with
from assay.subjects.history.model import History
from assay.subjects.history.series import HistorySeries, Machines
from assay.subjects.history.words import event_text

_UNREADABLE = "its tables can't be read"
_MOST_CHANGES = 50
_MOST_FOLDER = 40  # characters of a folder's name


@dataclass(frozen=True)
class MachineRuns:
    """The runs of one machine in one store, by their stored names, oldest first."""

    store: Path
    system: str
    runs: Mapping[str, SiteRun]

    def digest(self) -> str:
        """A digest that changes with every run."""
        whole = hashlib.sha256()
        for name, run in self.runs.items():
            whole.update(f"{name}\0{run.stamp}\0{run.report}\0{run.left_out}\0".encode())
            if run.listing.state not in ("complete", "damaged"):
                whole.update(msgspec.json.encode(run.listing))
        return whole.hexdigest()[:16]

    def in_history(self) -> list[str]:
        """The runs whose results belong to the history."""
        return [
            name
            for name, run in self.runs.items()
            if run.listing.state == "complete"
            and run.listing.members is None
            and not run.listing.imported
            and not run.left_out
        ]


@dataclass(frozen=True)
class UpdatedMachine:
    """A machine after an update: what the site keeps, and its history."""

    machine: SiteMachine
    history: History
    #: Time of the newest result that was judged, Unix time (s); whether no result is newer.
    until: float
    current: bool
    #: Name and content of its file in the site's data.
    values: tuple[str, bytes]
    #: Runs whose tables can't be read, by their stored names, and why.
    left_out: Mapping[str, str]


def folder_of(system: str, store: Path, *, alone: bool) -> str:
    """The name of a machine's folder: readable, safe, and different for different machines.

    ``alone``: whether no other store has a machine of this name.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", system.lower()).strip("-")[:_MOST_FOLDER]
    if readable == system and alone:
        return readable
    text = f"{system}\0{'' if alone else store}".encode("utf-8", "surrogateescape")
    return f"{readable or 'machine'}-{hashlib.sha256(text).hexdigest()[:8]}"


def update(
    own: MachineRuns, folder: str, data: Path, version: str, *, again: bool = False
) -> UpdatedMachine:
    """The machine with its present runs; only tables of new runs are read.

    ``data``: the folder of the site's data; ``version``: what makes the pages; ``again``: read all
    runs.
    """
    file = f"{folder}.values"
    old = MachineValues() if again else stored_values(data / file, version)
    wanted = own.in_history()
    same = {name for name in wanted if old.read.get(name) == own.runs[name].stamp}
    gone = {named(name) for name in old.read if name not in same}
    new = [name for name in wanted if name not in same]
    series = without_runs(old.series, gone)
    series, left_out = _with_new(own, series, new)
    names = [name for name in wanted if name not in left_out]
    # In an order that doesn't depend on the order in which runs were read.
    in_order = sorted(series.values(), key=lambda s: (s.utc[0], s.cell.id, s.metric))
    found = present_cells(
        in_order,
        {
            named(name): HistoryRun(own.runs[name].listing.utc or 0.0, own.runs[name].stamp)
            for name in names
        },
        Machines(own.store),
        old.judgement,
    )
    history = history_with(in_order, found.cells, _skipped(own, left_out))
    values = MachineValues({name: own.runs[name].stamp for name in names}, series, found.judgement)
    return UpdatedMachine(
        machine=_described(own, folder, history),
        history=history,
        until=found.until,
        current=found.current,
        values=(file, encoded(values, own.system, version)),
        left_out=left_out,
    )


def _with_new(
    own: MachineRuns, series: Mapping[tuple[str, str], HistorySeries], new: Sequence[str]
) -> tuple[dict[tuple[str, str], HistorySeries], dict[str, str]]:
    """The series with new runs, and those of them whose tables can't be read, with the reason."""
    import polars as pl

    if not new:
        return dict(series), {}
    try:
        return with_runs(series, own.store, own.system, [named(name) for name in new]), {}
    except (OSError, pl.exceptions.PolarsError):
        bad = set(Store(own.store, only=[named(name) for name in new]).unreadable())
        if not bad:
            raise
    good = [named(name) for name in new if named(name) not in bad]
    left_out = {name: _UNREADABLE for name in new if named(name) in bad}
    return with_runs(series, own.store, own.system, good), left_out


def _skipped(own: MachineRuns, left_out: Mapping[str, str]) -> SkippedRuns:
    """Numbers of runs that are not in the history, by reason."""
    counts = Counter[str]()
    for name, run in own.runs.items():
        listing = run.listing
        if name in left_out or run.left_out or listing.state in ("damaged", "unreadable"):
            counts["damaged"] += 1
        elif listing.members is not None:
            counts["groups"] += 1
        elif listing.state != "complete":
            counts["unfinished"] += 1
        elif listing.imported:
            counts["imported"] += 1
    return SkippedRuns(**counts)


def _described(own: MachineRuns, folder: str, history: History) -> SiteMachine:
    changes = [
        (event.utc, shown(cell.label), event_text(event, cell), shown(event.remark), event.worse)
        for cell in history.cells
        for event in cell.events
    ]
    changes.sort(key=lambda change: -change[0])
    return SiteMachine(
        store=stored(str(own.store)),
        system=own.system,
        folder=folder,
        runs=own.digest(),
        in_history=history.runs,
        verdict=shown(history.verdict),
        states=dict(Counter(cell.state for cell in history.cells)),
        changes=changes[:_MOST_CHANGES],
        cells=[shown(cell.label) for cell in history.cells],
    )


def with_left_out(run: SiteRun, why: str) -> SiteRun:
    """The run, whose results are not in the history."""
    listing = msgspec.structs.replace(run.listing, state="damaged", problem=why)
    return msgspec.structs.replace(run, listing=listing, left_out=why)
