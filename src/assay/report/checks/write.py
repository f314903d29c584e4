"""Prints and writes the report on a fleet's checks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from assay.check.fleet.baselines import read_baselines
from assay.check.fleet.reading import read_fleet
from assay.report import present_report, write_asked
from assay.report.destination import Destination
from assay.report.subject import build_subject
from assay.subjects.checks.findings import find
from assay.subjects.checks.lines import lines
from assay.subjects.checks.subject import SUBJECT

if TYPE_CHECKING:
    from rich.console import Console


def report_checks(
    folder: Path, target: Destination | None, console: Console, *, verbose: bool = False
) -> int:
    """Report on all nodes of a fleet; returns how many have something wrong.

    Without ``verbose`` it prints one line per bad node, and nothing if there is none, so that a
    nightly job sends a mail only if there is something to read. ``folder``: that of the fleet's
    checks. Raises AssayError if the folder can't be read or the file can't be written.
    """
    fleet = read_fleet(folder)
    baselines = read_baselines(folder, {node.header.kind for node in fleet.nodes})
    found = find(fleet, time.time(), baselines)
    report = build_subject(SUBJECT, found)
    if verbose:
        present_report(report, console, target, verbose=True)
    else:
        for line in lines(found):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        write_asked(report, None, target)
    return len(found.bad) + len(found.declining_kinds)
