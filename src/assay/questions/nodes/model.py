"""What comparing nodes finds: each cell over nodes, each node over cells, the nodes suspected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from assay.kernels.naming import cell_title
from assay.model.cell import Cell
from assay.questions.nodes.diagnosis_rules import SlowCore
from assay.records.group import MemberState
from assay.stats.core.intervals import Floats, Interval
from assay.stats.core.model import CellSummary


@dataclass(frozen=True)
class MeasuredNode:
    """One node's summaries. ``name`` is its host's, with the member's number where two share it.

    ``costs``: by cell id, each launch's cost in seconds per unit of work, more is worse.
    ``covariates``: see ``covariates_of``. ``core``: the CPU furthest behind. ``kind``: the
    machine's properties that make it a kind of its own.
    """

    name: str
    member: int
    cells: Sequence[CellSummary]
    host: str | None = None
    costs: Mapping[str, Floats] = field(default_factory=dict)
    covariates: Mapping[str, float] = field(default_factory=dict)
    core: SlowCore | None = None
    kind: str = ""


class NodeValue(msgspec.Struct, frozen=True):
    """One cell on one node. ``node``: its name; ``member``: its number in the group.

    ``value``: the median over launches, in the metric's unit. ``gain``: how much better than the
    median node, relative; negative is worse. ``sigmas``: the same in robust standard deviations,
    null where nodes don't differ.
    """

    node: str
    member: int
    value: float
    gain: float
    sigmas: float | None


class CellByNode(msgspec.Struct, frozen=True):
    """One cell's metric over nodes.

    ``cell``, ``id``: the cell. ``metric``, ``unit``, ``better``: its headline metric. ``median``
    with its 95% interval ``ci95``, null under six: of the nodes. ``cov``: coefficient of variation
    between nodes. ``robust``: robust standard deviation over the median. ``values``: each node's,
    best first.
    """

    cell: Cell
    id: str
    metric: str
    unit: str
    better: str
    median: float
    ci95: tuple[float, float] | None
    cov: float | None
    robust: float
    values: list[NodeValue]

    @property
    def spread(self) -> float:
        """From the worst node to the best, relative to the median."""
        return self.values[0].gain - self.values[-1].gain

    @property
    def label(self) -> str:
        """The cell in words."""
        return cell_title(self.cell)


class NodeGain(msgspec.Struct, frozen=True):
    """One node over all cells. ``node``: its name; ``member``: its number in the group.

    ``cells``: how many it has. ``gain``: the median over cells of how much better it is than the
    median node, relative. ``worst``: the cell, in words, in which it is furthest behind, by
    ``worst_gain``.
    """

    node: str
    member: int
    cells: int
    gain: float
    worst: str
    worst_gain: float


class SuspectNode(msgspec.Struct, frozen=True):
    """One node that is slower than its kind (``how``: outlier) or gets slower (step, trend).

    ``node``: its name; ``member``: its number in the group. ``what``: the resource or cell in which
    that is most certain; ``cell``: the cell in words. ``gain``: how much better than the typical
    node, negative is worse, with its 95% interval ``ci95``; of a rate if ``rate``, else of a time.
    ``launches``: of the node in that cell, ``slow`` of them slower than the typical node.
    ``occasions``: earlier runs with this node, ``again`` of them with at least half of the
    deviation. ``since``: of a step or trend the day (UTC). ``p_adjusted``: the false-discovery rate
    at which it would still be reported. ``suspicion``, ``evidence``: what to check, and why.
    """

    node: str
    member: int
    how: Literal["outlier", "step", "trend"]
    what: str
    cell: str
    gain: float
    ci95: Interval
    rate: bool
    launches: int
    slow: int
    occasions: int
    again: int
    since: str | None
    p_adjusted: float
    suspicion: str
    evidence: str


class FasterNode(msgspec.Struct, frozen=True):
    """One node that is faster than its kind. ``node``: its name; ``what``: the resource or cell.

    ``gain``: how much better than the typical node there, relative.
    """

    node: str
    what: str
    gain: float


class NodeKind(msgspec.Struct, frozen=True):
    """Nodes that were compared with each other alone.

    ``nodes``: their names, shortened as ``n[1-4]``. ``description``: what their machines have in
    common; empty where that is unknown.
    """

    nodes: str
    description: str


class NodeFailure(msgspec.Struct, frozen=True):
    """One node on which cells failed that did not fail on most others.

    ``node``: its name. ``cells``: how many failed, the first of them ``cell`` (in words), for the
    reason ``why``.
    """

    node: str
    cells: int
    cell: str
    why: str


class GroupMember(msgspec.Struct, frozen=True):
    """One node of the group. ``number``: its own. ``node``: its name; empty before it began.

    ``host``: its host, null before it began. ``state``: complete, unfinished, failed or missing.
    ``share``: of its cells, how many have numbers; null where nothing was measured. ``problem``:
    why it failed.
    """

    number: int
    node: str
    host: str | None
    state: MemberState
    share: float | None
    problem: str


@dataclass(frozen=True)
class NodeDeviations:
    """How far each node is from the typical node of its kind, in every cell.

    ``nodes``: names. ``members``: their numbers in the group. ``cells``: in words. ``gain`` [node,
    cell]: relative, positive is better, nan where there is nothing. ``slower`` [node, cell]:
    whether it is slower than chance and the variation between nodes explain.
    """

    nodes: Sequence[str]
    members: Sequence[int]
    cells: Sequence[str]
    gain: Floats
    slower: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
