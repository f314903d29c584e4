"""The report on a simulation: on the terminal, and in the requested format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.questions.common.findings import findings_json
from assay.report import present_report
from assay.report.build import report_without_cells, section_of
from assay.report.destination import Destination
from assay.report.model import ReportModel
from assay.subjects.simulation.answer import answer, facts, times
from assay.subjects.simulation.model import SimulationFindings
from assay.units import counted

if TYPE_CHECKING:
    from rich.console import Console


def present(found: SimulationFindings, console: Console, target: Destination | None) -> None:
    """Print the report, and write it if a file is asked for.

    Raises AssayError if it can't be written.
    """
    present_report(build_simulation(found), console, target)


def build_simulation(found: SimulationFindings) -> ReportModel:
    """The report on a simulation."""
    return report_without_cells(
        name="simulate",
        title=f"Simulation: {found.program} on {found.cluster}",
        utc=found.utc,
        summary=f"{counted(found.ranks, 'rank')} on {counted(found.nodes, 'node')}",
        sections=[section_of(answer(found), figures=[], tables=[], findings=findings_json(found))],
        rows=times(found),
        facts=facts(found),
    )
