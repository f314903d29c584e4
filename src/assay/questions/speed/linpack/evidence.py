"""Linpack's rows of evidence."""

from __future__ import annotations

from assay.models.half_performance import HalfOrder
from assay.questions.common.answer import Evidence
from assay.questions.common.selection import Point, evidence, labeller, scaled
from assay.questions.speed.arithmetic.peak import bound_of
from assay.questions.speed.linpack.findings import LimitedRate, LinpackFindings
from assay.questions.speed.linpack.results import order_of
from assay.questions.speed.linpack.shares import ONE_NODE, THEORETICAL_PEAK, Price, RmaxShare
from assay.units import counted

# How N½ was determined, with the orders that it depends on.
_HALF_NOTES = {
    "interpolated": "measured: interpolated between N = {} and {}",
    "met": "measured: N = {} reaches exactly half",
    "extrapolated": "extrapolated: the smallest measured order, N = {}, reaches more than half",
    "bounded": "upper bound: the smallest measured order, N = {}, reaches more than half",
}


def linpack_rows(found: LinpackFindings) -> list[Evidence]:
    """Rmax against each limit, N½, the price, and the best rates on other cores and toolchains."""
    rmax, label = found.rmax, labeller(found.measured)
    settings = settings_text(rmax)
    peak = found.share(THEORETICAL_PEAK)
    rows = [
        evidence(
            f"Linpack Rmax, N = {found.nmax:,}, {counted(rmax.cores, 'core')}",
            rmax,
            "rate",
            limit=peak.of if peak else None,
            limit_source=peak.source if peak else None,
            note=f"{label(rmax)}; {settings}" if settings else label(rmax),
            bound=bound_of(rmax, peak.of) if peak else "",
        ),
        *(
            _against(rmax, share)
            for share in found.shares
            if share.name not in (THEORETICAL_PEAK, ONE_NODE)
        ),
    ]
    if found.half is not None:
        rows.append(_half_row(found, found.half))
    node = found.share(ONE_NODE)
    if node is not None:
        rows.append(_over_node(rmax, node))
    if found.price is not None:
        rows.append(_price_row(rmax, found.price))
    return [*rows, *(_other(one, label(one.point)) for one in found.others)]


def settings_text(point: Point) -> str:
    """``NB 192, 1 × 2, broadcast ring, swap spread``: the settings of a result."""
    settings = []
    if point.parameter("nb"):
        settings.append(f"NB {point.parameter('nb')}")
    rows = point.parameter("p")
    if isinstance(rows, int) and rows > 0:
        columns = point.summary.cell.placement.ranks // rows
        settings.append(f"{rows} × {columns}")
        # A single column of processes broadcasts no panel; a single row swaps rows locally.
        used = {"broadcast": columns > 1, "swap": rows > 1}
        settings += [
            f"{name} {point.parameter(name)}"
            for name, matters in used.items()
            if matters and point.parameter(name) not in (None, "auto")
        ]
    if point.parameter("depth") == 0:
        settings.append("no look-ahead")
    return ", ".join(settings)


def _against(rmax: Point, share: RmaxShare) -> Evidence:
    """Rmax against a measured limit; the interval of the share is the interval of the ratio."""
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
        bound="measured",
    )


def _over_node(rmax: Point, share: RmaxShare) -> Evidence:
    nodes = rmax.summary.cell.placement.nodes
    return Evidence(
        label="Linpack Rmax over one node's rate",
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


def _half_row(found: LinpackFindings, half: HalfOrder) -> Evidence:
    orders = half.between or (half.at_most or 0,)
    how = "met" if len(set(orders)) < len(orders) else half.how
    return Evidence(
        label=f"Linpack N½{'' if half.how == 'interpolated' else f' ({half.how})'}",
        metric="half_order",
        unit="order",
        value=half.order,
        ci95=half.interval,
        cells=[point.summary.id for point in found.curve.values()],
        note=_HALF_NOTES[how].format(*(f"{order:,}" for order in orders)),
    )


def _price_row(rmax: Point, price: Price) -> Evidence:
    cost = f"{counted(price.nodes, 'node')} for {price.system:,.0f} {price.currency}"
    return Evidence(
        label="Price per Gflop/s",
        metric="price",
        unit=price.unit,
        value=price.value,
        ci95=price.interval,
        cells=[rmax.summary.id],
        note=cost.rstrip(),
    )


def _other(one: LimitedRate, where: str) -> Evidence:
    return evidence(
        f"Linpack N = {order_of(one.point):,}, {counted(one.point.cores, 'core')}",
        one.point,
        "rate",
        limit=one.peak.rate if one.peak else None,
        limit_source=one.peak.source if one.peak else None,
        note=where,
        bound=bound_of(one.point, one.peak.rate) if one.peak else "",
    )
