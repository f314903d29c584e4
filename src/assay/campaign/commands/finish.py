"""After a campaign: the report, the messages on the terminal, the exit status."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.config.expectation import Expectation
from assay.errors import INTERRUPTED
from assay.kernels import is_search
from assay.records.directory import REPORT, RunDirectory
from assay.records.model import RunData
from assay.stats.core.model import CellSummary

if TYPE_CHECKING:
    from rich.console import Console

    from assay.arrays import Floats
    from assay.report.anonymous.names import Names
    from assay.report.expectations.judge import Judgement
    from assay.report.model import ReportModel

FailOn = Literal["never", "failure", "precision", "nodes", "expectation"]


def present(
    run: RunData, *, report: bool, as_json: bool, verbose: bool = False, quiet: bool = False
) -> list[CellSummary]:
    """Write the report, print the summary or the JSON report, and return the cells.

    ``verbose``: the summary also has tables, caveats and recommendations. ``quiet``: nothing is
    printed.
    """
    from assay.report import build_report
    from assay.report.earlier_runs import read_history
    from assay.stats.cells.summarise import summarise_cells

    assert run.path is not None
    cells = summarise_cells(run)
    model = build_report(run, cells, read_history(run))
    show(model, run.path, report=report, as_json=as_json, verbose=verbose, quiet=quiet)
    return cells


@dataclass(frozen=True)
class Expected:
    """The expectations on results, and the JUnit file to write; None without a file."""

    expectations: tuple[Expectation, ...] = ()
    junit: Path | None = None


def check_expectations(
    expected: Expected,
    run: str,
    nodes: Sequence[tuple[str, Sequence[CellSummary]]],
    fail_on: FailOn,
    earlier: Callable[[], Mapping[str, Floats]] = dict,
    names: Names | None = None,
) -> bool:
    """Judge results, print the judgements and write the JUnit file; as ``judge_expectations``.

    Returns whether the exit status must be 1.
    """
    found = judge_expectations(expected, run, nodes, fail_on, earlier=earlier, names=names)
    if found is None:
        return False
    print_judgements(found)
    return is_failed(found, fail_on)


def is_failed(found: Sequence[Judgement], fail_on: FailOn) -> bool:
    """Whether the exit status must be 1."""
    return fail_on == "expectation" and (not found or any(each.failed for each in found))


def print_judgements(found: Sequence[Judgement]) -> None:
    """Print the judgements as messages."""
    from assay.console import console
    from assay.report.expectations.show import sentences

    for line in sentences(found):
        console(stderr=True).print(line, soft_wrap=True, markup=False)


def judge_expectations(
    expected: Expected,
    run: str,
    nodes: Sequence[tuple[str, Sequence[CellSummary]]],
    fail_on: FailOn,
    earlier: Callable[[], Mapping[str, Floats]] = dict,
    names: Names | None = None,
) -> list[Judgement] | None:
    """Judge results and write the JUnit file; None if nothing is expected of them.

    ``run``: the run's name. ``nodes``: the cells of a group by node name; the cells of a single run
    have an empty name. ``earlier``: results of earlier runs by cell id. ``names``: replacements of
    private names in all output. Raises AssayError.
    """
    if not expected.expectations and expected.junit is None and fail_on != "expectation":
        return None
    from assay.report.expectations.judge import judge
    from assay.report.expectations.show import write_junit

    known = earlier() if any(each.like for each in expected.expectations) else {}
    found = [
        judgement
        for node, cells in nodes
        for judgement in judge(expected.expectations, cells, known, node)
    ]
    if names is not None:
        from assay.report.anonymous.report import judgements_without_names

        found, run = judgements_without_names(found, names), names.run(run)
    if expected.junit is not None:
        write_junit(found, run, expected.junit)
    return found


def check_run(run: RunData, cells: Sequence[CellSummary], expected: Expected, on: FailOn) -> bool:
    """``check_expectations`` for a run that is not a group."""
    from assay.report.expectations.judge import earlier_values

    return check_expectations(
        expected, run.manifest.run, [("", cells)], on, lambda: earlier_values(run)
    )


def show(
    model: ReportModel,
    folder: Path,
    *,
    report: bool,
    as_json: bool,
    verbose: bool = False,
    quiet: bool = False,
) -> None:
    """Write a report into the folder of a run or group.

    Print its summary, or the whole report as JSON, unless ``quiet``.
    """
    from assay.console import console, print_json
    from assay.records.files import RUNS
    from assay.report import print_summary, write_report

    if report:
        write_report(model, folder / REPORT, option=RUNS)
    if quiet:
        return
    if as_json:
        print_json(model)
        return
    out = console()
    print_summary(model, out, verbose=verbose)
    if report:
        out.print(f"\nreport: {folder / REPORT}", soft_wrap=True, markup=False)


def interrupted(run: RunDirectory, console: Console) -> int:
    """Print what was kept and how to resume.

    Returns the shell's exit status for an interruption.
    """
    from assay.records.reading import read_run

    kept = len(read_run(run.path).measurements)
    console.print(
        f"Stopped. {kept} measurements are kept in {run.path}\n{_next_session(run)}"
        f"Continue with: assay run --resume {run.name}",
        soft_wrap=True,
        markup=False,
    )
    return INTERRUPTED


def _next_session(run: RunDirectory) -> str:
    """A line on the due time of the run's next session; empty if none is pending."""
    from assay.campaign.engine.sessions import begin_time, moment

    begin = begin_time(run, time.time())
    return f"The next session is due {moment(begin)}.\n" if begin is not None else ""


def exit_status(cells: Sequence[CellSummary], fail_on: FailOn, *, complete: bool = True) -> int:
    """The exit status: 1 if a cell failed, could not be measured, or is imprecise with
    ``precision``, otherwise 0.

    Cells that did not fit into the budget are not failures, unless no cell did.
    """
    if fail_on == "never":
        return 0
    if not complete or not any(cell.metrics for cell in cells):
        return 1
    if any(
        cell.status == "failed" or cell.verified is False or cell.lost_launches for cell in cells
    ):
        return 1
    imprecise = any(
        metric.stop != "precision"
        for cell in cells
        if not is_search(cell.cell)
        for metric in cell.metrics.values()
    )
    return int(fail_on == "precision" and imprecise)
