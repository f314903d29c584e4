"""Findings on concurrent messages: many pairs against one, many senders against one, windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.model.placement import Placement
from assay.model.rank_order import seats_by_rank
from assay.models.network.minimum import SENDERS as SENDERS_MINIMUM
from assay.models.network.minimum import SHARES, MinimumData, MissingData
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, points, ratio, scaled
from assay.questions.network.parameters import integer, message_bytes
from assay.questions.speed.messages import blocking
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.model import CellSummary
from assay.units import Interval

PAIRS = "network.multi_pingpong"
SENDERS = "network.concurrent"
STREAM = "network.stream"

# Senders share a resource if all of them take at least this many times as long as a single one.
SHARING = 1.1

# What makes two cells comparable: toolchain, adapter, and whether messages cross nodes.
_Path = tuple[str, str | None, bool]


@dataclass(frozen=True)
class KeptBandwidth:
    """Bandwidth of concurrent pairs or senders against a single pair or sender."""

    #: The bandwidth, in B/s.
    point: Point
    #: Bandwidth of a single pair or sender; None if not measured.
    single: Point | None
    #: Factor on ``single``.
    times: int = 1
    #: ``point`` over ``times`` × ``single``.
    share: float | None = None
    #: 95% interval of the share.
    share_ci95: Interval | None = None

    def compared(self, equal: float, comparisons: int) -> Comparison:
        """Whether the share is above or below ``equal`` beyond its range."""
        assert self.share is not None and self.single is not None
        return compared(
            self.share,
            self.share_ci95,
            launches=self.point.metric.n + self.single.metric.n,
            comparisons=comparisons,
            equal=equal,
        )


@dataclass(frozen=True)
class ConcurrentPairs:
    """Ping-pong of several concurrent pairs at one placement."""

    #: ``placement``, ``toolchain``: of the cells.
    placement: Placement
    toolchain: str
    #: Number of pairs.
    pairs: int
    #: Cells by message size in bytes.
    cells: Mapping[int, CellSummary]
    #: Ping-pong of two ranks over the same path, by measured message size in bytes.
    alone: Mapping[int, CellSummary]
    #: Message size at which bandwidths are compared.
    bytes: int | None = None
    #: ``slowest``, ``fastest``: bandwidths of the slowest and the fastest pair at that size.
    slowest: KeptBandwidth | None = None
    fastest: KeptBandwidth | None = None
    #: Time of the slowest pair over the time of a single pair, at the smallest message of both.
    slowdown: Ratio | None = None


@dataclass(frozen=True)
class ConcurrentSenders:
    """Ranks of one node that send concurrently, each to a rank of another node."""

    #: ``placement``, ``toolchain``: of the cells.
    placement: Placement
    toolchain: str
    #: Largest number of senders that was measured.
    most: int
    #: Time of several senders over the time of one, by number of senders and by message size in
    #: bytes (Luecke et al. 2005, figure 9).
    slowdowns: Mapping[int, Mapping[int, Ratio]]
    #: Largest message that was measured both with the most senders and with a single one; None if
    #: there is none.
    bytes: int | None = None
    #: ``each``, ``together``: bandwidth of the slowest sender, and of all senders, at that size.
    each: KeptBandwidth | None = None
    together: KeptBandwidth | None = None
    #: Smallest message at and above which all sizes take at least 1.1 times as long as with one
    #: sender, beyond the range of their ratios.
    shared_from: int | None = None
    #: Largest message below ``shared_from`` down from which the 95% intervals of all ratios are
    #: below 1.1; None if there is none.
    unshared_to: int | None = None


@dataclass(frozen=True)
class MessageRates:
    """Message rates against windows."""

    #: The message size.
    bytes: int
    #: Window: number of messages in flight.
    windows: tuple[int, ...]
    #: Rates, in messages per second.
    points: tuple[Point, ...]


@dataclass(frozen=True)
class ConcurrencyFindings:
    """Effects of concurrent messages on each other."""

    #: Concurrent pairs by placement, the most pairs first.
    pairs: tuple[ConcurrentPairs, ...]
    #: Concurrent senders by placement, the most senders first.
    senders: tuple[ConcurrentSenders, ...]
    #: Rates of the smallest messages with several windows; None if there are none.
    rates: MessageRates | None
    #: Data that comparisons without an interval lack.
    missing: tuple[MissingData, ...] = ()


def find(measured: Measured) -> ConcurrencyFindings | None:
    """Findings on concurrent messages; None if nothing was measured."""
    pairs = tuple(concurrent_pairs(measured.cells))
    senders = tuple(concurrent_senders(measured.cells))
    found = ConcurrencyFindings(
        pairs=pairs,
        senders=senders,
        rates=_rates(measured.cells),
        missing=(
            *_missing(
                SHARES,
                [(one.slowest.point, one.slowest.single) for one in pairs if one.slowest],
            ),
            *_missing(
                SENDERS_MINIMUM,
                [
                    (times.above, times.below)
                    for one in senders
                    for times in one.slowdowns.get(one.most, {}).values()
                ],
            ),
        ),
    )
    return found if found.pairs or found.senders or found.rates else None


def _missing(
    method: MinimumData, compared: Iterable[tuple[Point, Point | None]]
) -> list[MissingData]:
    """The data that a comparison lacks, for the first pair of points with too few data."""
    for one, other in compared:
        lack = method.missing({1: one.metric.n, 2: other.metric.n}) if other else None
        if lack:
            return [lack]
    return []


def concurrent_pairs(cells: Sequence[CellSummary]) -> list[ConcurrentPairs]:
    """Concurrent pairs of every placement, the most pairs first."""
    alone = _pairs_alone(cells)
    groups: dict[tuple[Placement, str, str], dict[int, CellSummary]] = {}
    for point in points(cells, PAIRS, "time"):
        cell = point.summary.cell
        group = (cell.placement, cell.toolchain, str(point.parameter("pairing")))
        groups.setdefault(group, {})[message_bytes(point)] = point.summary
    found = []
    for (placement, toolchain, pairing), own in groups.items():
        path = _path(next(iter(own.values())), list(_pairs(placement.ranks, pairing)))
        single = {size: alone[path, size] for size in own if path and (path, size) in alone}
        found.append(
            _compared_pairs(
                ConcurrentPairs(placement, toolchain, placement.ranks // 2, own, single)
            )
        )
    return sorted(found, key=lambda pairs: -pairs.pairs)


def _compared_pairs(found: ConcurrentPairs) -> ConcurrentPairs:
    """Bandwidths at the largest message and time at the smallest, against a single pair."""
    sized = [size for size, cell in found.cells.items() if "min_bandwidth" in cell.metrics]
    if sized:
        size = max([size for size in sized if size in found.alone] or sized)
        single = _point(found.alone.get(size), "bandwidth")
        found = replace(
            found,
            bytes=size,
            slowest=_kept(_point(found.cells[size], "min_bandwidth"), single),
            fastest=_kept(_point(found.cells[size], "max_bandwidth"), single),
        )
    if found.alone:
        size = min(found.alone)
        cell, alone = found.cells[size], found.alone[size]
        slowdown = ratio_of(
            Point(cell, cell.metrics["time"]), Point(alone, alone.metrics["latency"])
        )
        found = replace(found, slowdown=slowdown)
    return found


def _pairs_alone(cells: Sequence[CellSummary]) -> dict[tuple[_Path, int], CellSummary]:
    """Blocking ping-pong by path and message size, from the cell with the fewest ranks."""
    found: dict[tuple[_Path, int], CellSummary] = {}
    for point in blocking(cells, "latency"):
        path = _path(point.summary, [_ends(point)])
        if path is None:
            continue
        key = (path, message_bytes(point))
        ranks = point.summary.cell.placement.ranks
        if key not in found or ranks < found[key].cell.placement.ranks:
            found[key] = point.summary
    return found


def concurrent_senders(cells: Sequence[CellSummary]) -> list[ConcurrentSenders]:
    """Concurrent senders of every placement, the most senders first."""
    groups: dict[tuple[Placement, str], dict[int, dict[int, CellSummary]]] = {}
    for point in points(cells, SENDERS, "time"):
        cell = point.summary.cell
        by_senders = groups.setdefault((cell.placement, cell.toolchain), {})
        by_size = by_senders.setdefault(integer(point, "senders"), {})
        by_size[message_bytes(point)] = point.summary
    found = [_compared_senders(*group, by_senders) for group, by_senders in groups.items()]
    return sorted(found, key=lambda senders: -senders.most)


def _compared_senders(
    placement: Placement, toolchain: str, cells: Mapping[int, Mapping[int, CellSummary]]
) -> ConcurrentSenders:
    """Times of several senders over the times of one; bandwidths at the largest message."""
    one, most = cells.get(1, {}), max(cells)
    slowdowns = {
        senders: {
            size: ratio_of(
                Point(many[size], many[size].metrics["time"]),
                Point(one[size], one[size].metrics["time"]),
            )
            for size in sorted(one.keys() & many.keys())
        }
        for senders, many in sorted(cells.items())
        if senders > 1
    }
    found = ConcurrentSenders(placement, toolchain, most, slowdowns)
    if not slowdowns.get(most):
        return found
    size = max(slowdowns[most])
    each = _point(cells[most][size], "bandwidth_each")
    together = _point(cells[most][size], "bandwidth")
    single = _point(one[size], "bandwidth_each")
    return replace(
        found,
        bytes=size,
        each=_kept(each, single) if single else None,
        together=_kept(together, single, most) if each and single else None,
        shared_from=sharing_from(slowdowns[most]),
        unshared_to=unshared_to(slowdowns[most]),
    )


def sharing_from(slowdowns: Mapping[int, Ratio]) -> int | None:
    """The smallest message at and above which all sizes take at least ``SHARING`` times as long.

    The range of each ratio counts, among all sizes. None if there is no such message, or no
    interval.
    """
    found = None
    for size in sorted(slowdowns, reverse=True):
        times = slowdowns[size].compared(comparisons=len(slowdowns), equal=SHARING)
        if times.direction != "more":
            break
        found = size
    return found


def unshared_to(slowdowns: Mapping[int, Ratio]) -> int | None:
    """The largest message at and below which no size takes ``SHARING`` times as long, by the 95%
    intervals; None if there is none.
    """
    found = None
    for size in sorted(slowdowns):
        ends = slowdowns[size].ci95
        if ends is None or ends[1] >= SHARING:
            break
        found = size
    return found


def _rates(cells: Sequence[CellSummary]) -> MessageRates | None:
    """Rates of the smallest messages that were sent with several windows; None without any."""
    found = points(cells, STREAM, "rate")
    windows: dict[int, set[int]] = {}
    for point in found:
        windows.setdefault(message_bytes(point), set()).add(integer(point, "window"))
    several = [size for size, of_size in windows.items() if len(of_size) > 1]
    if not several:
        return None
    size = min(several)
    return MessageRates(
        bytes=size,
        windows=tuple(sorted(windows[size])),
        points=tuple(point for point in found if message_bytes(point) == size),
    )


def _kept(point: Point | None, single: Point | None, times: int = 1) -> KeptBandwidth | None:
    if point is None or single is None:
        return None if point is None else KeptBandwidth(point, None, times)
    share, interval = ratio(point.metric, single.metric)
    return KeptBandwidth(point, single, times, share / times, scaled(interval, 1 / times))


def _point(cell: CellSummary | None, metric: str) -> Point | None:
    return Point(cell, cell.metrics[metric]) if cell and metric in cell.metrics else None


def _ends(point: Point) -> tuple[int, int]:
    """The two ranks of a ping-pong; -1 is the last rank."""
    last = point.summary.cell.placement.ranks - 1
    to = point.parameter("to")
    return integer(point, "from"), last if to in (None, -1) else integer(point, "to")


def _pairs(ranks: int, pairing: str) -> Iterator[tuple[int, int]]:
    half = ranks // 2
    for i in range(half):
        yield (2 * i, 2 * i + 1) if pairing == "neighbours" else (i, i + half)


def _path(summary: CellSummary, pairs: Iterable[tuple[int, int]]) -> _Path | None:
    """The path of a cell's pairs; None if only some pairs cross nodes."""
    placement = summary.cell.placement
    seats = seats_by_rank(placement.order, placement.nodes, placement.ppn)
    crossed = {seats[a][0] != seats[b][0] for a, b in pairs}
    if len(crossed) != 1:
        return None
    return summary.cell.toolchain, placement.adapter, crossed.pop()
