"""The part of the answer on ratios between placements: evidence."""

from __future__ import annotations

from assay.kernels.naming import cell_name
from assay.kernels.npb.own_code import code_note
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.placement.ratios.findings import PlacementRatio, RatioFindings
from assay.units import counted

METHOD = (
    "Ratios compare performance: time at one rank per node over time at several. Their intervals "
    "include the uncertainty of both times."
)


def part(found: RatioFindings) -> Part:
    """A row of evidence for each ratio."""
    return Part(
        evidence=[
            _evidence(one) for work in found.works for one in (*work.same_nodes, *work.same_ranks)
        ],
        method=[METHOD, *_code_method(found)],
    )


def _code_method(found: RatioFindings) -> list[str]:
    """The source of the benchmarks' code, if a benchmark was measured."""
    note = code_note(point.summary.kernel for work in found.works for point in work.points)
    return [note] if note else []


def _evidence(found: PlacementRatio) -> Evidence:
    above, below = found.above.summary.cell, found.below.summary.cell
    where = counted(above.placement.nodes, "node")
    if above.placement.nodes == below.placement.nodes:
        compared = f"{above.placement.ppn} ranks per node over 1, {where}"
    else:
        compared = (
            f"{above.placement.ranks} ranks on {where} over {below.placement.nodes} nodes "
            f"({above.placement.ppn} per node over 1)"
        )
    return Evidence(
        label=f"{cell_name(above)}: {compared}",
        metric="performance ratio",
        unit="",
        value=found.value,
        ci95=found.interval,
        cells=[found.above.summary.id, found.below.summary.id],
    )
