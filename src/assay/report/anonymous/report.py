"""Anonymous reports of a run and of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.records.group import GroupData
from assay.records.model import RunData
from assay.report import build_report
from assay.report.anonymous.collect import names_of, names_of_group
from assay.report.anonymous.names import Names
from assay.report.anonymous.runs import anonymous_report, without_names
from assay.report.model import ReportModel
from assay.stats.cells.summarise import summarise_cells


def report_without_names(run: RunData, history: Sequence[RunData] = ()) -> ReportModel:
    """The report of a run, built from data without names; ``history`` as for ``build_report``.

    The names of the run have their numbers first, so that these do not depend on the history.
    """
    names = Names()
    names.add(names_of(run))
    for earlier in sorted(history, key=lambda each: each.manifest.run):
        names.add(names_of(earlier))
    run = without_names(run, names)
    history = [without_names(earlier, names) for earlier in history]
    return anonymous_report(build_report(run, summarise_cells(run), history), names)


def anonymous_group(
    group: GroupData,
    report: ReportModel,
    stated: Mapping[str, Mapping[str, str]] | None = None,
) -> ReportModel:
    """The report of a group with names replaced: it is built from data with names, since hosts are
    looked up in earlier groups. ``stated``: ``[system.groups]`` of assay.toml.
    """
    names = Names()
    names.add(names_of_group(group, stated))
    return anonymous_report(report, names)
