"""Builds the report of a group: a comparison of separately measured nodes."""

from __future__ import annotations

from assay.questions.common.tables import Table
from assay.records.group import GroupData
from assay.report.machine import system_table
from assay.report.model import ReportModel
from assay.report.subject import build_subject
from assay.subjects.nodes.findings import NodesFindings
from assay.subjects.nodes.subject import SUBJECT


def build_group(group: GroupData, found: NodesFindings) -> ReportModel:
    """The report of a group; ``found``: from ``subjects.nodes.findings.find``."""
    first = next((member.run for member in group.members if member.run), None)
    empty = Table(id="system", title="System", columns=[], rows=[])
    system = empty if first is None else system_table(first.manifest)
    return build_subject(SUBJECT, found, group, system)
