"""Reads the runs of an export, including members of groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.records.directory import RunDirectory, find_run
from assay.records.group import read_group
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.report.anonymous.collect import names_of
from assay.report.anonymous.names import Names
from assay.report.anonymous.runs import without_names
from assay.report.export.model import ExportedRun
from assay.stats.cells.summarise import summarise_cells
from assay.units import counted


def read_runs(
    root: Path, wanted: Sequence[str], *, anonymous: bool = False
) -> tuple[list[ExportedRun], list[str]]:
    """The named runs (by default the newest) and a sentence for each part that was left out.

    ``wanted``: paths or unique parts of names. A group stands for all its members that have a run.
    With ``anonymous``, all runs share one mapping of names, which does not depend on their order.
    Raises AssayError if a run is unknown, damaged or has no results yet.
    """
    directories = {
        run.path.resolve(): run for run in (find_run(root, name) for name in wanted or [""])
    }
    found: list[tuple[RunData, str | None]] = []
    left_out: list[str] = []
    for directory in directories.values():
        found += _read(directory, left_out)
    if not found:
        raise AssayError(
            "There are no results to export.", where=", ".join(wanted), fix=" ".join(left_out)
        )
    if anonymous:
        names = Names()
        for data, group in sorted(found, key=lambda run: (run[0].manifest.run, run[1] or "")):
            names.add(names_of(data, group=group))
        found = [
            (without_names(data, names), None if group is None else names.text(group))
            for data, group in found
        ]
        left_out = [names.text(sentence) for sentence in left_out]
    return [ExportedRun(data, summarise_cells(data), group) for data, group in found], left_out


def _read(directory: RunDirectory, left_out: list[str]) -> list[tuple[RunData, str | None]]:
    request = directory.request()
    if request is None or request.members is None:
        data = read_run(directory.path)
        if data.damaged:
            left_out.append(
                f"{directory.name} is damaged: {counted(len(data.damaged), 'line')} of its "
                "streams can't be read and are left out."
            )
        return [(data, None)]
    runs: list[tuple[RunData, str | None]] = []
    for member in read_group(directory.path).members:
        if member.run is not None:
            runs.append((member.run, directory.name))
        else:
            why = f": {member.problem}" if member.problem else "."
            left_out.append(f"{directory.name}: member {member.number} is {member.state}{why}")
    return runs
