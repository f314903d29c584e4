"""Where the time of the NAS Parallel Benchmarks goes: computing, and each kind of communication."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.benchmarks import TITLES
from assay.answers.scaling import curves, phase_shares, phases_of
from assay.answers.select import Point, placement_text
from assay.report.marks import Row, Spec, colour, data_fields, listed, scaled_fields, tooltip
from assay.report.model import Datum, Field, Figure
from assay.stats.model import CellSummary
from assay.units import counted


def phase_figure(cells: Sequence[CellSummary], kernel: str) -> Figure | None:
    """Where the time of a benchmark's largest class goes: bars of phases over core counts."""
    known = [
        curve
        for curve in curves(cells, kernel)
        if any(phase_shares(point.summary) for point in curve.points.values())
    ]
    if not known:
        return None
    curve = known[0]
    title = f"NPB {TITLES[kernel]} class {curve.size}"
    rows = [row for count, point in curve.points.items() for row in phase_rows(point, cores=count)]
    x: Spec = {
        "field": "cores",
        "title": "processes" if curve.processes else "cores",
        "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 6},
    }
    most = phase_shares(curve.points[curve.most].summary)
    return Figure(
        id=f"{kernel.replace('.', '-')}-phases",
        title=f"{title}: where the time goes",
        caption="Mean over ranks. Communication holds the waiting for others too.",
        alt=f"Stacked bars of the share of {listed(phases_among(rows))} in the time of {title}; on "
        f"{counted(curve.most, 'core')} computing takes {most.get('compute', 0.0):.0%}.",
        fields=[Field("cores", "", "cores in use"), *PHASE_FIELDS],
        rows=rows,
        spec=phase_spec(rows, x),
        width="half",
    )


PHASE_FIELDS = [
    Field("placement", "", "ranks and threads"),
    Field("phase", "", "what the ranks did"),
    Field("share", "", "of the sum of all phases"),
    *data_fields("s"),
]


def phase_rows(point: Point, **fields: Datum) -> list[Row]:
    """A row a phase of a cell, with further fields that say which cell it is."""
    shares = phase_shares(point.summary)
    where = placement_text(point.summary.cell.placement)
    rows: list[Row] = []
    for name, metric in phases_of(point.summary).items():
        low, high = metric.ci95 or (None, None)
        rows.append(
            {
                **fields,
                "placement": where,
                "phase": name,
                "share": shares.get(name),
                "median": metric.median,
                "low": low,
                "high": high,
                "launches": metric.n,
            }
        )
    return rows


def phases_among(rows: Sequence[Row]) -> list[str]:
    """The phases of these rows, in their order."""
    return list(dict.fromkeys(str(row["phase"]) for row in rows))


def phase_spec(rows: Sequence[Row], x: Spec) -> Spec:
    """Stacked bars of phases along ``x``, each bar a whole."""
    return {
        "height": 240,
        "transform": [
            {"calculate": f"indexof({phases_among(rows)!r}, datum.phase)", "as": "order"},
            *scaled_fields(1.0),
        ],
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"type": "ordinal", "scale": {"paddingInner": 0.3, "paddingOuter": 0.2}, **x},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "share of the time",
                "axis": {"format": "%", "tickCount": 5},
                "scale": {"domain": [0, 1]},
            },
            "color": colour("phase", rows),
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [
                *tooltip([("phase", "phase"), ("placement", "placement")], "s"),
                {"field": "share", "type": "quantitative", "title": "share", "format": ".3p"},
            ],
        },
    }
