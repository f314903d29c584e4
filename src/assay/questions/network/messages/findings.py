"""Findings on messages between two ranks, from ping-pong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.models.network.minimum import MissingData
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio, ratio_of
from assay.questions.common.selection import Point, points, scaled
from assay.questions.network.messages.message_limits import LinkLimit, message_limit
from assay.questions.network.messages.sweeps import KERNEL, MIN_SIZES, MessageSweep, Reach, sweeps
from assay.questions.network.messages.tuning import threshold_variable
from assay.questions.network.parameters import message_bytes
from assay.records.model import RunData
from assay.stats.compare.directions import Comparison, compared
from assay.stats.core.model import CellSummary
from assay.units import Interval

if TYPE_CHECKING:
    from assay.models.network.message_model import ParameterEstimate

# Ratio of times at or above which, or below whose inverse, a comparison is part of the verdict.
_NOTABLE = 1.1


@dataclass(frozen=True)
class SweepComparison:
    """A sweep against the leading sweep of its reach."""

    #: Sweep that is compared.
    sweep: MessageSweep
    #: ``name``, ``lead_name``: names of both sweeps, by the differences between them.
    name: str
    lead_name: str
    #: ``smallest``, ``largest``: time over the lead's time at the smallest and at the largest size
    #: that both have. None if there is no such size, or if one of the sweeps is not ``one_way``.
    #: ``largest`` is also None if it is the smallest size.
    smallest: Ratio | None
    largest: Ratio | None
    #: Whether the ratio at the largest size is at least 1.1 or at most 1/1.1, with the same kernel
    #: parameters and a range that excludes 1.
    notable: bool


@dataclass(frozen=True)
class ReachFindings:
    """Messages at one distance between ranks."""

    #: Distance: between nodes, within a node or within a core.
    reach: Reach
    #: Leading sweep.
    lead: MessageSweep
    #: Limit of the bandwidth; None if unknown.
    limit: LinkLimit | None
    #: Best bandwidth of the leading sweep over the limit.
    share: float | None
    #: 95% interval of the share.
    share_ci95: Interval | None
    #: Variable of the MPI library that sets the size at which the protocol changes; None if
    #: unknown.
    threshold_variable: str | None
    #: Other sweeps, compared with the leading one.
    others: tuple[SweepComparison, ...]
    #: Whether the fitted asymptotic bandwidth exceeds a strict limit, so that the model has none.
    #: An interval that only extends beyond such a limit is cut off there.
    above_limit: bool = False

    def compared(self, equal: float) -> Comparison:
        """Whether the share of the limit is above or below ``equal`` beyond its range."""
        assert self.share is not None and self.lead.widest is not None
        launches = self.lead.widest.metric.n
        return compared(self.share, self.share_ci95, launches=launches + 1, equal=equal)


@dataclass(frozen=True)
class MessageGap:
    """Gap g of LogGP: the inverse of the highest message rate of the smallest messages."""

    #: Message rate, in messages per second.
    point: Point
    #: Message size, in bytes.
    bytes: int
    #: Gap g, in s.
    seconds: float
    #: 95% interval of the gap, in s.
    ci95: Interval | None


@dataclass(frozen=True)
class PingpongFindings:
    """Ping-pong of a run."""

    #: Results of each reach, the longest distance first.
    reaches: tuple[ReachFindings, ...]
    #: Gap between messages; None without a message rate of several messages in flight.
    gap: MessageGap | None
    #: Whether any sweep has at least three sizes.
    swept: bool

    @property
    def sweeps(self) -> list[MessageSweep]:
        """All sweeps: the longest distance first, and the lead of each reach before the others."""
        return [
            sweep
            for found in self.reaches
            for sweep in (found.lead, *(other.sweep for other in found.others))
        ]

    @property
    def missing(self) -> tuple[MissingData, ...]:
        """The data that are missing for the methods that were not applied to a leading sweep."""
        return tuple(lack for found in self.reaches for lack in found.lead.missing)


def find(measured: Measured) -> PingpongFindings | None:
    """Findings on ping-pong; None if no usable cell measured it."""
    found = sweeps(measured.cells, measured.run)
    if not found:
        return None
    return PingpongFindings(
        reaches=tuple(
            _reach_findings(
                [sweep for sweep in found if sweep.reach == reach], measured.cells, measured.run
            )
            for reach in dict.fromkeys(sweep.reach for sweep in found)
        ),
        gap=_gap(measured.cells),
        swept=any(len(sweep.sizes) >= MIN_SIZES for sweep in found),
    )


def _reach_findings(
    found: Sequence[MessageSweep], cells: Sequence[CellSummary], run: RunData
) -> ReachFindings:
    lead, *others = found
    limit = message_limit(lead, cells, run)
    rate = lead.widest.metric if lead.widest else None
    permitted = _permitted(lead, limit)
    return ReachFindings(
        reach=lead.reach,
        lead=permitted,
        limit=limit,
        share=rate.median / limit.bandwidth if rate and limit else None,
        share_ci95=scaled(rate.ci95, 1 / limit.bandwidth) if rate and limit else None,
        threshold_variable=threshold_variable(lead, run),
        others=tuple(_compare(other, lead, len(others)) for other in others),
        above_limit=_bandwidth_of(lead) is not None and _bandwidth_of(permitted) is None,
    )


def _bandwidth_of(sweep: MessageSweep) -> ParameterEstimate | None:
    return sweep.model.bandwidth if sweep.model else None


def _permitted(sweep: MessageSweep, limit: LinkLimit | None) -> MessageSweep:
    """The sweep, without its asymptotic bandwidth if that exceeds a strict limit."""
    from assay.models.network.message_model import ParameterEstimate

    model, found = sweep.model, _bandwidth_of(sweep)
    if model is None or found is None or limit is None or not limit.strict:
        return sweep
    low, high = found.ci95 or (found.value, found.value)
    most = limit.bandwidth
    if max(found.value, high) <= most:
        return sweep
    if low > most:
        return replace(sweep, model=replace(model, bandwidth=None, half_size=None))
    bounded = ParameterEstimate(min(found.value, most), (low, most) if found.ci95 else None)
    return replace(sweep, model=replace(model, bandwidth=bounded))


def _compare(other: MessageSweep, lead: MessageSweep, others: int) -> SweepComparison:
    """A comparison at the smallest and at the largest size that both have, one of ``others``."""
    name, lead_name = _distinguish(other, lead)
    common = [size for size in lead.sizes if size in other.sizes]
    comparable = common and other.one_way and lead.one_way
    smallest, largest = (
        ratio_of(other.at(size), lead.at(size)) if comparable else None
        for size in (min(common, default=0), max(common, default=0))
    )
    if len(common) == 1:
        largest = None
    return SweepComparison(
        sweep=other,
        name=name,
        lead_name=lead_name,
        smallest=smallest,
        largest=largest,
        # Other modes of sending are compared in the evidence, but not in the verdict.
        notable=largest is not None
        and other.extra == lead.extra
        and not _NOTABLE > largest.value > 1 / _NOTABLE
        and largest.compared(comparisons=others).direction != "open",
    )


def _distinguish(one: MessageSweep, other: MessageSweep) -> tuple[str, str]:
    """Names of two sweeps, by the differences between them."""

    def differences(sweep: MessageSweep, rest: MessageSweep) -> list[str]:
        parts = [
            f"{name}={value}" for name, value in sweep.extra if (name, value) not in rest.extra
        ]
        if sweep.toolchain != rest.toolchain:
            parts.insert(0, sweep.toolchain)
        if sweep.placement.adapter != rest.placement.adapter:
            parts.insert(0, sweep.placement.adapter or "the library's default adapter")
        return parts

    own, its = differences(one, other), differences(other, one)
    if not own and not its:
        return one.name, other.name
    return " ".join(own) or "the blocking ping-pong", " ".join(its) or "the blocking ping-pong"


def _gap(cells: Sequence[CellSummary]) -> MessageGap | None:
    rates = points(cells, KERNEL, "rate")
    if not rates:
        return None
    size = min(map(message_bytes, rates))
    point = max((p for p in rates if message_bytes(p) == size), key=lambda p: p.metric.median)
    interval = point.metric.ci95
    return MessageGap(
        point=point,
        bytes=size,
        seconds=1 / point.metric.median,
        ci95=None if interval is None else (1 / interval[1], 1 / interval[0]),
    )
