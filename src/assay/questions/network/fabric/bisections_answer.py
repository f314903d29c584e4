"""The answer on bisections: the bandwidth of pairs across cuts against a single pair's."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Evidence
from assay.questions.common.gate import is_possible
from assay.questions.common.parts import Part
from assay.questions.network.fabric.bisections import BisectionCut, narrower_cut
from assay.reference.bisections import HELIX
from assay.units import counted, counted_verb, format_quantity, format_share, format_size

# Below this share of a single pair's bandwidth the bisection is the limit, not the nodes' links.
FULL_BISECTION = 0.8
# Names of the pairs of cuts other than the one between halves.
_PAIRINGS = {
    "random": "pairs drawn at random",
    "given": "pairs across the given cut",
    "best": "neighbours",
}


def bisections_part(cuts: Sequence[BisectionCut]) -> Part:
    """Evidence and advice on cuts; the remark names the worst cut or a narrower one."""
    part = Part()
    for found in cuts:
        part.evidence.append(_cut_row(found))
        if found.cut == "worst":
            part.headline.append(found.point)
        if found.share is None or found.single is None or found.cut == "best":
            continue
        # A share without an interval is evidence, but not part of the verdict.
        if found.share_ci95 is None or not is_possible(found.share, found.share_ci95, "measured"):
            continue
        share = format_share(found.share, found.share_ci95)
        if found.cut == "worst":  # the largest message comes last
            part.remark = (
                f"across the cut into halves a pair gets {share} of a single pair's bandwidth"
            )
        less = found.compared(FULL_BISECTION, len(cuts)).direction == "less"
        if less and found.point.summary.cell.placement.nodes > 1:
            part.advice.append(
                f"When {counted_verb(found.pairs, 'pair', 'exchange')} concurrently across the "
                f"{found.cut} "
                f"cut ({format_size(found.bytes)}), each gets {share} of {found.single.source}: "
                "codes with all-to-all exchanges scale worse than a single pair's bandwidth "
                "suggests."
            )
    if (narrower := narrower_cut(cuts)) is not None:
        _narrower(part, *narrower)
    _limit_of_processors(part, cuts)
    if cuts:
        part.method.append(
            "Bisection: each rank of one half exchanges with a rank of the other half, all "
            "concurrently. The bandwidth is the bytes both ways over the slowest pair's time. "
            "The worst cut pairs the first half of the nodes with the second, the best cut pairs "
            "neighbours."
        )
        part.published.append(
            f"{HELIX.cluster} ({HELIX.interconnect}) exchanged "
            f"{format_quantity(HELIX.both_ways, 'B/s')} per processor both ways across its "
            f"bisection ({HELIX.source})."
        )
    return part


def _narrower(part: Part, worst: BisectionCut, narrower: BisectionCut) -> None:
    """Advice and remark if another cut is slower than the one named worst."""
    rates = [format_quantity(cut.point.metric.median, "B/s") for cut in (narrower, worst)]
    which = _PAIRINGS[narrower.cut]
    part.advice.append(
        "The cut between the first and the second half of the nodes is not the worst here: "
        f"{which} exchanged {rates[0]}, pairs across that cut {rates[1]} "
        f"({format_size(worst.bytes)} each way). Either the order of the hosts doesn't follow the "
        f"switches, or routes lead several of these pairs over the same link. Expect {rates[0]} "
        "from irregular exchanges."
    )
    part.remark = (
        f"{which} exchange {rates[0]}, less than pairs across the cut into halves ({rates[1]})"
    )


def _limit_of_processors(part: Part, cuts: Sequence[BisectionCut]) -> None:
    """A sentence on ranks that share CPUs: processors limit their exchanges, too."""
    shared = [cut for cut in cuts if cut.shared_cpus and 2 * cut.pairs > cut.shared_cpus]
    if not shared:
        return
    most = max(shared, key=lambda cut: cut.point.metric.median)
    part.limits.append(
        f"The {2 * most.pairs} ranks share {counted(most.shared_cpus or 0, 'CPU')} of one "
        "machine, as in a virtual cluster, so the processors limit exchanges, too. No cut "
        f"exceeded {format_quantity(most.point.metric.median, 'B/s')}. The processors, not the "
        "network, limit rates near this one."
    )


def _cut_row(found: BisectionCut) -> Evidence:
    """The aggregate bandwidth against a single pair's bandwidth times the number of pairs."""
    metric, single = found.point.metric, found.single
    factor = found.pairs * single.ways if single else 0
    return Evidence(
        label=f"Bisection, {found.cut} cut, {format_size(found.bytes)}",
        metric="bandwidth",
        unit=metric.unit,
        value=metric.median,
        ci95=metric.ci95,
        limit=single.point.metric.median * factor if single else None,
        limit_source=f"{single.source}, times {factor}" if single else None,
        share=found.share,
        share_ci95=found.share_ci95,
        cells=[found.point.summary.id, *([single.point.summary.id] if single else [])],
        note=f"{counted(found.pairs, 'pair')}, {format_quantity(found.each, 'B/s')} per rank each "
        "way",
        bound="measured" if single else "",
    )
