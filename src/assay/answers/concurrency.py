"""Many talking at once: what each pair keeps of a lone pair's bandwidth, each sender of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.answers.messages import blocking
from assay.answers.model import Evidence
from assay.answers.select import Interval, Part, Point, placement_text, points, ratio, scaled
from assay.plans.model import Placement
from assay.stats.model import CellSummary, MetricSummary
from assay.units import counted, format_share, format_size

MULTI = "network.multi_pingpong"
CONCURRENT = "network.concurrent"

# Edmundsson et al. (2004), 5.2: of eight pairs at once the slowest got roughly this of one alone.
KEPT_BY_SETH = 0.9
# Sends share something where all at once take at least this many times as long as one alone.
SHARING = 1.1

# What decides whether two cells ran alike: toolchain, adapter, and whether nodes were crossed.
_Path = tuple[str, str | None, bool]


@dataclass(frozen=True)
class Crowd:
    """Pairs at once at one placement: by message size, all their metrics, and a pair alone.

    ``alone``: ping-pong of two ranks over the same path, for the sizes that were measured.
    """

    placement: Placement
    toolchain: str
    pairs: int
    cells: dict[int, CellSummary]
    alone: dict[int, CellSummary]


@dataclass(frozen=True)
class Senders:
    """Sends at once from one node: the cells by number of senders and message size."""

    placement: Placement
    toolchain: str
    cells: dict[int, dict[int, CellSummary]]

    @property
    def most(self) -> int:
        """The greatest number of senders that was measured."""
        return max(self.cells)

    def slowdowns(self, senders: int) -> dict[int, tuple[float, Interval | None]]:
        """Time of so many senders over that of one by message size: Luecke et al., figure 9."""
        one, many = self.cells.get(1, {}), self.cells.get(senders, {})
        return {
            size: ratio(many[size].metrics["time"], one[size].metrics["time"])
            for size in sorted(one.keys() & many.keys())
        }


def concurrency_part(cells: Sequence[CellSummary]) -> Part | None:
    """What ``network.multi_pingpong`` and ``network.concurrent`` tell; None if they tell nothing.

    Headline: at the largest message of each placement the slowest pair, and the slowest of the most
    senders.
    """
    part = Part()
    crowds, senders = crowds_of(cells), senders_of(cells)
    remarks = [_add_crowd(part, crowd) for crowd in crowds]
    remarks += [_add_senders(part, group) for group in senders]
    if crowds:
        part.method.append(
            "Pairs at once: blocking ping-pong of all pairs, started together, the same number of "
            "trips each; slowest and fastest pair of each sample (after Edmundsson et al. 2004, "
            "figure 2)."
        )
    if senders:
        part.method.append(
            "Sends at once: ranks of one node each send to a rank of another, every message "
            "acknowledged by an empty one; the slowest sender counts (after Luecke, Li & Cuma "
            "2005, 4.3)."
        )
    part.remark = "; ".join(remark for remark in remarks if remark)
    return part if part.evidence else None


def crowds_of(cells: Sequence[CellSummary]) -> list[Crowd]:
    """Every placement at which pairs talked at once, the most pairs first."""
    alone = _pairs_alone(cells)
    groups: dict[tuple[Placement, str, str], dict[int, CellSummary]] = {}
    for point in points(cells, MULTI, "time"):
        cell = point.summary.cell
        group = (cell.placement, cell.toolchain, str(point.parameter("pairing")))
        groups.setdefault(group, {})[number(point, "bytes")] = point.summary
    crowds = []
    for (placement, toolchain, pairing), found in groups.items():
        path = _path(next(iter(found.values())), list(_pairs(placement.ranks, pairing)))
        lone = {size: alone[path, size] for size in found if path and (path, size) in alone}
        crowds.append(Crowd(placement, toolchain, placement.ranks // 2, found, lone))
    return sorted(crowds, key=lambda crowd: -crowd.pairs)


def _pairs_alone(cells: Sequence[CellSummary]) -> dict[tuple[_Path, int], CellSummary]:
    """Blocking ping-pong by path and message size, where the fewest other ranks waited."""
    found: dict[tuple[_Path, int], CellSummary] = {}
    for point in blocking(cells, "latency"):
        path = _path(point.summary, _ends(point))
        if path is None:
            continue
        key = (path, number(point, "bytes"))
        ranks = point.summary.cell.placement.ranks
        if key not in found or ranks < found[key].cell.placement.ranks:
            found[key] = point.summary
    return found


def senders_of(cells: Sequence[CellSummary]) -> list[Senders]:
    """Every placement at which one node's ranks sent at once, the most senders first."""
    groups: dict[tuple[Placement, str], dict[int, dict[int, CellSummary]]] = {}
    for point in points(cells, CONCURRENT, "time"):
        cell = point.summary.cell
        by_senders = groups.setdefault((cell.placement, cell.toolchain), {})
        by_size = by_senders.setdefault(number(point, "senders"), {})
        by_size[number(point, "bytes")] = point.summary
    made = [Senders(placement, name, found) for (placement, name), found in groups.items()]
    return sorted(made, key=lambda group: -group.most)


def sharing_from(slowdowns: dict[int, tuple[float, Interval | None]]) -> int | None:
    """The smallest message from which on all sizes take ``SHARING`` times as long, or longer."""
    found = None
    for size in sorted(slowdowns, reverse=True):
        value, interval = slowdowns[size]
        if (interval[0] if interval else value) < SHARING:
            break
        found = size
    return found


def _add_crowd(part: Part, crowd: Crowd) -> str:
    """Evidence of one crowd at its largest and smallest message; the remark."""
    where = placement_text(crowd.placement)
    name = f"{counted(crowd.pairs, 'pair')} at once"
    sized = [size for size, cell in crowd.cells.items() if "min_bandwidth" in cell.metrics]
    remark = ""
    if sized:
        size = max([size for size in sized if size in crowd.alone] or sized)
        cell = crowd.cells[size]
        lone = _point(crowd.alone.get(size), "bandwidth")
        rows = [
            _kept(f"{name}, {format_size(size)}, {which} pair", cell, metric, lone, where)
            for which, metric in (("slowest", "min_bandwidth"), ("fastest", "max_bandwidth"))
            if metric in cell.metrics
        ]
        part.evidence += rows
        part.headline.append(Point(cell, cell.metrics["min_bandwidth"]))
        shares = [row.share for row in rows if row.share is not None]
        if shares:
            remark = (
                f"of {counted(crowd.pairs, 'pair')} at once each keeps {_range(shares)} of a lone "
                f"pair's bandwidth ({format_size(size)})"
            )
            if crowd.pairs > 1 and shares[0] < KEPT_BY_SETH:
                part.advice.append(_advice_for_pairs(crowd, rows[0]))
    if crowd.alone:
        size = min(crowd.alone)
        cell, single = crowd.cells[size], crowd.alone[size]
        part.evidence.append(
            _slowdown(
                f"{name}, {format_size(size)}, slowest pair",
                cell.metrics["time"],
                single.metrics["latency"],
                [cell.id, single.id],
                f"{where}; latency over that of a pair alone",
            )
        )
    return remark


def _add_senders(part: Part, group: Senders) -> str:
    """Evidence of one node's senders, one against all; the remark."""
    most, where = group.most, placement_text(group.placement)
    slowdowns = group.slowdowns(most)
    if most == 1 or not slowdowns:
        return ""
    size = max(slowdowns)
    one, many = group.cells[1][size], group.cells[most][size]
    name = f"{most} senders at once, {format_size(size)}"
    if "bandwidth_each" in many.metrics and "bandwidth_each" in one.metrics:
        lone = Point(one, one.metrics["bandwidth_each"])
        part.evidence += [
            _kept(f"{name}, slowest sender", many, "bandwidth_each", lone, where, "one sender"),
            _kept(
                f"{name}, together", many, "bandwidth", lone, where, f"{most} × one sender", most
            ),
        ]
        part.headline.append(Point(many, many.metrics["bandwidth_each"]))
    else:
        part.headline.append(Point(many, many.metrics["time"]))
    part.evidence.append(
        _slowdown(name, many.metrics["time"], one.metrics["time"], [many.id, one.id], where)
    )
    value = slowdowns[size][0]
    begins = sharing_from(slowdowns)
    took = f"{most} senders take {value:.2f} times as long as one at {format_size(size)}"
    if begins is None:
        return f"{took}: they hardly hinder each other" if value < SHARING else took
    part.advice.append(
        f"From {format_size(begins)} on, messages that {most} ranks of a node send at once share "
        f"{_shared(group.placement)}; smaller ones hardly do. Codes whose ranks all send "
        "large messages at the same time gain by fewer ranks a node, or by sending in turns."
    )
    return f"{took}, and share from {format_size(begins)} on"


def _kept(
    label: str,
    cell: CellSummary,
    metric: str,
    lone: Point | None,
    note: str,
    alone: str = "one pair",
    times: int = 1,
) -> Evidence:
    """A bandwidth beside ``times`` that of one alone, if that was measured."""
    found = cell.metrics[metric]
    share, interval = ratio(found, lone.metric) if lone else (None, None)
    return Evidence(
        label=label,
        metric=metric,
        unit=found.unit,
        value=found.median,
        ci95=found.ci95,
        limit=lone.metric.median * times if lone else None,
        limit_source=f"{alone} alone, measured in this run" if lone else None,
        share=None if share is None else share / times,
        share_ci95=scaled(interval, 1 / times),
        cells=[cell.id, *([lone.summary.id] if lone else [])],
        note=note,
    )


def _slowdown(
    label: str, above: MetricSummary, below: MetricSummary, cells: list[str], note: str
) -> Evidence:
    """A time over that of one alone; 1 is none the slower."""
    value, interval = ratio(above, below)
    return Evidence(
        label=label,
        metric="slowdown",
        unit="",
        value=value,
        ci95=interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=cells,
        note=note,
    )


def _advice_for_pairs(crowd: Crowd, slowest: Evidence) -> str:
    assert slowest.share is not None
    return (
        f"When all of {crowd.pairs} pairs talk, the slowest keeps "
        f"{format_share(slowest.share, slowest.share_ci95)} of a lone pair's bandwidth "
        f"(Edmundsson et al. 2004 found roughly {KEPT_BY_SETH:.0%}): they share "
        f"{_shared(crowd.placement)}. Judge codes that exchange large messages from every rank at "
        "once by this number, not by a lone pair's."
    )


def _shared(placement: Placement) -> str:
    return "the way out of the node" if placement.nodes > 1 else "the node's memory and cores"


def _range(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"


def _point(cell: CellSummary | None, metric: str) -> Point | None:
    return Point(cell, cell.metrics[metric]) if cell and metric in cell.metrics else None


def number(point: Point, name: str) -> int:
    """A parameter that is a whole number; 0 if the cell hasn't got it."""
    value = point.parameter(name)
    return int(value) if isinstance(value, (int, float)) else 0


def _ends(point: Point) -> list[tuple[int, int]]:
    last = point.summary.cell.placement.ranks - 1
    to = point.parameter("to")
    return [(number(point, "from"), last if to in (None, -1) else number(point, "to"))]


def _pairs(ranks: int, pairing: str) -> Iterator[tuple[int, int]]:
    half = ranks // 2
    for i in range(half):
        yield (2 * i, 2 * i + 1) if pairing == "neighbours" else (i, i + half)


def _path(summary: CellSummary, pairs: Iterable[tuple[int, int]]) -> _Path | None:
    """What pairs of a cell go through; None if some cross nodes and others don't."""
    placement = summary.cell.placement
    crossed = {_node_of(a, placement) != _node_of(b, placement) for a, b in pairs}
    if len(crossed) != 1:
        return None
    return summary.cell.toolchain, placement.adapter, crossed.pop()


def _node_of(rank: int, placement: Placement) -> int:
    """The number of a rank's node; in reversed order nodes count from the other end."""
    return rank % placement.nodes if placement.order == "cyclic" else rank // placement.ppn
