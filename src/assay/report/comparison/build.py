"""Builds the report of a comparison of runs, for every format."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.comparison.views import QuestionView, view_section
from assay.report.model import ReportModel
from assay.report.subject import build_subject
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.subject import SUBJECT


def build_comparison(found: CompareFindings, views: Sequence[QuestionView] = ()) -> ReportModel:
    """The report; ``found``: from ``subjects.compare.findings.find``.

    ``views``: the questions' answers side by side, from ``report.comparison.views.find_views``.
    """
    return build_subject(SUBJECT, found, more=[view_section(view) for view in views])
