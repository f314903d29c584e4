"""The network of a traced run, estimated from the trace.

A message whose receiver waited for it takes 2 o + L + s G from the begin of the send to the end of
the receive (with a handshake 2 L more), and a collective among waiting ranks takes this once per
round of its algorithm. o is the mean time of short sends; L and G, which can't be negative, follow
from all others by non-negative least squares of relative deviations, weighted by the time that the
run spent on each size. Bytes that were sent right before a message through the same adapter go
first and count with the message, from the begin of the first of them. Calls that receive several
messages are used only if other calls don't separate L from G. They are assumed to have waited for
all bytes, which come through one adapter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.models.program.links import BETWEEN, WITHIN, LinkParameters, ProgramNetwork
from assay.models.program.schedules import schedule_of
from assay.models.program.waits import CAUSES, WaitStates, eager_sizes
from assay.trace.calls import ALL_TO_ALL, SENDS, blocking_form
from assay.trace.codes import coded
from assay.trace.matching import MatchedTrace

# Size in bytes up to which a send's own time is its overhead.
_SHORT = 4096
# If all messages have one size: from this size on, in bytes, their time counts as time of the
# bytes.
_LONG = 8192
# The most sends that are taken together.
_MOST_IN_BURST = 8
# A fitted line needs sizes that differ by at least this factor, up to at least this size in bytes:
# of a few bytes more, a longer time is chance.
_SPAN, _LEAST_LONG = 4.0, 1024


@dataclass(frozen=True)
class LinkEstimate:
    """A link as the trace shows it."""

    parameters: LinkParameters
    #: Number of messages and collectives; 0 if nothing shows the link.
    observations: int
    #: Whether sizes differ enough to separate latency from gap.
    separated: bool
    #: Median relative deviation from the fitted line.
    scatter: float
    #: Typical time of a message divided by the fitted one, at most 1. It is below 1 if some
    #: messages take much longer than most.
    typical: float = 1.0

    @property
    def quiet(self) -> LinkParameters:
        """The link as most messages find it."""
        of = self.parameters
        return LinkParameters(of.latency * self.typical, of.gap * self.typical, of.overhead)


@dataclass(frozen=True)
class CalibratedNetwork:
    """The links of a run. A link that the trace doesn't show has parameters 0."""

    within: LinkEstimate
    between: LinkEstimate

    @property
    def network(self) -> ProgramNetwork:
        """The links as costs of an execution graph."""
        return ProgramNetwork(self.within.parameters, self.between.parameters)

    @property
    def quiet(self) -> ProgramNetwork:
        """The same, between hosts without the messages that take much longer than most."""
        return ProgramNetwork(self.within.parameters, self.between.quiet)


@dataclass(frozen=True)
class _Observations:
    """Times (s) that are ``latencies`` L + ``bytes`` G + ``overheads`` o."""

    seconds: Floats
    latencies: Floats
    bytes: Floats
    overheads: Floats

    def and_(self, other: _Observations) -> _Observations:
        return _Observations(
            np.concatenate([self.seconds, other.seconds]),
            np.concatenate([self.latencies, other.latencies]),
            np.concatenate([self.bytes, other.bytes]),
            np.concatenate([self.overheads, other.overheads]),
        )

    def part(self, which: npt.NDArray[np.bool_]) -> _Observations:
        return _Observations(
            self.seconds[which], self.latencies[which], self.bytes[which], self.overheads[which]
        )


def calibrate(matched: MatchedTrace, waits: WaitStates) -> CalibratedNetwork:
    """The links that a trace shows."""
    hosts = np.unique(np.array(matched.trace.hosts), return_inverse=True)[1]
    limits = [sizes.limit for sizes in eager_sizes(matched)]
    estimates = []
    for link in (WITHIN, BETWEEN):
        single, several = _messages(matched, waits, hosts, link, limits[link])
        every = single.and_(_meetings(matched, hosts, link))
        overhead = _overhead(matched, hosts, link, limits[link])
        estimate = _fit(every, overhead)
        if not estimate.separated and len(several.seconds):
            estimate = _fit(every.and_(several), overhead)
        estimates.append(estimate)
    return CalibratedNetwork(*estimates)


def _overhead(matched: MatchedTrace, hosts: Ints, link: int, eager: int) -> float:
    flat, of = matched.flat, matched.messages
    near = hosts[flat.rank[of.send]] == hosts[flat.rank[of.receive]]
    limit = min(_SHORT, eager)
    plain = flat.is_one_of(frozenset(SENDS - {"Sendrecv", "Sendrecv_replace", "Ssend"}))
    short = (near == (link == WITHIN)) & (of.size <= limit) & plain[of.send]
    times = flat.end[of.send[short]] - flat.begin[of.send[short]]
    return float(np.mean(times)) if len(times) else 0.0


def _messages(
    matched: MatchedTrace, waits: WaitStates, hosts: Ints, link: int, eager: int
) -> tuple[_Observations, _Observations]:
    """Calls that received one message, and calls that received several."""
    flat, of = matched.flat, matched.messages
    waited = np.zeros(len(flat.begin), dtype=np.int64) - 1
    late = waits.cause == CAUSES.index("late sender")
    waited[waits.event[late]] = waits.late[late]
    near = hosts[flat.rank[of.send]] == hosts[flat.rank[of.receive]]
    use = (near == (link == WITHIN)) & (waited[of.received_in] == of.send)
    call = of.received_in
    number = np.bincount(call, minlength=len(flat.begin))[call[use]]
    # For a Waitall, all bytes that arrived in it.
    size = np.bincount(call, weights=of.size, minlength=len(flat.begin))[call[use]]
    handshake = of.size[use] > eager
    came = flat.end[call[use]]
    began = flat.begin[of.send[use]]
    size, overheads = size.astype(float), 1.0 + number
    if link == BETWEEN:
        alone = number == 1
        first, before, sends = _burst(matched, hosts, np.flatnonzero(use)[alone], came[alone])
        began[alone] = first
        size[alone] += before
        overheads[alone] += sends
    every = _Observations(came - began, 1.0 + 2.0 * handshake, size, overheads)
    return every.part(number == 1), every.part(number > 1)


def _burst(
    matched: MatchedTrace, hosts: Ints, which: Ints, came: Floats
) -> tuple[Floats, Floats, Floats]:
    """For each message: the begin of the sends right before it through its host's adapter, their
    bytes, and their number.

    These bytes go first, whether or not a receive waits for them. Sends belong together if the
    adapter had no pause. At a constant rate until the last message arrived, the adapter was then
    still busy with earlier messages when the next one began.
    """
    flat, of = matched.flat, matched.messages
    begin, host = flat.begin[of.send], hosts[flat.rank[of.send]]
    far = host != hosts[flat.rank[of.receive]]
    order = np.flatnonzero(far)
    order = order[np.lexsort((begin[order], host[order]))]
    place = np.empty(len(far), dtype=np.int64)
    place[order] = np.arange(len(order))
    at = place[which]
    own, began = of.size[which].astype(float), begin[which]
    following = began
    bytes_, sends = np.zeros(len(which)), np.zeros(len(which))
    together = np.ones(len(which), dtype=bool)
    for back in range(1, _MOST_IN_BURST):
        one = order[np.maximum(at - back, 0)]
        earlier = begin[one]
        whole = own + bytes_ + of.size[one]
        busy = of.size[one] / np.maximum(whole, 1.0) * (came - earlier)
        together &= (at >= back) & (host[one] == host[which]) & (following - earlier <= busy)
        if not together.any():
            break
        began = np.where(together, earlier, began)
        bytes_ += np.where(together, of.size[one], 0)
        sends += together
        following = earlier
    return began, bytes_, sends


def _meetings(matched: MatchedTrace, hosts: Ints, link: int) -> _Observations:
    """All-to-all collectives of ranks that are all on one host, or all on different hosts."""
    flat = matched.flat
    sent = np.concatenate([rank.events.sent for rank in flat.trace.ranks])
    columns: list[list[Floats]] = [[], [], [], []]
    for group in matched.collectives:
        places = hosts[group.members]
        alone = len(np.unique(places)) == len(places)
        together = len(np.unique(places)) == 1
        if len(places) < 2 or not (together if link == WITHIN else alone):
            continue
        names = np.array([blocking_form(name) for name in flat.trace.functions])
        function = names[flat.function[group.events[:, 0]]]
        for name in np.intersect1d(np.unique(function), list(ALL_TO_ALL)):
            rows = group.events[function == name]
            if (flat.completed_in[rows] != rows).any():
                continue
            schedule = schedule_of(str(name), len(places), 0)
            if schedule is None:
                continue
            steps = max(schedule.steps, key=len)
            size = np.maximum(sent[rows], 0).max(axis=1).astype(float)
            ones = np.ones(len(rows))
            columns[0].append(flat.end[rows].max(axis=1) - flat.begin[rows].max(axis=1))
            columns[1].append(ones * len(steps))
            columns[2].append(size * sum(step.share for step in steps))
            columns[3].append(ones * 2 * len(steps))
    return _Observations(*(np.concatenate(c) if c else np.empty(0) for c in columns))


def _kinds(keys: Floats) -> tuple[Floats, Ints]:
    """The distinct columns of a table, and the index of each column among them."""
    code = np.zeros(keys.shape[1], dtype=np.int64)
    rows = []
    for row in keys:
        values, which = coded(row)
        code = code * len(values) + which
        rows.append(values)
    found, which = coded(code)
    columns = []
    for values in reversed(rows):
        columns.append(values[found % len(values)])
        found = found // len(values)
    return np.stack(columns[::-1]), which


def _fit(of: _Observations, overhead: float) -> LinkEstimate:
    from scipy.optimize import nnls

    positive = of.seconds > 0.0
    keys = np.stack([of.latencies, of.bytes, of.overheads])[:, positive]
    seconds = of.seconds[positive]
    if not len(seconds):
        return LinkEstimate(LinkParameters(0.0, 0.0, overhead), 0, False, 0.0)
    kinds, which = _kinds(keys)
    counts = np.bincount(which)
    order = np.argsort(which, kind="stable")
    parts = np.split(seconds[order], np.cumsum(counts)[:-1])
    # Use means, because the run time is a sum: rare long times are part of it.
    typical = np.array([float(np.mean(part)) for part in parts])
    spent = np.array([float(part.sum()) for part in parts])
    # The fit must be right for the sizes that the run spent most time on.
    weight = np.sqrt(spent / spent.sum()) / typical
    per_latency = kinds[1] / kinds[0]
    longest = float(per_latency.max())
    separated = longest >= max(_SPAN * max(float(per_latency.min()), 1.0), _LEAST_LONG)
    matrix = np.stack([kinds[0], kinds[1]], axis=1)
    if not separated:  # the time is all latency or all gap
        matrix[:, 1 if np.median(per_latency) < _LONG else 0] = 0.0
    rest = np.maximum(typical - kinds[2] * overhead, 0.0)
    solution, _ = nnls(matrix * weight[:, None], rest * weight)
    latency, gap = (float(value) for value in solution)
    modelled = kinds[0] * latency + kinds[1] * gap + kinds[2] * overhead
    ratios = seconds[order] / np.repeat(np.maximum(modelled, 1e-12), counts)
    return LinkEstimate(
        LinkParameters(latency, gap, overhead), len(seconds), separated,
        float(np.median(np.abs(ratios - 1.0))),
        min(_weighted_median(ratios, np.repeat(modelled, counts)), 1.0),
    )  # fmt: skip


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, 0.5 * sums[-1])])
