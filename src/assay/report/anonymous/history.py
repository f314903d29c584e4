"""Anonymous histories: replaces names in all runs. A name has the same replacement everywhere."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.model.cell import Cell
from assay.records.directory import list_runs
from assay.report.anonymous.collect import names_of_manifest
from assay.report.anonymous.names import FoundNames, Names
from assay.report.anonymous.runs import replaced
from assay.subjects.history.model import CellHistory, History, HistoryEvent
from assay.subjects.history.series import label_of
from assay.subjects.history.snapshots import SystemDifference
from assay.subjects.history.words import remark_on, verdict_of

# Properties of a machine whose values are hosts, by their paths in the manifest.
_HOSTS = ("hosts", "os.hostname")


def history_without_names(history: History, root: Path) -> History:
    """The history with private names replaced. ``root``: the folder of its runs.

    Names come from manifests and the files next to them. Hosts that only streams name appear in a
    history as values of a change, and are taken from these values. Runs with an unreadable manifest
    are left out, and so are their snapshots.
    """
    names = Names()
    shown = {run for cell in history.cells for run in cell.points.run}
    for directory in sorted(list_runs(root), key=lambda run: run.name):
        if directory.name in shown:
            try:
                names.add(names_of_manifest(directory.manifest(), directory.path))
            except (AssayError, OSError):
                continue
    names.add(_named_in(history))
    cells = [_cell(cell, names) for cell in history.cells]
    labels = {old.label: new.label for old, new in zip(history.cells, cells, strict=True)}
    return dataclasses.replace(
        history,
        systems=[names.name("system", system) for system in history.systems],
        verdict=verdict_of(cells),
        cells=cells,
        days=[dataclasses.replace(day, worst_cell=labels[day.worst_cell]) for day in history.days],
    )


def _named_in(history: History) -> FoundNames:
    found = FoundNames()
    for system in history.systems:
        found.put("system", system)
    for cell in history.cells:
        for event in cell.events:
            for difference in event.differences:
                for value in (difference.before, difference.after):
                    if value is not None and difference.path in _HOSTS:
                        found.hosts(value)
    return found


def _cell(cell: CellHistory, names: Names) -> CellHistory:
    changed = replaced(msgspec.to_builtins(cell.cell), names)
    changed["kernel"] = cell.cell.kernel
    of_cell = msgspec.convert(changed, Cell)
    return dataclasses.replace(
        cell,
        system=names.name("system", cell.system),
        # A digest of the anonymous parameters. A digest of the original ones would reveal a guessed
        # path.
        id=of_cell.id if of_cell != cell.cell else cell.id,
        cell=of_cell,
        label=label_of(of_cell),
        outliers=[names.run(run) for run in cell.outliers],
        events=[_event(event, names) for event in cell.events],
        points=dataclasses.replace(cell.points, run=[names.run(r) for r in cell.points.run]),
    )


def _event(event: HistoryEvent, names: Names) -> HistoryEvent:
    differences = [_difference(each, names) for each in event.differences]
    return dataclasses.replace(
        event,
        run=names.run(event.run),
        found=names.run(event.found),
        differences=differences,
        # Not replaced here: the text shortens values, and may cut a name.
        remark=remark_on(differences, event.kind),
    )


def _difference(difference: SystemDifference, names: Names) -> SystemDifference:
    change = names.host if difference.path in _HOSTS else names.text
    return dataclasses.replace(
        difference,
        fact=names.text(difference.fact),
        path=names.text(difference.path, patterns=False),
        before=None if difference.before is None else change(difference.before),
        after=None if difference.after is None else change(difference.after),
    )
