"""The loss of a placement compared with another by component, and its significant cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.kernels import known_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.models.placement.components import (
    BETWEEN,
    COMPONENTS,
    COMPUTE,
    CONTENTION,
    MESSAGES,
    WITHIN,
    Component,
)
from assay.models.placement.placed import NodeModel, message_seconds
from assay.models.placement.time_breakdown import Loss, Split, TimeEstimate
from assay.questions.common.findings import INTERNAL

# A component with a smaller share of the time is not reported as a cause.
MIN_CAUSE = 0.02
# A loss is small if its interval ends below this share of the time.
SMALL_LOSS = 0.10
# Ranks mainly wait if communication takes more than this many times its messages' ping-pong time.
_WAITING = 5.0


@dataclass(frozen=True)
class LossCause:
    """The cause of a loss."""

    #: Largest component of the loss.
    component: Component
    #: Part of the loss that the component causes, as a share of the placement's time.
    share: TimeEstimate
    #: Memory traffic while the work computes, as a share of STREAM's best rate.
    bandwidth: float | None = None
    #: For memory contention: computing time over computing time without contention.
    slowdown: float | None = None
    #: For messages: communication time over the ping-pong time of the messages if ranks mainly
    #: wait; else None.
    waiting: float | None = None


@dataclass(frozen=True, eq=False)
class TimeLoss:
    """Additional time of a placement compared with another one.

    If they use different numbers of cores, the other time is divided by the ratio of cores.
    """

    #: The placement that loses time.
    placement: Placement
    #: The placement that it is compared with.
    against: Placement
    #: The loss as a share of the placement's time.
    whole: TimeEstimate
    #: Part of each component in the loss, as a share of the placement's time.
    shares: Mapping[Component, TimeEstimate]
    #: Whether the interval of the whole loss ends below 10%.
    small: bool
    #: Component that is significantly the largest; None if there is none.
    leading: Component | None
    #: Cause that the leading component indicates; None if there is none.
    cause: LossCause | None
    #: Memory traffic while the work computes, as a share of STREAM's best rate; None if unknown or
    #: irrelevant.
    bandwidth: float | None
    #: NUMA domains per rank; None if unknown or irrelevant.
    domains: float | None
    #: Ids of all cells from which the loss was computed.
    cells: tuple[str, ...]
    loss: Loss = field(metadata=INTERNAL)


def time_loss(
    loss: Loss,
    placement: Placement,
    against: Placement,
    *,
    cause: LossCause | None = None,
    bandwidth: float | None = None,
) -> TimeLoss:
    """The loss of a placement as a finding; ``cause``: from ``cause_of``."""
    whole = loss.whole
    placed = loss.split.placed
    affinity = placed.affinity
    cells = [each.name for each in loss.split.compared_with]
    if loss.against.placed.name not in cells:
        cells += [each.name for each in loss.against.compared_with]
    return TimeLoss(
        placement=placement,
        against=against,
        whole=whole,
        shares={component: loss.share(component) for component in COMPONENTS},
        small=whole.ci95 is not None and whole.ci95[1] < SMALL_LOSS,
        leading=loss.leading(MIN_CAUSE),
        cause=cause,
        bandwidth=bandwidth if placed.threads == 1 else None,
        domains=affinity.domains_per_rank if placed.threads > 1 and affinity else None,
        cells=tuple(dict.fromkeys(cells)),
        loss=loss,
    )


def cause_of(
    loss: Loss,
    split: Split,
    cell: Cell,
    machine: NodeModel,
    *,
    bandwidth: float | None,
    crowded: bool,
) -> LossCause | None:
    """The cause of a loss at a plain placement (``split``); None if none is significant.

    Memory can be a cause only if the traffic (``bandwidth``) and the saturation curve are known and
    ranks did not share CPUs (``crowded``).
    """
    component = loss.leading(MIN_CAUSE)
    if component is None or component.cause is None:
        return None
    slowdown = waiting = None
    if component is CONTENTION:
        if crowded or bandwidth is None or machine.slowdown_at(split.placed) is None:
            return None
        slowdown = 1.0 + split.component(CONTENTION).value / split.component(COMPUTE).value
    if component in (WITHIN, BETWEEN, MESSAGES):
        waiting = _waiting(loss.split, cell, machine)
    share = loss.cause_share(component)
    return LossCause(component, share, bandwidth, slowdown, waiting)


def _waiting(split: Split, cell: Cell, machine: NodeModel) -> float | None:
    """Communication time over the ping-pong time of its messages; None if ranks don't mainly
    wait.
    """
    placed = split.placed
    alone = message_seconds(placed, machine)
    if not alone:
        return None
    kernel = known_kernel(cell.kernel)
    # Without point-to-point messages ranks use collectives, which need several rounds.
    rounds = 1 if kernel is None or kernel.peers is not None else (placed.ranks - 1).bit_length()
    spent = sum(split.component(component).value for component in (WITHIN, BETWEEN))
    return spent / alone if spent > _WAITING * rounds * alone else None
