"""The answer on transfers between CPUs: groups in the times and groups that the system names."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import evidence
from assay.questions.speed.memory.cores import CoreFindings, CoreGroups
from assay.units import counted, format_quantity, listed

# Groups whose transfers within are faster by at least this factor are worth a placement.
WORTH_PLACING = 1.5


def cores_part(found: CoreFindings) -> Part:
    """The part on transfers between CPUs."""
    part = Part(headline=[found.point])
    number = counted(len(found.cpus), "CPU")
    sampled = found.pairs < found.pairs_in_all
    pairs = (
        f"{found.pairs:,} of {found.pairs_in_all:,} pairs, at random"
        if sampled
        else f"all {found.pairs:,} pairs"
        if found.pairs > 1
        else "the only pair"
    )
    note = f"{pairs} of {number}"
    part.evidence += [
        evidence("Transfer of a cache line, median pair", found.point, "latency", note=note),
        evidence("Transfer of a cache line, slowest pair", found.slowest, "slowest", note=note),
    ]
    for level in found.found:
        shared = level.shared or ["no shared part that the system names"]
        name = listed(list(shared))
        part.evidence += _rows(
            f"{counted(len(level.groups), 'group')} found, {name}",
            level.within,
            level.between,
            found,
        )
    for named in found.named:
        if not named.seen and named.within is not None and named.between is not None:
            name = f"{counted(named.groups, 'group')} by {named.shared}, not distinct in the times"
            if named.seen is None:
                name = f"{counted(named.groups, 'group')} by {named.shared}"
            part.evidence += _rows(name, named.within, named.between, found)
    time = format_quantity(found.point.metric.median, "s")
    part.remark = f"a cache line moves between two CPUs in {time}"
    part.method.append(
        "Transfers between CPUs: two threads take turns in raising a counter by compare-and-swap, "
        "so that its cache line moves once per turn; half a round trip, one pair at a time. "
        "Groups are searched for in the times (average linkage with a permutation test, as for "
        "nodes of a network) and only then compared with what the operating system says."
    )
    if sampled:
        part.limits.append(
            f"Transfers were measured between {pairs}; each launch measured a different part, "
            "with equally many pairs for each CPU."
        )
    if not found.searched:
        part.limits.append(
            "Groups of CPUs were not searched for: they need at least 6 CPUs and 2 launches."
        )
    _advise(part, found)
    return part


def _rows(name: str, within: float, between: float, found: CoreFindings) -> list[Evidence]:
    cells = [found.point.summary.id]
    return [
        Evidence(f"Transfer within a group: {name}", "latency", "s", within, cells=cells),
        Evidence(f"Transfer between groups: {name}", "latency", "s", between, cells=cells),
    ]


def _advise(part: Part, found: CoreFindings) -> None:
    for level in found.found:
        if level.between < WORTH_PLACING * level.within:
            continue
        many, size = len(level.groups), max(map(len, level.groups))
        what = (
            f"Transfers take {format_quantity(level.within, 's')} within {_groups(level)} and "
            f"{format_quantity(level.between, 's')} between them"
        )
        if level.shared:
            part.advice.append(
                f"{what}: place threads that share data, and ranks that exchange small messages, "
                f"on CPUs with the same {listed(list(level.shared))}."
            )
        else:
            part.advice.append(
                f"{what}, which the operating system doesn't name: with {many} groups of up to "
                f"{size} CPUs, bind ranks and threads by these lists instead of by socket or "
                "cache, and look at the firmware's setting of NUMA nodes per socket."
            )
        break  # the largest groups matter most; smaller ones lie within them
    hidden = [named for named in found.named if named.seen is False]
    if hidden and found.pairs == found.pairs_in_all:
        names = listed([f"{named.shared}s" for named in hidden])
        part.caveats.append(
            f"The operating system names groups of CPUs by {names} that the times of transfers "
            "don't show: a virtual machine may present parts that it doesn't have."
        )


def _groups(level: CoreGroups) -> str:
    return f"groups of {max(map(len, level.groups))} CPUs"
