"""``assay runs``: list runs, follow submitted ones, clean up leftovers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.config import Config
from assay.errors import AssayError
from assay.records.directory import RunDirectory, find_run, list_runs
from assay.records.jobs import JobBook
from assay.records.store import Store

if TYPE_CHECKING:
    from rich.console import Console

    from assay.campaign.commands.conclusion import WhenEnded


def show(root: Path, *, check: bool, as_json: bool) -> int:
    """List the runs. Returns the exit status."""
    from assay.console import console, print_json

    found = Store(root).listing(check=check)
    if as_json:
        print_json(found)
    elif not found:
        console().print(
            f"There are no runs in {root}. `assay run quick` creates one.",
            soft_wrap=True,
            markup=False,
        )
    else:
        from assay.report.runs_table import MANY, run_table

        out = console()
        out.print(run_table(found, out.width), soft_wrap=len(found) >= MANY)
    return int(check and any(run.state == "damaged" for run in found))


def follow_again(root: Path, name: str, console: Console, after: WhenEnded) -> int:
    """Follow a submitted run. Returns the exit status. Raises AssayError."""
    from assay.campaign.commands.conclusion import follow_run

    run = find_run(root, name) if name else _newest_submitted(root)
    request = run.request()
    if request is None:
        raise AssayError(
            "This run was not submitted, so there is no job to follow.",
            where=str(run.path),
            fix=f"`assay run --resume {run.name}` continues an unfinished run.",
        )
    return follow_run(run, request, console, after)


def _newest_submitted(root: Path) -> RunDirectory:
    """The newest run that has jobs, preferably an unfinished one. Raises AssayError."""
    submitted = [run for run in list_runs(root) if JobBook(run.path).jobs()]
    if not submitted:
        raise AssayError(
            "No run in this folder was submitted.",
            where=str(root),
            fix="`assay run quick --submit` submits one.",
        )
    return next((run for run in reversed(submitted) if not run.complete), submitted[-1])


def clean_up(root: Path, config: Config, *, end: bool, as_json: bool) -> int:
    """List leftover jobs and processes of runs.

    With ``end``, end them. Returns the exit status. Raises AssayError.
    """
    from assay.campaign.jobs.clean import leftovers
    from assay.console import console, print_json

    others: list[str] = []
    found = leftovers(list_runs(root), config, others, end=end)
    for sentence in others:
        console(stderr=True).print(f"Not touched: {sentence}", soft_wrap=True, markup=False)
    if as_json:
        print_json(found)
        return 0
    out = console()
    for each in found:
        whose = f" of {each.run}" if each.run else ""
        done = "ended" if each.ended else each.state
        out.print(f"{each.kind} {each.name}{whose}: {done}", soft_wrap=True, markup=False)
    if not found:
        out.print(
            f"The runs in {root} have left no jobs or processes.", soft_wrap=True, markup=False
        )
    elif not end:
        out.print("`assay runs --clean --yes` ends these.", markup=False)
    return 0
