"""The answer on the NAS Parallel Benchmarks: official Mop/s, rates per core, scaling, limits."""

from __future__ import annotations

from assay.kernels.naming import kernel_name, placement_text
from assay.kernels.npb.own_code import OWN_CODE
from assay.questions.common.parts import Growth, Part
from assay.questions.common.selection import evidence, labeller, quantity_text
from assay.questions.common.speedups import POOR_EFFICIENCY, Speedup, speedup_row
from assay.questions.speed.benchmarks.codes import CodeScaling
from assay.questions.speed.benchmarks.findings import (
    BenchmarksFindings,
    CacheEffect,
    ClassFindings,
    ScalingLoss,
)
from assay.questions.speed.benchmarks.scaling import Curve
from assay.units import capitalised, counted, format_memory, format_share, listed

_CACHE_EFFECT = "Edmundsson et al. (2004), 5.5; Luecke, Li & Cuma (2005), 4.1"
_NOT_THE_MACHINE = "Judge the machine by the plain code, which scales like users' codes."
_CHECK_CORES = (
    "check for a clock rate that falls under load, hardware threads that share a core, and memory "
    "bandwidth (`assay run memory`)."
)
# Load of each benchmark in addition to the cores (Bailey et al., RNR-94-007, and the NPB 2 report).
_LOADS = {
    "npb.ep": "hardly uses memory or network, so its scaling shows the cost of sharing a chip",
    "npb.cg": "gathers from memory at random",
    "npb.mg": "streams through memory on grids of all sizes, with near and distant neighbours",
    "npb.ft": "transposes its whole array between all ranks",
    "npb.is": "exchanges all its keys between all ranks",
    "npb.lu": "passes many small messages along a wavefront, in which ranks wait for each other",
    "npb.bt": "solves along lines through all ranks, with the most arithmetic per message",
    "npb.sp": "solves along lines through all ranks, with less arithmetic per message",
}


def part(found: BenchmarksFindings) -> Part | None:
    """The part on the NPB; None if only candidates of a placement search measured them.

    The limit of a parallel run is perfect scaling: the rate on the fewest measured cores times the
    ratio of the core counts. The share of this limit is the parallel efficiency.
    """
    measured = [benchmark for benchmark in found.benchmarks if benchmark.classes]
    if not measured:
        return None
    part = Part()
    for benchmark in measured:
        # The largest class provides the headline: the smallest may fit in cache.
        for number, one in enumerate(benchmark.classes):
            _add(part, one, leads=number == 0)
        leading = benchmark.classes[0]
        curve, speedups = leading.scaling.curve, leading.scaling.speedups
        part.headline.append(curve.points[curve.most])
        if speedups:
            part.growth.append(Growth(benchmark.title, speedups[-1]))
        if leading.loss is not None:
            _add_loss(part, leading, leading.loss, speedups[-1])
    part.method = [
        f"NPB {listed([b.title for b in measured])} (Bailey et al., RNR-94-007): {OWN_CODE}. The "
        "timed part of the benchmark is measured and verified against the official values. The "
        "rate counts the official operations; the code executes fewer or more (flop/s done)."
    ]
    loads = [f"{b.title} {_LOADS[b.kernel]}" for b in measured if b.kernel in _LOADS]
    part.limits.append(f"Loads of the NPB in addition to the cores: {'; '.join(loads)}.")
    return part


def _add(part: Part, one: ClassFindings, *, leads: bool) -> None:
    """The evidence on one class: all core counts if it leads, else the fewest and the most."""
    curve, title = one.scaling.curve, one.scaling.title
    counts = list(curve.points) if leads else [curve.few, curve.most]
    shown = [curve.points[count] for count in dict.fromkeys(reversed(counts))]
    rows = [(point, counted(point.cores, "core")) for point in shown]
    if one.threaded is not None:  # in addition to processes without threads
        rows.append((one.threaded, placement_text(one.threaded.summary.cell.placement)))
    rows += [(point, counted(point.cores, "core")) for point in one.rivals]
    label = labeller([point for point, _ in rows])
    for point, where in rows:
        each = quantity_text(point.metric.median / point.cores, "op/s")
        note = label(point) + ("" if point.cores == 1 else f"; {each} per core")
        if one.per_operation is not None:
            flops = quantity_text(point.metric.median * one.per_operation, "flop/s")
            note += f"; {flops} done"
        if one.rivals:
            where = f"{where}, {point.summary.cell.toolchain}"
        part.evidence.append(evidence(f"{title}, {where}", point, "rate", note=note))
    effect = one.cache_effect
    # The speedup on the most cores, and the best superlinear one.
    speedups = [*one.scaling.speedups[-1:]]
    if effect is not None and effect.best not in speedups:
        speedups.append(effect.best)
    for speedup in speedups:
        above = effect is not None and speedup.most.cores in effect.counts
        note = "parallel efficiency" + (", superlinear" if above else "")
        part.evidence.append(speedup_row(title, speedup, note=note))
    if effect is not None:
        part.limits.append(_cache_effect(one, effect))
    if one.codes is not None:
        part.evidence.append(
            speedup_row(f"{title}, plain code", one.codes.plain, note="parallel efficiency")
        )
        if one.codes.differ:
            part.limits.append(_codes(one, one.codes))


def _of(curve: Curve, count: int) -> str:
    """``8 processes``, or cores where ranks had several threads."""
    return counted(count, "process" if curve.processes else "core")


def _codes(one: ClassFindings, codes: CodeScaling) -> str:
    """The sentence on codes that scale differently."""
    curve = one.scaling.curve
    few, most = codes.tuned.few.cores, codes.tuned.most.cores
    return (
        f"{one.scaling.title} is {codes.tuned.value:.2f} times as fast on {_of(curve, most)} as "
        f"on {_of(curve, few)}, and {codes.plain.value:.2f} times with plain code: the code "
        "causes the difference, not the machine, and users' codes scale like plain code."
    )


def _of_plain(codes: CodeScaling) -> str:
    """A clause on the plain code as evidence of the cause of poor scaling."""
    plain = codes.plain
    share = format_share(plain.efficiency, plain.efficiency_interval)
    if _scales_well(plain):
        return f"plain code reaches {share}: the code is the cause, not the machine"
    return f"plain code reaches {share}{', too' if plain.poor else ''}"


def _scales_well(plain: Speedup) -> bool:
    """Whether the efficiency certainly is not poor."""
    return plain.compared(equal=POOR_EFFICIENCY * plain.perfect).direction == "more"


def _cache_effect(one: ClassFindings, effect: CacheEffect) -> str:
    """The sentence on a speedup above perfect scaling, and on whether caches account for it."""
    curve, best = one.scaling.curve, effect.best
    each = "process" if curve.processes else "core"
    others = len(effect.counts) - 1
    also = f"; it is also superlinear on {counted(others, 'other count')}" if others else ""
    superlinear = (
        f"{one.scaling.title} is superlinear: on {_of(curve, best.most.cores)} each {each} reaches "
        f"{format_share(best.efficiency, best.efficiency_interval)} of its rate on "
        f"{_of(curve, curve.few)}{also}. "
    )
    fit = effect.fit
    if fit is not None:
        return superlinear + (
            f"With at least {_of(curve, fit.count)}, the {format_memory(fit.data)} of a process "
            f"fit into its share of the L{fit.level} caches ({format_memory(fit.share)}), so "
            f"fewer loads go to memory: the cache effect of {_CACHE_EFFECT}."
        )
    if not effect.sizes_known:
        return superlinear + (
            "Data that begin to fit into the caches of more cores have this effect "
            f"({_CACHE_EFFECT}); the sizes of data per process and of caches are unknown here."
        )
    return superlinear + (
        "The data that a process allocates don't begin to fit into any cache at these counts. "
        f"Either their most used part begins to fit ({_CACHE_EFFECT}), or the rate on "
        f"{_of(curve, curve.few)} was low for another reason."
    )


def _add_loss(part: Part, one: ClassFindings, loss: ScalingLoss, speedup: Speedup) -> None:
    """Sentences on why the parallel efficiency on the most cores is poor, and on what to do.

    The code comes first, since users run a different one.
    """
    curve = one.scaling.curve
    title, where = kernel_name(curve.kernel), counted(curve.most, "core")
    share = format_share(speedup.efficiency, speedup.efficiency_interval)
    reason, action = _cause(loss)
    code = f"the code is assay's own ({loss.code})" if loss.code else ""
    codes = one.codes
    compared = codes is not None and codes.tuned == speedup
    if code and codes is not None and compared:
        code += f"; {_of_plain(codes)}"
    if reason or code:
        part.limits.append(
            f"{one.scaling.title} reaches {share} of perfect scaling on {_of(curve, curve.most)}: "
            f"{'; '.join(filter(None, (code, reason)))}."
        )
    # If the plain code scales well, the machine is not the cause.
    settled = compared and codes is not None and _scales_well(codes.plain)
    other = "" if compared else ": NASA's code may scale differently"
    # The limits describe the differences of the code.
    named = code if compared else "the code is assay's own"
    first = f"{capitalised(named)}{other}. " if code else ""
    if speedup.compared().direction == "less":
        part.advice.append(
            f"{title} is slower on {where} than on {curve.few}. {first}"
            + (
                _NOT_THE_MACHINE
                if settled
                else f"{'Then, ranks' if code else 'Ranks'} may have shared cores with each other "
                "or with other processes, or waited for each other most of the time."
            )
        )
    elif curve.kernel == "npb.ep":
        part.advice.append(
            f"EP reaches only {share} of perfect scaling on {where}, although its ranks share "
            "almost nothing: check for ranks on two hardware threads of one core, a clock rate "
            "that falls "
            "under load, steal time, or a container's CPU quota."
        )
    else:
        part.advice.append(
            f"{title} reaches only {share} of perfect scaling on {where}. {first}"
            f"{_NOT_THE_MACHINE if settled else capitalised(action)}"
        )


def _cause(loss: ScalingLoss) -> tuple[str, str]:
    """The cause of the lost time ("" if unknown), and what to do."""
    phases, stream = loss.phases, loss.stream
    share = format_share(phases.communication) if phases is not None else ""
    if loss.cause == "communication" and phases is not None:
        largest = phases.largest_communication
        return (
            f"communication, including waiting for other ranks, takes {share} of the time (the "
            f"largest part is {largest}, {format_share(phases.shares[largest])})",
            "its ranks wait for messages and for each other. A larger problem, or threads instead "
            "of ranks, needs less communication per operation.",
        )
    if stream is not None:
        also = f", and communication takes only {share} of the time" if phases is not None else ""
        return (
            f"memory bandwidth: STREAM on {counted(stream.cores, 'core')} has "
            f"{stream.ratio:.2f} times the bandwidth of {counted(stream.base, 'core')}{also}",
            "its cores wait for memory. Use more nodes with fewer cores each for such codes.",
        )
    if phases is not None:
        little = f"communication takes only {share} of the time"
        if not loss.slower:
            return little, _CHECK_CORES
        return (
            f"{little}; computing itself is slower on each core",
            f"computing is slower on each core when all are busy. {capitalised(_CHECK_CORES)}",
        )
    return (
        "",
        "its ranks wait for memory or for each other; STREAM in the same run (`assay run memory`) "
        "would distinguish the two.",
    )
