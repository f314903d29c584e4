"""When the best placement changes: over problem sizes and over numbers of nodes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from assay.answers.placement_data import METRIC, Outcome, how_text, name_of, size_of, works
from assay.answers.select import Interval, Point, points, quantity_text
from assay.plans.model import Placement
from assay.stats.intervals import Estimate, ratio_interval
from assay.stats.model import CellSummary
from assay.units import counted

# How many doublings of nodes beyond the last measured one a lead that shrinks is followed to.
_DOUBLINGS = 2.0
# Numbers of nodes that a trend takes.
_TREND = 3


@dataclass(frozen=True)
class Stage:
    """One size, or one number of nodes: what each way to use a node takes there.

    ``level``: of the axis, ascending: a size's place among its choices, or nodes. ``name``: in
    words. ``times``: seconds by placement, as if on one node; ``measured``: those that were, and
    not estimated by the search.
    """

    level: float
    name: str
    times: Mapping[Placement, Estimate]
    measured: frozenset[Placement]


@dataclass(frozen=True)
class Flip:
    """From ``before`` to ``after`` the best changes from ``old`` to ``new``.

    ``gain``: of the new one over the old one, after; ``loss``: of the old one over the new one,
    before; both as speed with 95% intervals. ``sure``: that both intervals lie above 1.
    """

    before: Stage
    after: Stage
    old: Placement
    new: Placement
    gain: Estimate
    loss: Estimate

    @property
    def sure(self) -> bool:
        """Whether it was measured, and not the luck of few launches."""
        return all(e.interval is not None and e.interval[0] > 1.0 for e in (self.gain, self.loss))


def flip_advice(found: Sequence[Outcome], cells: Sequence[CellSummary]) -> list[str]:
    """When to place work otherwise: a sentence for each benchmark and axis, the alike together."""
    told = []
    for axis, lines in (("sizes", size_stages(found, cells)), ("nodes", node_stages(cells))):
        steady: dict[str, list[str]] = {}
        for name, stages in lines:
            if len(_in_all(stages)) < 2:
                continue
            sentence = _changes(axis, stages)
            if sentence:
                told.append(f"{name}: {sentence}")
            else:
                steady.setdefault(_same(axis, stages), []).append(name)
        told += [f"{', '.join(dict.fromkeys(names))}: {same}" for same, names in steady.items()]
    return told


def flip_limits(found: Sequence[Outcome], cells: Sequence[CellSummary]) -> list[str]:
    """Beyond which sizes and nodes nothing is known; where there was one only, that it was one."""
    sizes = {len(stages) for _, stages in size_stages(found, cells)}
    counts = sorted({cell.cell.placement.nodes for cell in cells})
    told = []
    if not sizes:
        told.append("When another problem size changes the best was not measured: all was of one.")
    else:
        told.append("Beyond the sizes measured the best may change.")
    if len(counts) == 1:
        told.append(
            "When another number of nodes changes the best was not measured: all was on "
            f"{counted(counts[0], 'node')}."
        )
    elif counts:
        told.append(f"Beyond {counts[-1]} nodes nothing was measured.")
    return told


def flips(stages: Sequence[Stage]) -> list[Flip]:
    """Where the best of two neighbouring stages differs, of what is known of both."""
    found = []
    for before, after in itertools.pairwise(stages):
        common = [how for how in before.times if how in after.times]
        if len(common) < 2:
            continue
        old = best_of(before, common)
        new = best_of(after, common)
        if old != new:
            gain = _ratio(after.times[old], after.times[new])
            loss = _ratio(before.times[new], before.times[old])
            found.append(Flip(before, after, old, new, gain, loss))
    return found


def _in_all(stages: Sequence[Stage]) -> list[Placement]:
    """Ways to use a node of which something is known at every stage."""
    return [how for how in stages[-1].times if all(how in stage.times for stage in stages)]


def best_of(stage: Stage, among: Sequence[Placement]) -> Placement:
    """The quickest there of these; those that were measured come first."""
    measured = [how for how in among if how in stage.measured]
    return min(measured or among, key=lambda how: stage.times[how].value)


def size_stages(
    found: Sequence[Outcome], cells: Sequence[CellSummary]
) -> list[tuple[str, list[Stage]]]:
    """Of each benchmark with searches at several sizes, on most nodes: its name, a stage a size."""
    most = max((outcome.work.placement.nodes for outcome in found), default=1)
    groups: dict[tuple[str, str, str, int], list[Stage]] = {}
    for outcome in found:
        work = outcome.work
        size = size_of(work)
        if size is None or outcome.point is None or work.placement.nodes < most:
            continue
        others = sorted((k, str(v)) for k, v in work.parameters.items() if k != "class")
        key = (work.kernel, work.toolchain, str(others), work.placement.node_set)
        groups.setdefault(key, []).append(_stage_of(outcome, cells, size))
    return [
        (_line_name(key[0], most), sorted(stages, key=lambda stage: stage.level))
        for key, stages in groups.items()
        if len(stages) > 1
    ]


def node_stages(cells: Sequence[CellSummary]) -> list[tuple[str, list[Stage]]]:
    """Of each work with several ranks a node on several numbers of nodes: a stage a number.

    Of the plainest placements alone, which are measured on each number of nodes.
    """
    made = []
    for work in works(cells):
        by_nodes: dict[int, dict[Placement, Estimate]] = {}
        for point in work:
            placement = point.summary.cell.placement
            times = by_nodes.setdefault(placement.nodes, {})
            times[_how(placement)] = Estimate(point.metric.median, point.metric.ci95)
        stages = [
            Stage(nodes, counted(nodes, "node"), times, frozenset(times))
            for nodes, times in sorted(by_nodes.items())
            if len(times) > 1
        ]
        if len(stages) > 1:
            made.append((name_of(work[0].summary.cell), stages))
    return made


def _stage_of(outcome: Outcome, cells: Sequence[CellSummary], size: float) -> Stage:
    """What was measured of a search, and what it makes of the rest."""
    measured: dict[str, Point] = {
        point.summary.id: point
        for point in points(cells, outcome.work.kernel, METRIC)
        if point.summary.id in outcome.search.ids
    }
    out = {cell.id for cell, _ in outcome.failed}
    times = {}
    finding = outcome.finding
    for place, cell in enumerate(outcome.search.cells):
        point = measured.get(cell.id)
        if cell.id in out:
            continue
        if point is not None:
            times[_how(cell.placement)] = Estimate(point.metric.median, point.metric.ci95)
        elif math.isfinite(float(finding.median[place])):
            interval = (float(finding.low[place]), float(finding.high[place]))
            times[_how(cell.placement)] = Estimate(float(finding.median[place]), interval)
    known = {_how(point.summary.cell.placement) for point in measured.values()}
    return Stage(
        size, f"class {outcome.work.parameters['class']}", times, frozenset(known & times.keys())
    )


def _how(placement: Placement) -> Placement:
    return msgspec.structs.replace(placement, nodes=1, node_set=0)


def _line_name(kernel: str, nodes: int) -> str:
    name = kernel[4:].upper() if kernel.startswith("npb.") else kernel
    return name if nodes == 1 else f"{name} on {nodes} nodes"


def _ratio(above: Estimate, below: Estimate) -> Estimate:
    """Speed of the lower time over that of the upper one."""
    interval: Interval | None = None
    if above.interval is not None and below.interval is not None:
        interval = ratio_interval(above, below)
    return Estimate(above.value / below.value, interval)


def _each(how: Placement) -> str:
    """``2 ranks a node``: of a way to use a node, whatever their number."""
    return how_text(msgspec.structs.replace(how, nodes=2))


def _changes(axis: str, stages: Sequence[Stage]) -> str:
    """The flips along one axis in words; empty where there are none, and none is near."""
    return "; ".join([*_told_flips(axis, stages), *_near(axis, stages)])


def _told_flips(axis: str, stages: Sequence[Stage]) -> Iterator[str]:
    for flip in flips(stages):
        speed = quantity_text(flip.gain.value, "", flip.gain.interval)
        there, at = flip.after.name, "at" if axis == "sizes" else "on"
        if flip.sure:
            onward = f"{at} {there}" if flip.after is stages[-1] else f"from {there} on"
            yield (
                f"{_each(flip.old)} {at} {flip.before.name}, {onward} {_each(flip.new)} "
                f"({speed} the speed of {_each(flip.old)} there"
                f"{_source(flip)})"
            )
        else:
            yield (
                f"{_each(flip.old)} {at} {flip.before.name}, {_each(flip.new)} {at} {there}, but "
                f"it isn't sure that they differ ({speed} the speed there)"
            )


def _source(flip: Flip) -> str:
    """Said where one side was not measured."""
    if flip.old in flip.after.measured and flip.new in flip.before.measured:
        return ""
    return ", by the search's estimate"


def _near(axis: str, stages: Sequence[Stage]) -> Iterator[str]:
    """A lead over the next best that shrinks with the number of nodes, and where it would end."""
    if axis != "nodes" or len(stages) < _TREND:
        return
    hows = _in_all(stages)
    best = best_of(stages[-1], hows)
    ends = []
    for other in hows:
        leads = [_ratio(stage.times[other], stage.times[best]) for stage in stages]
        end = _end_of_lead([stage.level for stage in stages], leads)
        if other != best and end is not None:
            ends.append((end, other, leads[0], leads[-1]))
    if ends:
        end, other, first, last = min(ends, key=lambda each: each[0])
        yield (
            f"the lead of {_each(best)} over {_each(other)} shrinks from "
            f"{quantity_text(first.value, '', first.interval)} on {stages[0].name} to "
            f"{quantity_text(last.value, '', last.interval)} on {stages[-1].name}; as it went it "
            f"would be gone from about {end:.0f} nodes on, which was not measured"
        )


def _end_of_lead(nodes: Sequence[float], leads: Sequence[Estimate]) -> float | None:
    """The number of nodes at which a lead that only shrinks would come to nothing.

    By the line through its logarithm at the first and the last number; None where it doesn't
    shrink at each step, the ends' intervals meet, or the end is far away.
    """
    values = [lead.value for lead in leads]
    first, last = leads[0].interval, leads[-1].interval
    if any(b >= a for a, b in itertools.pairwise(values)) or min(values) <= 1.0:
        return None
    if first is None or last is None or last[1] >= first[0]:
        return None
    doublings = math.log2(nodes[-1] / nodes[0])
    slope = math.log(values[0] / values[-1]) / doublings
    more = math.log(values[-1]) / slope
    return nodes[-1] * 2.0**more if more <= _DOUBLINGS else None


def _same(axis: str, stages: Sequence[Stage]) -> str:
    """That nothing changes: the one placement that is best all along."""
    best = best_of(stages[-1], _in_all(stages))
    at, span = ("at", "size") if axis == "sizes" else ("on", "number of nodes")
    first = stages[0].name if axis == "sizes" else f"{stages[0].level:g}"
    return (
        f"{_each(best)}: the best {at} each {span} that was measured ({first} to {stages[-1].name})"
    )
