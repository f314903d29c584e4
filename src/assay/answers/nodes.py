"""How alike are its nodes? The same cells on every node by itself, held side by side.

A node's value is the median of its launches' medians, as everywhere. Over nodes the median is the
usual node, and 1.4826 times the median absolute deviation from it is what a standard deviation
would be, were values normal (Hampel 1974): nodes that are far off don't widen it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from assay.answers.around import around_of, kind_of, slow_core
from assay.answers.confidence import describe, why_broken
from assay.answers.model import Answer, Confidence, Evidence
from assay.answers.select import placement_text, quantity_text
from assay.answers.suspects import SlowCore
from assay.kernels import known_kernel, parameters_text
from assay.plans.model import Cell
from assay.records.group import host_of
from assay.records.model import RunData
from assay.stats.cells import summarise_cells
from assay.stats.fleet import STATED
from assay.stats.intervals import Floats, median_interval
from assay.stats.model import CellSummary, MetricSummary
from assay.stats.peers import FEWEST, MOST_BAD, ROBUST
from assay.stats.repeats import repeats_of
from assay.stats.summary import coefficient_of_variation
from assay.units import counted, format_share

if TYPE_CHECKING:
    from assay.answers.fleet import Examined, Suspect

QUESTION = "nodes"
TITLE = "How alike are its nodes?"
_NAMED = 3
_LOOK_AT = 5
_METHOD = (
    "A node is named if it is slower than chance and what nodes differ by explain, over all cells "
    "and launches, with bad nodes kept out of what is usual; of the nodes named, at most "
    f"{STATED:.0%} are false on average (Benjamini & Hochberg 1995; docs/methods.md, Nodes side by "
    "side)."
)


@dataclass(frozen=True)
class MeasuredNode:
    """One node's summaries. ``name`` is its host's, with the member's number where two share it.

    ``costs``: by cell id, of each launch its cost in seconds for a unit of work, more is worse.
    ``around``: covariates, see ``around_of``. ``core``: the one furthest behind. ``kind``: what its
    machine tells that makes it a kind of its own.
    """

    name: str
    member: int
    cells: Sequence[CellSummary]
    host: str | None = None
    costs: Mapping[str, Floats] = field(default_factory=dict)
    around: Mapping[str, float] = field(default_factory=dict)
    core: SlowCore | None = None
    kind: str = ""


def measure_node(name: str, member: int, run: RunData) -> MeasuredNode:
    """What a run of one node says of it."""
    return MeasuredNode(
        name=name,
        member=member,
        cells=summarise_cells(run),
        host=host_of(run),
        costs={repeats.cell.id: repeats.cost for repeats in repeats_of(run)},
        around=around_of(run),
        core=slow_core(run),
        kind=kind_of(run.manifest),
    )


class NodeValue(msgspec.Struct, frozen=True):
    """One cell on one node. ``gain``: how much better than the usual node, relative; negative is
    worse. ``sigmas``: the same in robust standard deviations, null where nodes don't differ.
    """

    node: str
    member: int
    value: float
    gain: float
    sigmas: float | None


class CellByNode(msgspec.Struct, frozen=True):
    """One cell's metric over nodes. ``values``: best first. ``median`` with ``ci95``: of the nodes;
    null under six. ``cov``: between nodes. ``robust``: robust standard deviation over the median.
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
        words = f"{self.cell.kernel} {parameters_text(self.cell)}".rstrip()
        return f"{words}, {placement_text(self.cell.placement)}"


class NodeGain(msgspec.Struct, frozen=True):
    """One node over all cells. ``gain``: the median over cells; ``worst``: the cell's label in
    which it is furthest behind, with its gain there.
    """

    node: str
    member: int
    cells: int
    gain: float
    worst: str
    worst_gain: float


def by_node(nodes: Sequence[MeasuredNode]) -> list[CellByNode]:
    """Each cell's headline metric over the nodes that have it, in the order of the first node's.

    A cell that only one node has tells nothing of others and is left out.
    """
    found: dict[str, list[tuple[MeasuredNode, MetricSummary]]] = defaultdict(list)
    cells: dict[str, tuple[Cell, str]] = {}
    for node in nodes:
        for summary in node.cells:
            headline = _headline(summary)
            if headline is not None and summary.verified is not False:
                cells.setdefault(summary.id, (summary.cell, headline[0]))
                found[summary.id].append((node, headline[1]))
    return [_over_nodes(*cells[id_], values) for id_, values in found.items() if len(values) > 1]


def _headline(summary: CellSummary) -> tuple[str, MetricSummary] | None:
    if not summary.metrics:
        return None
    kernel = known_kernel(summary.kernel)
    name = kernel.headline if kernel and kernel.headline in summary.metrics else ""
    name = name or next(iter(summary.metrics))
    return name, summary.metrics[name]


def _over_nodes(
    cell: Cell, metric: str, found: Sequence[tuple[MeasuredNode, MetricSummary]]
) -> CellByNode:
    first = found[0][1]
    values = np.array([summary.median for _, summary in found])
    median = float(np.median(values))
    sigma = ROBUST * float(np.median(np.abs(values - median)))
    sign = 1.0 if first.better == "more" else -1.0
    each = [
        NodeValue(
            node=node.name,
            member=node.member,
            value=summary.median,
            gain=sign * (summary.median - median) / abs(median) if median else 0.0,
            sigmas=sign * (summary.median - median) / sigma if sigma > 0 else None,
        )
        for node, summary in found
    ]
    return CellByNode(
        cell=cell,
        id=cell.id,
        metric=metric,
        unit=first.unit,
        better=first.better,
        median=median,
        ci95=median_interval(values),
        cov=coefficient_of_variation(values),
        robust=sigma / abs(median) if median else 0.0,
        values=sorted(each, key=lambda value: (-value.gain, value.member)),
    )


def gains(cells: Sequence[CellByNode]) -> list[NodeGain]:
    """Each node over all cells, the one furthest behind first."""
    of_node: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
    for cell in cells:
        for value in cell.values:
            of_node[value.node, value.member].append((value.gain, cell.label))
    made = [
        NodeGain(
            node=node,
            member=member,
            cells=len(found),
            gain=float(np.median([gain for gain, _ in found])),
            worst=min(found)[1],
            worst_gain=min(found)[0],
        )
        for (node, member), found in of_node.items()
    ]
    return sorted(made, key=lambda each: (each.gain, each.member))


def answer_nodes(
    cells: Sequence[CellByNode],
    measured: int,
    expected: int,
    absent: Sequence[str],
    examined: Examined | None = None,
) -> Answer:
    """The verdict over nodes. ``absent``: sentences on the members that have no numbers;
    ``examined``: what looking for bad nodes has found, None where they are too few.
    """
    caveats = list(absent)
    if not cells:
        return Answer(
            question=QUESTION,
            title=TITLE,
            status="unmeasured",
            verdict=f"Not measured: {counted(measured, 'node')} of {expected} "
            "can't be held against each other.",
            confidence=None,
            confidence_why="",
            evidence=[],
            advice=[],
            caveats=caveats,
        )
    widest = max(cells, key=lambda cell: cell.spread)
    last, best = widest.values[-1], widest.values[0]
    few = measured < FEWEST
    confidence: Confidence = "low" if few else "medium" if measured < expected else "high"
    why = f"{measured} of {expected} nodes measured"
    if few:
        why += ": which of two is the odd one can't be told"
    suspects = examined.suspects if examined else []
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=f"{_found(suspects, measured, examined is not None)}They differ most in "
        f"{widest.label}, by {format_share(widest.spread)} of the median "
        f"{quantity_text(widest.median, widest.unit)}; slowest is {last.node} "
        f"({_signed(last)}), fastest {best.node} ({_signed(best)}).",
        confidence=confidence,
        confidence_why=f"{why}.",
        evidence=[*(_suspected(each) for each in suspects), *(_evidence(cell) for cell in cells)],
        advice=[
            f"Look at {each.node}: {each.suspicion} ({each.evidence})."
            for each in suspects[:_LOOK_AT]
        ],
        caveats=[*caveats, *(_minds(examined) if examined else [])],
        method=[
            "Each node measured the same cells by itself, all at the same time as far as the "
            "scheduler let them begin together. A node's value is the median of its launches' "
            "medians; the deviation is from the median over nodes, in percent and in robust "
            "standard deviations (1.4826 times the median absolute deviation, Hampel 1974).",
            *([_METHOD] if examined else []),
        ],
        limits=[
            "What nodes do to each other, over the network and on shared storage, is not here."
        ],
    )


def _found(suspects: Sequence[Suspect], measured: int, examined: bool) -> str:
    """The first sentence of the verdict: who is slower, or that nobody is."""
    if not examined:
        return f"{counted(measured, 'node')}. "
    if not suspects:
        return (
            f"None of {counted(measured, 'node')} is slower than the others by more than nodes "
            "differ. "
        )
    named = "; ".join(each.sentence for each in suspects[:_NAMED])
    more = f"; and {len(suspects) - _NAMED} more" if len(suspects) > _NAMED else ""
    return f"{len(suspects)} of {counted(measured, 'node')} to look at. {named}{more}. "


def _minds(examined: Examined) -> list[str]:
    """Nodes that failed, kinds of nodes, nodes that are faster, and single launches."""
    made = [*_failures(examined.nodes), *examined.kinds]
    if examined.faster:
        named = ", ".join(examined.faster[:_LOOK_AT])
        more = ", …" if len(examined.faster) > _LOOK_AT else ""
        made.append(f"Faster than the others: {named}{more}. Nobody looks for that, so it is said.")
    if int(examined.fleet.counts.max(initial=0)) < 2:
        made.append(
            "Each node was launched once: a launch that went wrong can't be told from a node."
        )
    return made


def _failures(nodes: Sequence[MeasuredNode]) -> list[str]:
    """Cells that failed, or were wrong, on few nodes alone: worse than slow."""
    failed: dict[str, list[tuple[MeasuredNode, CellSummary]]] = defaultdict(list)
    for node in nodes:
        for cell in node.cells:
            if cell.status == "failed" or cell.verified is False:
                failed[cell.id].append((node, cell))
    few = [found for found in failed.values() if len(found) <= MOST_BAD * len(nodes)]
    of_node: dict[str, list[CellSummary]] = defaultdict(list)
    for found in few:
        for node, cell in found:
            of_node[node.name].append(cell)
    made = [
        f"{name} failed where most others did not, in {describe(cells[0])}"
        + (f" and {counted(len(cells) - 1, 'further cell')}" if len(cells) > 1 else "")
        + f": {why_broken(cells[0]).rstrip('.')}."
        for name, cells in of_node.items()
    ]
    left = len(made) - _LOOK_AT
    return [*made[:_LOOK_AT], *([f"So did {counted(left, 'further node')}."] if left > 0 else [])]


def _suspected(each: Suspect) -> Evidence:
    low, high = each.ci95
    return Evidence(
        label=f"{each.node}: {each.what}",
        metric="rate beside the usual node's" if each.rate else "time beside the usual node's",
        unit="",
        value=1.0 + each.gain if each.rate else 1.0 - each.gain,
        ci95=(1.0 + low, 1.0 + high) if each.rate else (1.0 - high, 1.0 - low),
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[],
        note=f"{each.seen}: {each.suspicion} ({each.evidence}); adjusted p {each.p_adjusted:.2g}",
    )


def _signed(value: NodeValue) -> str:
    sigmas = "" if value.sigmas is None else f", {value.sigmas:+.1f} σ"
    return f"{100 * value.gain:+.1f}%{sigmas}"


def _evidence(cell: CellByNode) -> Evidence:
    slow = ", ".join(f"{value.node} {_signed(value)}" for value in cell.values[: -_NAMED - 1 : -1])
    fast = ", ".join(f"{value.node} {_signed(value)}" for value in cell.values[:_NAMED])
    return Evidence(
        label=cell.label,
        metric=cell.metric,
        unit=cell.unit,
        value=cell.median,
        ci95=cell.ci95,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[cell.id],
        note=f"slowest {slow}; fastest {fast}",
    )
