"""Anonymous reports of a run and of a group."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from assay.model.demand import ProgramDemand
from assay.records.group import GroupData
from assay.records.model import RunData
from assay.report import build_report
from assay.report.anonymous.collect import names_of, names_of_group
from assay.report.anonymous.names import Names
from assay.report.anonymous.runs import anonymous_report, without_names
from assay.report.expectations.judge import Judgement
from assay.report.model import ReportModel
from assay.stats.cells.summarise import summarise_cells

# Stands for the command of a profiled program.
_PROGRAM = "a profiled program"
_WILD_PATH = re.compile(r"(?<==)/\S*[*?\[]\S*")


def names_of_runs(run: RunData, history: Sequence[RunData] = ()) -> Names:
    """The replacements of the names in a run and in its history.

    The names of the run are numbered first, so that their numbers do not depend on the history.
    """
    names = Names()
    names.add(names_of(run))
    for earlier in sorted(history, key=lambda each: each.manifest.run):
        names.add(names_of(earlier))
    return names


def report_without_names(
    run: RunData,
    history: Sequence[RunData] = (),
    names: Names | None = None,
    program: ProgramDemand | None = None,
) -> ReportModel:
    """The report of a run, built from data without names. ``history`` and ``program`` are the same
    as for ``build_report``; the program's command is left out.

    ``names``: from ``names_of_runs``.
    """
    names = names or names_of_runs(run, history)
    run = without_names(run, names)
    history = [without_names(earlier, names) for earlier in history]
    if program is not None:
        program = msgspec.structs.replace(program, command=_PROGRAM)
    return anonymous_report(build_report(run, summarise_cells(run), history, program), names)


def group_names(group: GroupData, stated: Mapping[str, Mapping[str, str]] | None = None) -> Names:
    """The replacements of the names in a group; ``stated``: ``[system.groups]`` of assay.toml.

    The report of a group is built from data with names, since it looks up hosts in earlier groups.
    ``anonymous_report`` then replaces the names.
    """
    names = Names()
    names.add(names_of_group(group, stated))
    return names


def judgements_without_names(judgements: Sequence[Judgement], names: Names) -> list[Judgement]:
    """Judgements with the names in cells, sentences and nodes replaced.

    An expectation that selects no cell has its pattern as cell; a path in a pattern may contain
    ``*`` and ``?``.
    """
    return [
        replace(
            each,
            cell=names.text(_WILD_PATH.sub(lambda found: names.name("path", found[0]), each.cell)),
            sentence=names.text(each.sentence),
            node=names.host(each.node),
        )
        for each in judgements
    ]
