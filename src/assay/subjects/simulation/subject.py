"""A program on a described cluster as a subject of reports."""

from __future__ import annotations

from assay.questions.common.lines import advice_lines
from assay.subjects.simulation.answer import answer, facts, times
from assay.subjects.simulation.findings import find_simulation
from assay.subjects.simulation.model import SimulationFindings
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted


def frame(found: SimulationFindings) -> ReportFrame:
    """The rows are the times."""
    return ReportFrame(
        name="simulate",
        title=f"Simulation: {found.program} on {found.cluster}",
        utc=found.utc,
        summary=f"{counted(found.ranks, 'rank')} on {counted(found.nodes, 'node')}",
        rows=times(found),
        facts=facts(found),
    )


SUBJECT = Subject(
    name="simulation",
    title="Simulated programs (`assay simulate`)",
    find=find_simulation,
    answer=answer,
    frame=frame,
    lines=lambda found: advice_lines("program", answer(found)),
)
