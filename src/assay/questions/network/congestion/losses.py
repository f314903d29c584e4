"""What load costs an application: the shares of its calls, and the ratios of the victims' means.

If a share f of the quiet run time passes in calls that load makes r times as long in the mean, the
run takes 1 + f (r - 1) times as long. Shares of several kinds of calls add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.model.demand import CallDemand, ProgramDemand
from assay.questions.common.selection import Point, chosen_worst
from assay.questions.network.congestion.impacts import Impact
from assay.units import Interval

# The functions that a victim stands for. Waits count for messages, though they also complete
# non-blocking collectives.
CALLS: dict[str, tuple[str, ...]] = {
    "allreduce": ("Allreduce", "Iallreduce", "Barrier", "Ibarrier"),
    "alltoall": (
        "Alltoall", "Alltoallv", "Alltoallw", "Ialltoall", "Ialltoallv", "Ialltoallw",
    ),
    "halo": (
        "Sendrecv", "Sendrecv_replace", "Isend", "Irecv", "Wait", "Waitall", "Waitany", "Waitsome",
        "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw", "Neighbor_allgather",
        "Neighbor_allgatherv",
    ),
    "pingpong": ("Send", "Ssend", "Rsend", "Bsend", "Recv", "Mrecv"),
}  # fmt: skip
_VICTIM_OF = {function: victim for victim, functions in CALLS.items() for function in functions}
# A call's message may differ from the victim's by this factor without a remark.
ALIKE = 8.0
# Share of the run time of the general statement.
EXAMPLE = 0.1


@dataclass(frozen=True)
class VictimLoss:
    """What the worst aggressor costs calls like one victim."""

    #: The impact with the largest ratio of means.
    impact: Impact
    #: The ratio of means, with an interval that allows for the choice of the aggressor.
    mean: Point

    def lost(self, share: float) -> tuple[float, Interval | None]:
        """What it adds to the run time if this share of it passes in such calls, with its 95%
        interval, both as shares of the quiet run time.
        """
        ends = self.mean.metric.ci95
        added = None if ends is None else (share * (ends[0] - 1.0), share * (ends[1] - 1.0))
        return share * (self.mean.metric.median - 1.0), added


@dataclass(frozen=True)
class CallLoss:
    """What load costs the calls of a profiled program that one victim stands for."""

    #: The victim.
    victim: str
    #: The aggressor with the largest ratio of means.
    aggressor: str
    #: Names of the functions, without ``MPI_``.
    functions: tuple[str, ...]
    #: Their share of the run time, 0 to 1.
    share: float
    #: Mean bytes of a call, of the calls that send data; None without any.
    bytes: float | None
    #: Size of the victim's message, bytes.
    measured_bytes: int
    #: What load adds to the run time, as a share of it.
    lost: float
    #: 95% interval of ``lost``.
    lost_ci95: Interval | None

    @property
    def alike(self) -> bool:
        """Whether the messages have about the size of the victim's."""
        if self.bytes is None:
            return True
        one, other = max(self.bytes, 1.0), max(float(self.measured_bytes), 1.0)
        return max(one, other) <= ALIKE * min(one, other)


@dataclass(frozen=True)
class ProgramLoss:
    """What load costs a profiled program."""

    #: Command that was profiled.
    command: str
    #: Loss by victim, the largest first.
    calls: tuple[CallLoss, ...]
    #: Share of the run time in calls that no measured victim stands for.
    other: float
    #: What load adds to the run time: the sum over ``calls``.
    lost: float
    #: The sums of the ends of their 95% intervals; None if one has no interval.
    lost_ci95: Interval | None
    #: Clause on why the profile is doubtful; "" if there is no reason.
    doubt: str


def victim_losses(strongest: Sequence[Impact]) -> tuple[VictimLoss, ...]:
    """The worst aggressor of each victim by the ratio of means; without the ratio, none."""
    found = []
    for victim in dict.fromkeys(impact.victim for impact in strongest):
        own = [(each, each.mean) for each in strongest if each.victim == victim]
        means = [mean for _, mean in own if mean is not None]
        if means:
            worst = chosen_worst(means)
            impact = next(each for each, mean in own if mean and mean.summary is worst.summary)
            found.append(VictimLoss(impact, worst))
    return tuple(found)


def program_loss(demand: ProgramDemand | None, losses: Sequence[VictimLoss]) -> ProgramLoss | None:
    """What load costs a program; None without a profile that lists its calls."""
    if demand is None or not demand.calls or not losses:
        return None
    calls: dict[str, list[CallDemand]] = {}
    for call in demand.calls:
        calls.setdefault(_VICTIM_OF.get(call.function, ""), []).append(call)
    found = []
    for loss in losses:
        own = calls.pop(loss.impact.victim, [])
        share = sum(call.share for call in own)
        if share <= 0.0:
            continue
        sending = [call for call in own if call.bytes > 0.0]
        count = sum(call.calls for call in sending)
        lost, interval = loss.lost(share)
        found.append(
            CallLoss(
                victim=loss.impact.victim,
                aggressor=loss.impact.aggressor,
                functions=tuple(call.function for call in own),
                share=share,
                bytes=sum(call.bytes * call.calls for call in sending) / count if count else None,
                measured_bytes=loss.impact.bytes,
                lost=lost,
                lost_ci95=interval,
            )
        )
    known = [each.lost_ci95 for each in found if each.lost_ci95 is not None]
    whole = (sum(low for low, _ in known), sum(high for _, high in known))
    return ProgramLoss(
        command=demand.command,
        calls=tuple(sorted(found, key=lambda each: -each.lost)),
        other=sum(call.share for rest in calls.values() for call in rest),
        lost=sum(each.lost for each in found),
        lost_ci95=whole if found and len(known) == len(found) else None,
        doubt=demand.doubt,
    )
