"""The part of the answer on the steadiest placement."""

from __future__ import annotations

from collections.abc import Iterator

from assay.kernels.naming import cell_name, where_text
from assay.questions.common.parts import Part
from assay.questions.placement.steadiest.findings import (
    LEAST_LAUNCHES,
    MARGIN,
    SteadiestFindings,
    SteadiestOfWork,
)
from assay.units import capitalised, format_probability, format_quantity, format_share

_METHOD = (
    "Steadiness: the steadiest placement is the one with the least 95th percentile of launches. "
    f"Only placements with at least {LEAST_LAUNCHES} launches are compared, on the same nodes, and "
    f"only if their mean is level with the fastest one: within {MARGIN:.0%}, or not known to "
    "differ by more. Its probability comes from resampled launches. It is named if a permutation "
    "test of the ratios shows that its CoV is below the CoV of each other one. The error is 1 in "
    "1,000 for all pairs."
)


def part(found: SteadiestFindings) -> Part:
    """The steadiest placement of each work, or why it is undecided."""
    return Part(
        advice=[_advice(one) for one in found.works if one.sure],
        limits=list(_limits(found)),
        method=[_METHOD],
        headline=[one.point for one in found.works],
        remark=f"{capitalised('; '.join(_remark(one) for one in found.works))}.",
    )


def _remark(one: SteadiestOfWork) -> str:
    name, chosen = cell_name(one.work), one.chosen
    if not one.sure:
        level = sum(each.level for each in one.placements)
        return f"{name}: the steadiness of {level} equally fast placements is not distinguishable"
    return f"{name}: the steadiest fast placement is {where_text(chosen.cell.placement)}"


def _advice(one: SteadiestOfWork) -> str:
    """``For steadiness: CG class S: 2 ranks per node …: 95% of the launches take …``."""
    chosen, fastest = one.chosen, one.fastest
    level = sum(each.level for each in one.placements)
    words = (
        f"For steadiness: {cell_name(one.work)}: {where_text(chosen.cell.placement)}: 95% of the "
        f"launches take at most {format_quantity(chosen.p95, 's', chosen.p95_ci95)}"
    )
    if chosen.cell != fastest.cell:
        words += (
            f", {format_quantity(fastest.p95, 's', fastest.p95_ci95)} on "
            f"{where_text(fastest.cell.placement)}, which has the least mean"
        )
    return (
        f"{words} (CoV {format_share(chosen.cov, chosen.cov_ci95)}; probability "
        f"{format_probability(chosen.least)} among {level} equally fast placements)."
    )


def _limits(found: SteadiestFindings) -> Iterator[str]:
    for one in found.works:
        if not one.sure:
            least = min(each.launches for each in one.placements if each.level)
            yield (
                f"{cell_name(one.work)}: of the equally fast placements "
                f"{where_text(one.chosen.cell.placement)} has the least 95th percentile, with a "
                f"probability of {format_probability(one.chosen.least)}. Either {least} launches "
                "are too few, or the placements are equally steady; more launches (`--launches`) "
                "would tell."
            )
