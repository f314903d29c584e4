"""The answer on access to memory: latency per level, strides, random access, pages, NUMA."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.parts import Part
from assay.questions.common.ratios import Ratio, largest_ratio, range_text, ratio_row
from assay.questions.common.selection import evidence, quantity_text
from assay.questions.speed.memory.access import AccessFindings
from assay.questions.speed.memory.bandwidth import KERNEL as STREAM
from assay.questions.speed.memory.hierarchy import KERNEL as LATENCY
from assay.questions.speed.memory.hierarchy import MEMORY, working_set
from assay.reference.memory_access import RANDOM_RATIOS, SOURCE, STRIDED_RATIOS, SharedMemoryRatio
from assay.units import counted, format_quantity, format_size

# Least ratio at which Luecke, Li & Cuma call the loss from using all cores poor.
POOR = 1.5
# Largest ratio at which memory serves all cores without loss: "nearly perfect", as on their
# Opteron.
PERFECT = 1.05
# Least ratio of small over huge pages at which huge pages are recommended.
WORTH_HUGE_PAGES = 1.2
# A cache is shared or only partly assigned if its plateau ends below this part of its size.
SHORT = 0.5

_NUMA_TITLES = {STREAM: "STREAM", LATENCY: "Latency of a load"}
_PAGE_TITLES = {"update": "Random update", "load": "Latency of a load"}


def access_part(found: AccessFindings) -> Part:
    """The part on access. The remark is on the first kind of access that was measured."""
    part = Part()
    _latency(part, found)
    _strided(part, found)
    _random(part, found)
    _small_pages(part, found)
    _numa(part, found)
    return part


def _latency(part: Part, found: AccessFindings) -> None:
    for plateau in found.plateaus:
        size = plateau.level.size
        what = MEMORY if size is None else f"{plateau.level.name} cache of {format_size(size)}"
        part.evidence.append(
            evidence(
                f"Latency of a load, {what}",
                plateau.point,
                "latency",
                note=f"working set of {format_size(working_set(plateau.point))}; this level "
                f"serves sets of {format_size(plateau.first)} to {format_size(plateau.last)}",
            )
        )
        outermost = plateau is found.plateaus[-1]
        if size is not None and not outermost and 0 < plateau.last < SHORT * size:
            part.caveats.append(
                f"The {plateau.level.name} cache of {format_size(size)} serves only working sets "
                f"of up to {format_size(plateau.last)}: other cores or virtual machines share the "
                "cache, or only a part of it is assigned to this machine."
            )
    if found.plateaus:
        part.method.append(
            "Latency: dependent loads, one pointer per cache line, follow a random cycle through "
            "the working set, so that neither prefetch nor overlap hides them. The latency of a "
            "level is measured with the set nearest to the geometric mean of its size and the "
            "size of the level before."
        )
    main = found.main_memory
    if main is not None:
        time = format_quantity(main.point.metric.median, "s")
        part.headline.append(main.point)
        part.remark = f"a load from main memory takes {time}"
    if found.loaded is not None:
        busy = found.loaded.above
        part.evidence.append(
            ratio_row(
                f"Latency from main memory, {counted(busy.cores, 'core')} over 1",
                found.loaded,
                note=f"{format_quantity(busy.metric.median, 's')} per load",
            )
        )


def _strided(part: Part, found: AccessFindings) -> None:
    if not found.strided:
        return
    for op, ratios in found.strided.items():
        worst = largest_ratio(list(ratios.values()))
        note = f"at stride {worst.above.parameter('stride')}"
        if len(ratios) > 1:
            note += f", of strides {min(ratios)} to {max(ratios)}"
        part.evidence.append(
            ratio_row(
                f"Strided {op}, {counted(worst.above.cores, 'core')} over 1",
                worst,
                note=f"{note}; {_published(STRIDED_RATIOS[op])}",
            )
        )
    part.method.append(
        "Strided access: all ranks concurrently pass over every stride-th element of long "
        "arrays, after a flush of the caches and a barrier. The result is the slowest rank's "
        "time per access. The ratio is the time on all cores over the time on one; at a ratio of "
        "1 memory serves all cores without loss."
    )
    everything = [ratio for ratios in found.strided.values() for ratio in ratios.values()]
    _all_cores(part, largest_ratio(everything[::-1]))


def _all_cores(part: Part, worst: Ratio) -> None:
    """Remark and advice on using all cores, by the largest ratio over operations and strides."""
    cores = worst.above.cores
    part.headline += (worst.below, worst.above)
    compared = worst.compared()
    takes = {
        "more": f"takes up to {worst.value:.2f} times as long as on one core",
        "less": f"takes at most {worst.value:.2f} times as long as on one core",
        "open": "takes a time that is not distinguishable from the time on one core "
        f"({range_text(compared, worst.ci95)})",
    }
    if not part.remark:
        part.remark = f"on {cores} cores concurrently a strided access {takes[compared.direction]}"
    if worst.compared(equal=POOR).direction == "more":
        part.advice.append(
            f"With all {cores} cores in use, a strided access to memory takes up to "
            f"{worst.value:.2f} times as long as with one core: codes bound by memory may run "
            "faster with fewer ranks per node on more nodes, as on the Xeons of Luecke, Li & Cuma "
            "(2005)."
        )
    elif worst.compared(equal=PERFECT).direction == "less":
        ratio = quantity_text(worst.value, "", worst.ci95)
        part.advice.append(
            f"With all {cores} cores in use, a strided access takes {ratio} the time that it takes "
            "with one core: ranks on every core suit codes bound by memory, as on the Opterons of "
            "Luecke, Li & Cuma (2005)."
        )


def _random(part: Part, found: AccessFindings) -> None:
    for mode, access in found.random.items():
        top, note = access.rate, access.placement
        cores = counted(top.cores, "core")
        if mode == "update":
            note += f"; {top.metric.median / 1e9:.3g} GUPS, one table per rank"
            part.headline.append(top)
        if not part.remark:
            rate = quantity_text(top.metric.median, "op/s")
            part.remark = f"random {mode}s run at {rate} on {cores}"
        part.evidence.append(evidence(f"Random {mode}s, {cores}", top, "rate", note=note))
        if access.time is not None:
            published = RANDOM_RATIOS.get(mode)
            cores = counted(access.time.above.cores, "core")
            part.evidence.append(
                ratio_row(
                    f"Random {mode}s, time on {cores} over 1",
                    access.time,
                    note=_published(published) if published else "",
                )
            )
    if found.random:
        part.method.append(
            "Random access: each rank accesses a separate table, many times larger than the "
            "caches. Reads and writes go through an index array. Updates follow RandomAccess of "
            "HPC Challenge, except that its table takes half of the memory."
        )


def _small_pages(part: Part, found: AccessFindings) -> None:
    for what, cost in found.small_pages.items():
        part.evidence.append(
            ratio_row(
                f"{_PAGE_TITLES[what]}, small pages over huge",
                cost,
                note=counted(cost.above.cores, "core"),
            )
        )
    costs = list(found.small_pages.values())
    worst = largest_ratio(costs) if costs else None
    if worst is not None and worst.compared(equal=WORTH_HUGE_PAGES).direction == "more":
        part.advice.append(
            f"With small pages, random access takes up to {worst.value:.2f} times as long as "
            "with huge pages: use huge pages for codes that work on large data (transparent huge "
            "pages by `madvise` or `always`, or a library such as libhugetlbfs)."
        )


def _numa(part: Part, found: AccessFindings) -> None:
    for kernel, numa in found.numa.items():
        title, local, remote = _NUMA_TITLES[kernel], numa.local, numa.ratio.above
        metric = "bandwidth" if kernel == STREAM else "latency"
        time = format_quantity(remote.metric.median, remote.metric.unit)
        worse = "less" if kernel == STREAM else "more"
        clear = remote.among == 1 and numa.ratio.compared().direction == worse
        pairs = f"{'the slowest ' if clear else ''}of {counted(numa.pairs, 'pair')}"
        if remote.among > 1:
            pairs += f"; {remote.among} remote pairs are comparable"
        part.evidence += [
            evidence(
                f"{title}, memory of the local NUMA node",
                local,
                metric,
                note=counted(local.cores, "core"),
            ),
            ratio_row(
                f"{title}, memory of a remote NUMA node over the local one",
                numa.ratio,
                note=f"cores of node {numa.cores_node}, memory of node {numa.memory_node}: "
                f"{time}, {pairs}",
            ),
        ]
    if found.numa and not part.remark:
        part.remark = "local and remote NUMA memory were compared"


def _published(found: Sequence[SharedMemoryRatio]) -> str:
    return f"with 2 processors in 2005: {', '.join(map(str, found))} ({SOURCE})"
