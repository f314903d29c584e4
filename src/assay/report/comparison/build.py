"""The report of a comparison of runs, for every format."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.findings import findings_json
from assay.questions.common.tables import fact_table
from assay.report.build import report_without_cells, section_of
from assay.report.comparison.views import QuestionView, view_section
from assay.report.model import ReportModel
from assay.subjects.compare.answer import answer
from assay.subjects.compare.figures import figures
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.tables import cell_table, tables
from assay.units import counted, format_limit
from assay.version import VERSION


def build_comparison(found: CompareFindings, views: Sequence[QuestionView] = ()) -> ReportModel:
    """The report; ``found``: from ``questions.compare.findings.find``.

    ``views``: the questions' answers side by side, from ``report.comparison.views.find_views``.
    """
    reference = found.runs[0]
    names = " and ".join(run.run for run in found.runs[1:3])
    more = f" and {len(found.runs) - 3} more" if len(found.runs) > 3 else ""
    times = [run.utc for run in found.runs if run.utc is not None]
    return report_without_cells(
        name=reference.run,
        suite=reference.suite,
        title=f"{reference.run} compared with {names}{more}",
        system=reference.system,
        utc=max(times, default=0.0),
        complete=all(run.complete for run in found.runs),
        summary=f"{counted(len(found.runs), 'run')} · {counted(len(found.cells), 'comparison')}",
        sections=[
            section_of(
                answer(found),
                figures=figures(found),
                tables=tables(found),
                findings=findings_json(found),
            ),
            *(view_section(view) for view in views),
        ],
        rows=cell_table(found),
        facts=fact_table(
            "system",
            "Comparison",
            [
                ("Reference", reference.run),
                ("The same within", format_limit(found.margin)),
                ("assay", VERSION),
            ],
        ),
    )
