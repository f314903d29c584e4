"""How should I use its nodes? The best placement of each work, what ranks a node bring, and why."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.confidence import caveats_of
from assay.answers.model import QUESTIONS, Answer, Confidence, Evidence
from assay.answers.placement_advice import advice, energy_evidence, limits
from assay.answers.placement_data import (
    METRIC,
    Comparison,
    Outcome,
    how_text,
    name_of,
    node_seconds,
    outcomes,
    same_nodes,
    same_ranks,
    works,
)
from assay.answers.placement_parts import of_parts, placement_parts, with_parts
from assay.answers.placement_why import why_part
from assay.answers.select import Point, evidence, points
from assay.answers.unmeasured import unmeasured
from assay.records.model import RunData
from assay.reference.placement import SOURCE
from assay.stats.model import CellSummary
from assay.units import counted

# Below this a search has said nothing that one should act on.
_GUESS = 0.8
# Failures that are named one by one.
_NAMED = 6


def answer_placement(
    cells: Sequence[CellSummary], run: RunData, history: Sequence[RunData] = ()
) -> Answer:
    """The answer of a run that searched for the best placement, or held several side by side."""
    found = outcomes(cells, run)
    parts = placement_parts(cells, run)
    if not found:
        return of_parts(parts, cells, run) if parts else unmeasured("placement", cells)
    best = [outcome for outcome in found if outcome.point is not None]
    if not best:
        return _nothing(found)
    headline = [outcome.point for outcome in best if outcome.point is not None]
    confidence, because = _confidence(found, headline, run)
    why = why_part(cells, run, history)
    compared = [c for work in works(cells) for c in (*same_nodes(work), *same_ranks(work))]
    answer = Answer(
        question="placement",
        title=QUESTIONS["placement"],
        status="answered",
        verdict=" ".join(filter(None, (_verdict(best), why.remark))),
        confidence=confidence,
        confidence_why=because,
        evidence=[
            *(_evidence(outcome) for outcome in best),
            *_cheapest(cells),
            *energy_evidence(best, run),
            *(_ratio_evidence(c) for c in compared),
            *why.evidence,
        ],
        advice=advice(best, cells, run),
        caveats=[*_failures(found), *caveats_of(headline)],
        method=[*_method(found), *why.method],
        limits=[*why.limits, *_limits(found, cells, run)],
    )
    return with_parts(answer, parts)


def _nothing(found: Sequence[Outcome]) -> Answer:
    """No candidate of any search could be measured."""
    import msgspec

    plain = unmeasured("placement", [])
    return msgspec.structs.replace(
        plain,
        verdict="Not answered: no placement could be measured.",
        caveats=_failures(found),
    )


def _verdict(best: Sequence[Outcome]) -> str:
    """Which work is best placed how; works that are placed alike are told together."""
    alike: dict[str, list[Outcome]] = {}
    for outcome in best:
        assert outcome.best is not None
        nodes = outcome.best.placement.nodes
        where = f" on {counted(nodes, 'node')}" if nodes > 1 else ""
        alike.setdefault(f"{how_text(outcome.best.placement)}{where}", []).append(outcome)
    parts = []
    for how, group in alike.items():
        names = ", ".join(dict.fromkeys(name_of(outcome.work) for outcome in group))
        least = min(outcome.finding.probability for outcome in group)
        sure = f"at least {least:.0%}" if len(group) > 1 else f"{least:.0%}"
        parts.append(f"{names}: {how} ({sure} sure)")
    within = best[0].search.rule.within
    return f"Quickest, or within {within:.0%} of it: " + "; ".join(parts) + "."


def _evidence(outcome: Outcome) -> Evidence:
    assert outcome.point is not None and outcome.best is not None
    share = outcome.made / outcome.exhaustive
    return evidence(
        f"{name_of(outcome.work)}, best of {counted(len(outcome.search.cells), 'placement')} on "
        f"{counted(outcome.best.placement.nodes, 'node')}: {how_text(outcome.best.placement)}",
        outcome.point,
        METRIC,
        note=f"within {outcome.search.rule.within:.0%} of the best with probability "
        f"{outcome.finding.probability:.1%}; {outcome.tried} placements tried in "
        f"{counted(outcome.made, 'measurement')}, {share:.0%} of all",
    )


def _cheapest(cells: Sequence[CellSummary]) -> list[Evidence]:
    """For each work that was measured on several numbers of nodes: the fewest node-seconds."""
    groups: dict[str, list[Point]] = {}
    for kernel in dict.fromkeys(cell.kernel for cell in cells):
        for point in points(cells, kernel, METRIC):
            cell = point.summary.cell
            key = f"{kernel}/{sorted((k, str(v)) for k, v in cell.parameters.items())}"
            groups.setdefault(f"{key}/{cell.toolchain}", []).append(point)
    made = []
    for group in groups.values():
        if len({point.summary.cell.placement.nodes for point in group}) < 2:
            continue
        cheapest = min(group, key=node_seconds)
        cell, nodes = cheapest.summary.cell, cheapest.summary.cell.placement.nodes
        interval = cheapest.metric.ci95
        made.append(
            Evidence(
                label=f"{name_of(cell)}, fewest node-seconds: {how_text(cell.placement)} on "
                f"{counted(nodes, 'node')}",
                metric="node-seconds",
                unit="s",
                value=node_seconds(cheapest),
                ci95=None if interval is None else (interval[0] * nodes, interval[1] * nodes),
                limit=None,
                limit_source=None,
                share=None,
                share_ci95=None,
                cells=[cheapest.summary.id],
                note="nodes times time, of all placements measured; whole nodes are charged",
            )
        )
    return made


def _ratio_evidence(found: Comparison) -> Evidence:
    above, below = found.above.summary.cell, found.below.summary.cell
    where = counted(above.placement.nodes, "node")
    if above.placement.nodes == below.placement.nodes:
        told = f"{above.placement.ppn} ranks a node over 1, {where}"
    else:
        told = (
            f"{above.placement.ranks} ranks on {where} over {below.placement.nodes} nodes "
            f"({above.placement.ppn} a node over 1)"
        )
    return Evidence(
        label=f"{name_of(above)}: {told}",
        metric="performance ratio",
        unit="",
        value=found.value,
        ci95=found.interval,
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[found.above.summary.id, found.below.summary.id],
    )


def _confidence(
    found: Sequence[Outcome], headline: Sequence[Point], run: RunData
) -> tuple[Confidence, str]:
    """High: every search is as sure as asked, its chosen one verified and with an interval."""
    grave, mild = [], []
    unsure = [outcome for outcome in found if not outcome.finding.settled]
    guesses = [outcome for outcome in unsure if outcome.finding.probability < _GUESS]
    if guesses:
        least = min(outcome.finding.probability for outcome in guesses)
        grave.append(
            f"{counted(len(guesses), 'search')} ended at a probability of {least:.0%} or more"
        )
    elif unsure:
        mild.append(f"{counted(len(unsure), 'search')} ended before it was as sure as asked")
    if any(outcome.point is None for outcome in found):
        grave.append("of some work no placement could be measured")
    if any(point.metric.ci95 is None for point in headline):
        mild.append("some of the chosen had too few launches for a 95% interval")
    if any(point.summary.verified is None for point in headline):
        mild.append("some results could not be verified")
    if not run.complete:
        mild.append("the run is incomplete")
    if not grave and not mild:
        return "high", "Every search is as sure as asked, and every chosen placement is verified."
    sentence = "; ".join([*grave, *mild])
    return ("low" if grave else "medium"), sentence[:1].upper() + sentence[1:] + "."


def _failures(found: Sequence[Outcome]) -> list[str]:
    failed = [(cell, why) for outcome in found for cell, why in outcome.failed]
    told = [
        f"{name_of(cell)}, {how_text(cell.placement)}: {why}; it is not recommended."
        for cell, why in failed[:_NAMED]
    ]
    more = len(failed) - _NAMED
    return [*told, *([f"{more} more placements failed."] if more > 0 else [])]


def _method(found: Sequence[Outcome]) -> list[str]:
    rule = found[0].search.rule
    return [
        "The best placement was searched for one block after another: a Gaussian process over "
        "ranks, threads, binding, order and adapter says which placements may still be the best, "
        "and those are measured next, until the chosen one is within "
        f"{rule.within:.0%} of the best with probability {rule.probability:.0%} or the budget ends "
        "(top-two Thompson sampling, Russo 2020). Placements that fail or aren't verified are "
        "never chosen.",
        "Ratios are of performance, the time at one rank a node over the time at more; their "
        "intervals take both sides' into account.",
    ]


def _limits(found: Sequence[Outcome], cells: Sequence[CellSummary], run: RunData) -> list[str]:
    told = limits(found, cells, run)
    if all(outcome.work.placement.nodes == 1 for outcome in found) and not any(
        same_ranks(work) for work in works(cells)
    ):
        told.append(
            f"The same ranks on fewer nodes, the second comparison of {SOURCE}, takes two nodes or "
            "more."
        )
    return told
