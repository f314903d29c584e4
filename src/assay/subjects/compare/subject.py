"""Runs compared as a subject of reports."""

from __future__ import annotations

from assay.questions.common.tables import fact_table
from assay.subjects.compare.answer import answer
from assay.subjects.compare.figures import figures
from assay.subjects.compare.findings import find
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.tables import cell_table, tables
from assay.subjects.subject import ReportFrame, Subject
from assay.units import counted, format_limit
from assay.version import VERSION


def frame(found: CompareFindings) -> ReportFrame:
    """The rows are the compared cells."""
    reference = found.runs[0]
    names = " and ".join(run.run for run in found.runs[1:3])
    more = f" and {len(found.runs) - 3} more" if len(found.runs) > 3 else ""
    times = [run.utc for run in found.runs if run.utc is not None]
    facts = [
        ("Reference", reference.run),
        ("Cells are the same within", format_limit(found.margin)),
        ("assay", VERSION),
    ]
    return ReportFrame(
        name=reference.run,
        suite=reference.suite,
        title=f"{reference.run} compared with {names}{more}",
        system=reference.system,
        utc=max(times, default=0.0),
        complete=all(run.complete for run in found.runs),
        summary=f"{counted(len(found.runs), 'run')} · {counted(len(found.cells), 'comparison')}",
        rows=cell_table(found),
        facts=fact_table("system", "Comparison", facts),
    )


SUBJECT = Subject(
    name="compare",
    title="Runs compared (`assay compare`)",
    find=find,
    answer=answer,
    frame=frame,
    figures=figures,
    tables=tables,
)
