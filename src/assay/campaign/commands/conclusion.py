"""Ends a run measured by jobs or nodes: follows it, presents its results, sets the exit status."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.campaign.commands.finish import (
    Expected,
    FailOn,
    check_expectations,
    check_run,
    exit_status,
    present,
    show,
)
from assay.campaign.engine.display import describe_cell
from assay.campaign.jobs.batch import scheduler_of
from assay.campaign.jobs.endings import Ending
from assay.campaign.jobs.follow import Follower
from assay.campaign.jobs.job import missing_cells
from assay.campaign.jobs.run_watch import watching
from assay.errors import INTERRUPTED, AssayError
from assay.records.access.trust import check_trusted_run
from assay.records.directory import RunDirectory
from assay.records.group import GroupData, read_group
from assay.records.jobs import JobBook
from assay.records.reading import read_run
from assay.records.request import RunRequest
from assay.units import parse_quantity

if TYPE_CHECKING:
    from rich.console import Console

    from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class WhenEnded:
    """Actions after the end of a run."""

    report: bool = True
    as_json: bool = False
    fail_on: FailOn = "failure"
    expected: Expected = Expected()  # noqa: RUF009
    verbose: bool = False
    #: Whether the answers are not printed, because another report follows.
    quiet: bool = False
    #: Seconds that a job may wait for its start before following ends.
    patience: float = math.inf


def read_patience(written: str | None) -> float:
    """Seconds of --patience; inf without the option. Raises AssayError unless they are positive."""
    if written is None:
        return math.inf
    seconds = float(parse_quantity(written, "s", where="--patience"))
    if not 0 < seconds < math.inf:
        raise AssayError(
            f"'{written}' is not a valid waiting time.", where="--patience", fix='Example: "2 h".'
        )
    return seconds


def follow_run(run: RunDirectory, request: RunRequest, console: Console, after: WhenEnded) -> int:
    """Follow a submitted run to its end and present it; returns the exit status.

    Raises AssayError.
    """
    check_trusted_run(run.path)
    jobs = JobBook(run.path).jobs()
    if not jobs or request.scheduler is None:
        raise AssayError(
            "No job was submitted for this run.",
            where=str(run.path),
            fix=f"`assay run --resume {run.name}` continues it.",
        )
    scheduler = scheduler_of(request.scheduler)
    with watching(run, request, console) as watch:
        follower = Follower(
            run=run,
            request=request,
            scheduler=scheduler,
            console=console,
            watch=watch,
            patience=after.patience,
        )
        if request.members is not None:
            ending = follower.follow_group()
        else:
            ending = follower.follow(jobs[-1].number)
    return conclude(run, request, ending, console, after)


def conclude(
    run: RunDirectory, request: RunRequest, ending: Ending, console: Console, after: WhenEnded
) -> int:
    """Report the outcome of a run that was followed; returns the exit status.

    Raises AssayError.
    """
    if ending.how in ("left", "queued"):
        _say(console, ending.sentence)
        return INTERRUPTED if ending.how == "left" else 1
    if request.members is not None:
        return _conclude_group(run, ending, console, after)
    if ending.how == "complete":
        data = read_run(run.path)
        cells = present(
            data,
            report=after.report,
            as_json=after.as_json,
            verbose=after.verbose,
            quiet=after.quiet,
        )
        failed = check_run(data, cells, after.expected, after.fail_on)
        return 1 if failed else exit_status(cells, after.fail_on)
    if ending.sentence:
        _say(console, ending.sentence)
    if run.begun and after.expected.junit is not None:
        from assay.stats.cells.summarise import summarise_cells

        data = read_run(run.path)
        check_run(data, summarise_cells(data), after.expected, after.fail_on)
    stored = _stored_text(run)
    _say(console, f"{stored}\nContinue with: assay run --resume {run.name}")
    if ending.how == "stopped":
        return INTERRUPTED
    if ending.problem is not None:
        raise ending.problem
    return 1


def _conclude_group(run: RunDirectory, ending: Ending, console: Console, after: WhenEnded) -> int:
    if ending.sentence:
        _say(console, ending.sentence)
    status = _present_group(run.path, after)
    if ending.how != "complete":
        _say(console, f"Continue with: assay run --resume {run.name}")
        return INTERRUPTED if ending.how == "stopped" else 1
    return status


def _present_group(path: Path, after: WhenEnded) -> int:
    """Write a group's report, print its summary or the JSON report; returns the exit status."""
    from assay.report.nodes.build import build_group
    from assay.subjects.nodes.findings import find

    group = read_group(path)
    found = find(group)
    show(
        build_group(group, found),
        path,
        report=after.report,
        as_json=after.as_json,
        quiet=after.quiet,
    )
    fail_on = after.fail_on
    nodes = [(node.name, node.cells) for node in found.measurements]
    if check_expectations(after.expected, path.name, nodes, fail_on):
        return 1
    if fail_on == "nodes" and (found.suspects or found.slow_groups):
        return 1
    return _status(group, [node.cells for node in found.measurements], fail_on)


def _status(group: GroupData, nodes: Sequence[Sequence[CellSummary]], fail_on: FailOn) -> int:
    if fail_on == "never":
        return 0
    if any(member.state != "complete" for member in group.members):
        return 1
    return max((exit_status(cells, fail_on) for cells in nodes), default=0)


def _stored_text(run: RunDirectory) -> str:
    """A text on the results of an unfinished run, and the cells it lacks."""
    if not run.begun:
        return f"No cell was measured: {run.path}"
    data = read_run(run.path)
    cells = {cell.id: cell for cell in data.manifest.plan.cells}
    missing = [describe_cell(cells[id_]) for id_ in missing_cells(data)]
    words = f"{len(data.measurements)} measurements are kept in {run.path}"
    if not missing:
        return f"{words}. Every cell has results, but fewer than it needs."
    named = "; ".join(missing[:10]) + ("; …" if len(missing) > 10 else "")
    return f"{words}. {len(missing)} of {len(cells)} cells have no number: {named}"


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, soft_wrap=True, markup=False)
