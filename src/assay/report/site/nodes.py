"""What a group of runs says about its nodes, read once while the group doesn't change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.questions.common.lines import ReportLine
from assay.report.site.model import SiteNodes, SiteRun, named, shown
from assay.units import format_change

# Maximum number of lines that a site keeps of a group.
_MOST_LINES = 40


def read_nodes(
    store: Path, runs: Mapping[str, SiteRun], known: Mapping[str, SiteNodes]
) -> dict[str, SiteNodes]:
    """The nodes of the newest of these groups that has results, by its stored name."""
    with_results = [
        name
        for name, run in runs.items()
        if run.listing.members and run.listing.members.get("complete")
    ]
    if not with_results:
        return {}
    name = with_results[-1]
    seen = _seen(runs[name])
    before = known.get(name)
    if before is not None and before.seen == seen:
        return {name: before}
    return {name: _read(store / named(name), seen)}


def _seen(run: SiteRun) -> str:
    """What changes with the members of a group."""
    return repr((run.stamp, sorted((run.listing.members or {}).items())))


def _read(path: Path, seen: str) -> SiteNodes:
    from assay.records.group import read_group
    from assay.subjects.nodes.findings import find
    from assay.subjects.nodes.subject import SUBJECT

    try:
        findings = find(read_group(path))
    except AssayError as error:
        return SiteNodes(seen, f"The nodes can't be compared: {shown(str(error))}")
    lines = SUBJECT.lines(findings)
    return SiteNodes(
        seen,
        shown(SUBJECT.answer(findings).verdict),
        [_fields(line) for line in lines[:_MOST_LINES]],
    )


def _fields(line: ReportLine) -> tuple[str, str, str, str]:
    change = "" if line.change is None else format_change(line.change, line.ci95)
    return (shown(line.where), shown(line.what), change, shown(line.text))
