"""Linpack's rows of evidence."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arithmetic import theoretical_peak
from assay.answers.linpack_data import Results, Share, by_cores, order_of, price, settings_text
from assay.answers.model import Evidence
from assay.answers.select import Point, evidence, labeller, rivals, scaled
from assay.models.half_performance import HalfOrder
from assay.records.model import RunData
from assay.units import counted


def linpack_rows(known: Results, told: Sequence[Share], run: RunData) -> list[Evidence]:
    """Rmax against each limit, N½, the price, and the best on other counts and toolchains."""
    rmax, label = known.rmax, labeller(known.found)
    settings = settings_text(rmax)
    where = f"{label(rmax)}; {settings}" if settings else label(rmax)
    peak = next((share for share in told if share.name == "peak"), None)
    name = f"Linpack Rmax, N = {known.nmax:,}, {counted(rmax.cores, 'core')}"
    made = [
        evidence(
            name,
            rmax,
            "rate",
            limit=peak.of if peak else None,
            limit_source=peak.source if peak else None,
            note=where,
        ),
        *(_against(rmax, share) for share in told if share.name not in ("peak", "one node")),
    ]
    if known.half is not None:
        made.append(_half_row(known, known.half))
    made += [_over_node(rmax, share) for share in told if share.name == "one node"]
    cost = price(known, run)
    if cost is not None:
        made.append(
            Evidence(
                label="Price of a Gflop/s",
                metric="price",
                unit=cost.unit,
                value=cost.value,
                ci95=cost.interval,
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[rmax.summary.id],
                note=f"{counted(cost.nodes, 'node')} for "
                f"{cost.system:,.0f} {cost.currency}".rstrip(),
            )
        )
    others = by_cores(known)
    for point in [p for p in reversed(others.values()) if p.cores != rmax.cores]:
        made.append(_other(point, label(point), run))
    made += [_other(rival, label(rival), run) for rival in rivals(known.found)]
    return made


def _against(rmax: Point, share: Share) -> Evidence:
    """Rmax against something measured: the share's interval is that of the ratio."""
    return Evidence(
        label=f"Linpack Rmax against {share.name}",
        metric="rate",
        unit="flop/s",
        value=rmax.metric.median,
        ci95=rmax.metric.ci95,
        limit=share.of,
        limit_source=share.source,
        share=share.value,
        share_ci95=share.interval,
        cells=share.cells,
    )


def _over_node(rmax: Point, share: Share) -> Evidence:
    nodes = rmax.summary.cell.placement.nodes
    return Evidence(
        label="Linpack Rmax over one node's",
        metric="speedup",
        unit="",
        value=share.value,
        ci95=share.interval,
        limit=float(nodes),
        limit_source="perfect scaling",
        share=share.value / nodes,
        share_ci95=scaled(share.interval, 1 / nodes),
        cells=share.cells,
        note=share.source,
    )


def _half_row(known: Results, half: HalfOrder) -> Evidence:
    notes = {
        "interpolated": "measured: interpolated between N = {} and {}",
        "met": "measured: N = {} has just half",
        "extrapolated": "extrapolated: the smallest order measured, N = {}, reaches more than half",
        "bounded": "at most this: the smallest order measured, N = {}, reaches more than half",
    }
    orders = half.between or (half.at_most or 0,)
    how = "met" if len(set(orders)) < len(orders) else half.how
    return Evidence(
        label=f"Linpack N½{'' if half.how == 'interpolated' else f' ({half.how})'}",
        metric="half_order",
        unit="order",
        value=half.order,
        ci95=half.interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[point.summary.id for point in known.curve.values()],
        note=notes[how].format(*(f"{order:,}" for order in orders)),
    )


def _other(point: Point, where: str, run: RunData) -> Evidence:
    limit = theoretical_peak(run, [point])
    return evidence(
        f"Linpack N = {order_of(point):,}, {counted(point.cores, 'core')}",
        point,
        "rate",
        limit=limit.rate if limit else None,
        limit_source=limit.source if limit else None,
        note=where,
    )
