"""The answer on storage by the rules of IO500."""

from __future__ import annotations

from assay.kernels.naming import metric_name, placement_text
from assay.kernels.storage.io500 import (
    DATA_PHASES,
    FILE_PHASES,
    HARD_RECORD,
    OFFICIAL_SECONDS,
    OWN_CODE,
)
from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, ratio_row
from assay.questions.common.selection import Point, evidence, measured_text
from assay.questions.speed.io500.findings import ANOTHER_NODE, Io500Facts, Io500Findings
from assay.units import counted, format_duration, format_share, format_size, listed

# Least ratio of two ways at which the faster one is recommended.
MUCH_SLOWER = 1.1
# Ratios that the advice judges: two of writing and reading, two of record sizes, one of metadata.
_COMPARISONS = 5
# Below this multiple of a node's memory its page cache could hold all data.
_FITS_INTO_MEMORY = 1.0
# Below this share of the fastest rank's data the slowest rank is named.
_UNEVEN = 0.8
_CACHED = 0.05

_METHOD = (
    f"Storage score: {OWN_CODE}. One sample has the twelve phases of IO500 in the order of its "
    "rules. Phases that write last the requested time, and then until every rank has written as "
    "much as the fastest. Opening, flushing and closing are timed. Every byte that is read is "
    "compared. The score is the square root of the product of two geometric means: four "
    "bandwidths in GiB/s, and eight rates in thousands of files per second."
)


def part(found: Io500Findings) -> Part:
    """The part on storage by the rules of IO500."""
    score, facts = found.score, found.facts
    part = Part(headline=[score], method=[_METHOD], limits=[_limits(facts)])
    where = placement_text(score.summary.cell.placement)
    part.remark = f"storage scores {measured_text(score)} on {where} ({OWN_CODE})"
    part.evidence.append(evidence(f"Storage score, {where}", score, "score", note=OWN_CODE))
    part.evidence += [
        evidence(f"Storage score: {metric_name(name)}", point, name)
        for name, point in found.means.items()
    ]
    meanings = {**DATA_PHASES, **FILE_PHASES}
    part.evidence += [
        evidence(metric_name(name), point, name, note=meanings[name])
        for name, point in found.phases.items()
    ]
    _ratios(part, found)
    _caveats(part, found)
    return part


def _ratios(part: Part, found: Io500Findings) -> None:
    """Rows and advice on shared files, record sizes, directories and interfaces."""
    ranks = counted(found.score.cores, "rank")
    for op, ratio in found.easy_over_hard.items():
        part.evidence.append(ratio_row(f"{op.capitalize()}: ior-easy over ior-hard", ratio))
        if _is_more(ratio):
            part.advice.append(
                f"With {ranks}, {op} large transfers to a file of each rank: {ratio.value:.2f} "
                f"times the bandwidth of records of {_record(found.score)} in one shared file."
            )
    for op, ratio in found.larger_record.items():
        sizes = f"records of {_record(ratio.above)} over {_record(ratio.below)}"
        part.evidence.append(ratio_row(f"{op.capitalize()}, shared file: {sizes}", ratio))
        if _is_more(ratio):
            part.advice.append(
                f"If ranks must share a file, {op} larger records: {_record(ratio.above)} reach "
                f"{ratio.value:.2f} times the bandwidth of {_record(ratio.below)}."
            )
    if own := found.own_over_shared:
        part.evidence.append(ratio_row("Files created: mdtest-easy over mdtest-hard", own))
        if _is_more(own):
            part.advice.append(
                f"With {ranks}, give each rank a directory of its own: empty files are created "
                f"there at {own.value:.2f} times the rate of small files in one directory."
            )
    if found.mpi_io:
        part.evidence.append(ratio_row("Storage score: MPI-IO over POSIX", found.mpi_io))


def _is_more(ratio: Ratio) -> bool:
    compared = ratio.compared(equal=MUCH_SLOWER, comparisons=_COMPARISONS)
    return compared.direction == "more"


def _record(point: Point) -> str:
    value = point.parameter("record")
    return format_size(float(value if isinstance(value, (int, float)) else HARD_RECORD))


def _caveats(part: Part, found: Io500Findings) -> None:
    """Caveats on what memory served, on phases that ended early and on slow ranks."""
    facts = found.facts
    if facts.in_memory:
        part.caveats.append(
            f"The files of the storage score were in a file system in memory "
            f"({facts.filesystem}), not on a device."
        )
    elif facts.reads_from and facts.reads_from != ANOTHER_NODE:
        part.caveats.append(_one_node(facts))
    if facts.in_memory or (facts.reads_from and facts.reads_from != ANOTHER_NODE):
        part.doubts.append(
            "The storage score was measured on one node, whose memory may serve files."
        )
    if 0.0 < facts.seconds < OFFICIAL_SECONDS:
        part.caveats.append(
            f"Each phase of the storage score wrote for {format_duration(facts.seconds)}; the "
            f"rules of IO500 require {OFFICIAL_SECONDS:.0f} s, which exceed caches "
            f"(seconds={OFFICIAL_SECONDS:.0f})."
        )
    if facts.limited:
        names = listed([metric_name(name) for name in facts.limited])
        part.caveats.append(
            f"Before the time of the storage score had passed, {names} had written as much as "
            "the free space or the number of files allows: free some space, or set space=… and "
            "files=…."
        )
    name = min(facts.slowest, key=lambda each: facts.slowest[each], default="")
    if name and facts.slowest[name] < _UNEVEN:
        part.caveats.append(
            f"When the time of {metric_name(name)} had passed, the slowest rank had written "
            f"{format_share(facts.slowest[name])} of the fastest rank's data."
        )


def _one_node(facts: Io500Facts) -> str:
    """What memory can serve although each rank reads what another one wrote."""
    share = facts.from_cache
    served = (
        "It is unknown how much of the data the page cache served"
        if share is None
        else f"The page cache served {format_share(share)} of the bytes read"
        if share > _CACHED
        else "The data that were read came from the device"
    )
    fits = facts.memory_share
    size = (
        f" They were {format_share(fits)} of its memory."
        if fits is not None and fits < _FITS_INTO_MEMORY
        else ""
    )
    return (
        f"The storage score was measured on one node. {served}, but memory can serve names, sizes "
        f"and directories, which a program can't drop.{size}"
    )


def _limits(facts: Io500Facts) -> str:
    where = (
        f"The storage score was measured in {facts.directory} ({facts.filesystem}). "
        if facts.directory and facts.filesystem
        else ""
    )
    return (
        f"{where}The device's limit is unknown, and caches of servers and devices can't be dropped."
    )
