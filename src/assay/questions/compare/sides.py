"""The sides of a comparison, as named on the command line."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError, nearest
from assay.questions.history.query import moment
from assay.records.directory import RunDirectory, find_run, list_runs
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.summary import RunSummary

_TOOLCHAIN = ":toolchain="


@dataclass(frozen=True)
class Side:
    """A run, or the cells of one toolchain in it. ``words``: as named on the command line."""

    words: str
    run: RunData
    toolchain: str | None = None


def read_sides(root: Path, names: Sequence[str]) -> list[Side]:
    """The runs that ``names`` mean: a path, a part of a run's name, or ``@DATE``.

    ``@2026-10-01`` is the newest run that began on or before that day; ``NAME:toolchain=T`` only
    the cells of toolchain T. Raises AssayError for under two names, equal sides, unknown or damaged
    runs, groups, and runs without measurements.
    """
    if len(names) < 2:
        raise AssayError(
            "A comparison needs at least two runs.",
            fix="Name them by parts of their names: `assay compare 20260101T 20260201T`; "
            "`assay runs` lists them.",
        )
    sides = [_read(root, name) for name in names]
    seen: dict[tuple[str, str | None], str] = {}
    for side in sides:
        key = (side.run.manifest.run, side.toolchain)
        if key in seen:
            raise AssayError(
                f"'{seen[key]}' and '{side.words}' are the same run, {key[0]}.",
                fix="Name two different runs; `assay runs` lists them.",
            )
        seen[key] = side.words
    return sides


def _read(root: Path, name: str) -> Side:
    words, _, toolchain = name.partition(_TOOLCHAIN)
    directory = _at(root, words) if words.startswith("@") else find_run(root, words)
    request = directory.request()
    if request is not None and request.members is not None:
        raise AssayError(
            f"{directory.name} is a group of runs, one per node.",
            fix=f"Name one of its runs: a folder in {directory.path}.",
        )
    run = read_run(directory.path)
    if not run.measurements:
        raise AssayError(f"Run {directory.name} has no measurements.", where=str(directory.path))
    if not toolchain:
        return Side(name, run)
    known = sorted({measurement.cell.toolchain for measurement in run.measurements})
    if toolchain not in known:
        raise AssayError(
            f"Run {directory.name} has no toolchain '{toolchain}'.", fix=nearest(toolchain, known)
        )
    return Side(name, run, toolchain)


def _at(root: Path, words: str) -> RunDirectory:
    """The newest run that began on or before a day."""
    day = moment(words.removeprefix("@"), f"'{words}'")
    if len(words.removeprefix("@")) <= len("2026-10-01"):
        day += datetime.timedelta(days=1).total_seconds()
    found = [
        (summary.utc, run)
        for run in list_runs(root)
        if (summary := _summary(run)) is not None and summary.utc < day and not summary.imported
    ]
    if not found:
        raise AssayError(
            f"No complete run began on or before {words.removeprefix('@')}.",
            where=str(root),
            fix="`assay runs` lists them with their times.",
        )
    return max(found, key=lambda each: each[0])[1]


def _summary(run: RunDirectory) -> RunSummary | None:
    """The summary of a complete run; None for others, and for damaged ones."""
    try:
        return run.summary()
    except AssayError:
        return None
