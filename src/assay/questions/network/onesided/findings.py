"""Findings on one-sided communication: against messages, by synchronisation, in windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.models.network.minimum import ONE_SIDED, MissingData
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, points
from assay.questions.network.against import against, lacking
from assay.questions.network.parameters import integer, message_bytes
from assay.questions.speed.messages import blocking

KERNEL = "network.one_sided"
STREAM = "network.stream"
# The synchronisation that others are compared with.
FLUSH = "flush"


@dataclass(frozen=True)
class OneSidedFindings:
    """One-sided communication of a run."""

    #: The smallest operation that is measured alone (window of 1), with flush if there is one; None
    #: if only windows were measured.
    head: Point | None
    #: Each operation with a window of 1, smallest sizes first.
    single: tuple[Point, ...]
    #: Time of an operation with flush, alone, over half a round trip of a message of the same size
    #: between the same ranks.
    messages: tuple[Ratio, ...]
    #: Time with another synchronisation over the time with flush.
    synchronisations: tuple[Ratio, ...]
    #: Bandwidth of a window of puts or gets over the bandwidth of a window of as many messages.
    windows: tuple[Ratio, ...]
    #: Data that the comparisons lack.
    missing: tuple[MissingData, ...]

    @property
    def comparisons(self) -> int:
        """Number of ratios among which the answer may choose."""
        return len(self.messages) + len(self.synchronisations) + len(self.windows)


def find(measured: Measured) -> OneSidedFindings | None:
    """Findings on one-sided communication; None if no usable cell measured it."""
    found = sorted(points(measured.cells, KERNEL, "time"), key=message_bytes)
    if not found:
        return None
    single = [point for point in found if integer(point, "window") == 1]
    flushed = [point for point in single if synchronisation(point) == FLUSH]
    messages = _over(flushed, blocking(measured.cells, "latency"))
    synchronised = against(found, "sync", FLUSH)
    windows = _windows(measured)
    return OneSidedFindings(
        head=min(flushed or single, key=message_bytes) if single else None,
        single=tuple(single),
        messages=tuple(messages),
        synchronisations=tuple(synchronised),
        windows=tuple(windows),
        missing=lacking(ONE_SIDED, (*messages, *synchronised, *windows)),
    )


def operation(point: Point) -> str:
    """``put``, ``fetch_and_op``, …"""
    return str(point.parameter("op"))


def synchronisation(point: Point) -> str:
    """``flush``, ``lock`` or ``fence``."""
    return str(point.parameter("sync"))


def _windows(measured: Measured) -> list[Ratio]:
    """Bandwidths of puts and gets with flush over those of non-blocking messages."""
    several = [
        point
        for point in points(measured.cells, KERNEL, "bandwidth")
        if integer(point, "window") > 1
        and synchronisation(point) == FLUSH
        and operation(point) in ("put", "get")
    ]
    streams = [
        point
        for point in points(measured.cells, STREAM, "bandwidth")
        if point.parameter("mode") == "nonblocking"
        and point.parameter("direction") == "unidirectional"
        and point.parameter("buffers") == "one"
    ]
    return _over(several, streams)


def _over(found: Sequence[Point], others: Iterable[Point]) -> list[Ratio]:
    """Each point over the message of the same size, window, ranks and placement."""
    known = {_path(point): point for point in others if point.metric.median > 0}
    return [
        ratio_of(point, known[key])
        for point in found
        if point.metric.median > 0 and (key := _path(point)) in known
    ]


def _path(point: Point) -> tuple[object, ...]:
    cell = point.summary.cell
    return (
        *(cell.toolchain, cell.placement),
        *(message_bytes(point), integer(point, "window") or 1, integer(point, "from")),
        _last(point),
    )


def _last(point: Point) -> int:
    """The partner; -1 is the last rank."""
    to = integer(point, "to")
    return point.summary.cell.placement.ranks - 1 if to == -1 else to
