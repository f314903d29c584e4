"""The best placement of each work: the verdict, its evidence, confidence, caveats and limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.kernels.naming import cell_name, layout_text, where_text
from assay.questions.common.answer import Confidence, Evidence
from assay.questions.common.confidence import RATES, caveats_of, period_text
from assay.questions.common.parts import Part
from assay.questions.common.selection import evidence
from assay.questions.placement.best.choices import CheapestPlacement, LeastEnergy
from assay.questions.placement.best.energy import EnergyStatus
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.best.outcomes import PlacementOutcome, relative_launches
from assay.questions.placement.best.recommendations import recommendations
from assay.questions.placement.works import METRIC
from assay.reference.placement import SOURCE
from assay.units import (
    capitalised,
    counted,
    counted_verb,
    format_count,
    format_probability,
    format_quantity,
)

# Maximum number of listed failures.
_LISTED_FAILURES = 6
# Reasons why there is no recommendation for energy.
NO_ENERGY: dict[EnergyStatus, str] = {
    "known": "",
    "no counters": "Energy is unknown: this machine has no readable energy counters (RAPL).",
    "unreadable": "Energy is unknown: this user may not read the machine's energy counters (RAPL). "
    "Run `chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj` as root on each node to permit it.",
    "incomplete": "Energy is unknown: not every launch recorded it.",
    "several nodes": "Energy is unknown: it is not recorded for commands on several nodes.",
}


def part(found: BestFindings) -> Part | None:
    """The best placements; None if no placement could be measured."""
    best = found.measured
    if not best:
        return None
    headline = [outcome.point for outcome in best if outcome.point is not None]
    return Part(
        remark=_verdict(best),
        headline=headline,
        evidence=[
            *(_evidence(outcome) for outcome in best),
            *(_cheapest(one) for one in found.cheapest),
            *(_least_energy(one) for one in found.least_energy),
        ],
        advice=[*recommendations(found), *_undecided(found)],
        caveats=[*failed_caveats(found), *caveats_of(headline)],
        method=[_method(found)],
        limits=_limits(found),
    )


def _undecided(found: BestFindings) -> list[str]:
    """How to decide searches that ended early."""
    early = [one for one in found.outcomes if not one.settled and not one.disturbed]
    if not early:
        return []
    return [
        f"{counted(len(early), 'search')} ended undecided: measure again with more time "
        "(`--budget`)."
    ]


def confidence(found: BestFindings) -> tuple[Confidence, str]:
    """The confidence in the choices, whose stated probability is the rate at which they are right.

    High from 95% on, if each choice is verified with an interval; medium from 90% on. The time of
    the chosen placement has its own interval.
    """
    serious, minor = [], []
    disturbed = [outcome for outcome in found.outcomes if outcome.disturbed]
    if disturbed:
        serious.append(
            f"other processes kept CPUs busy during {counted(len(disturbed), 'search')}, so "
            "they have no verdict"
        )
    open_outcomes = [outcome for outcome in found.outcomes if not outcome.settled]
    low = [outcome for outcome in open_outcomes if outcome.probability < RATES["medium"]]
    unsure = [each for each in found.outcomes if each.settled and each.probability < RATES["high"]]
    headline = [outcome.point for outcome in found.outcomes if outcome.point is not None]
    if low:
        least = min(outcome.probability for outcome in low)
        serious.append(
            f"{counted(len(low), 'search')} ended undecided; the least probability is "
            f"{format_probability(least)}"
        )
    elif open_outcomes:
        minor.append(
            f"{counted(len(open_outcomes), 'search')} ended below the required probability"
        )
    if unsure:
        minor.append(
            f"{counted_verb(len(unsure), 'choice', 'were')} only required to be right with a "
            f"probability of {format_probability(min(each.rule.probability for each in unsure))}"
        )
    if len(headline) < len(found.outcomes):
        serious.append("no placement of some work could be measured")
    if any(point.metric.ci95 is None for point in headline):
        minor.append("some chosen placements had too few launches for a 95% interval")
    if any(point.summary.verified is None for point in headline):
        minor.append("some results could not be verified")
    if not found.complete:
        minor.append("the run is incomplete")
    if not serious and not minor:
        return "high", (
            "Every search reached the required probability, and every chosen placement is verified."
            f"{period_text(headline)}"
        )
    sentence = "; ".join([*serious, *minor])
    return ("low" if serious else "medium"), capitalised(sentence) + "."


def failed_caveats(found: BestFindings) -> list[str]:
    """The first placements that failed, and the number of further ones."""
    failed = [(cell, why) for outcome in found.outcomes for cell, why in outcome.failed]
    listed = [
        f"{cell_name(cell)}, {layout_text(cell.placement)}: {why}; it is not recommended."
        for cell, why in failed[:_LISTED_FAILURES]
    ]
    more = len(failed) - _LISTED_FAILURES
    return [*listed, *([f"{more} more placements failed."] if more > 0 else [])]


def _verdict(best: Sequence[PlacementOutcome]) -> str:
    """The best placement of each work: decided works first, then the undecided ones."""
    decided = [each for each in best if each.settled and not each.disturbed]
    undecided = [each for each in best if not each.settled and not each.disturbed]
    disturbed = [each for each in best if each.disturbed]
    sentences = []
    if decided:
        within = f"Within {best[0].rule.within:.0%} of the fastest placement"
        sentences.append(f"{within}: {_placements(decided)}.")
    if len(undecided) == 1:
        sentences.append(f"Undecided, best so far: {_placements(undecided)}.")
    elif undecided:
        works = (
            f"{cell_name(each.work)} ({format_probability(each.probability)})" for each in undecided
        )
        sentences.append(f"Undecided (probability of the best so far): {', '.join(works)}.")
    sentences += [
        f"Undecided for {_names([each for each in disturbed if _open(each) == text])}: {text}."
        for text in dict.fromkeys(map(_open, disturbed))
    ]
    return " ".join(sentences)


def _placements(outcomes: Sequence[PlacementOutcome]) -> str:
    """The placement of each work with its probability; works with the same placement are
    combined.
    """
    groups: dict[str, list[PlacementOutcome]] = {}
    for outcome in outcomes:
        assert outcome.best is not None
        placement = outcome.best.placement
        text = where_text(placement) if placement.nodes > 1 else layout_text(placement)
        groups.setdefault(text, []).append(outcome)
    clauses = []
    for text, group in groups.items():
        least = format_probability(min(outcome.probability for outcome in group))
        bound = "≥ " if len(group) > 1 else ""
        clauses.append(f"{_names(group)}: {text} (probability {bound}{least})")
    return "; ".join(clauses)


def _names(outcomes: Sequence[PlacementOutcome]) -> str:
    return ", ".join(dict.fromkeys(cell_name(outcome.work) for outcome in outcomes))


def _open(outcome: PlacementOutcome) -> str:
    """Why a search has no verdict: ``other processes kept 1.9 of 2 CPUs busy; …``."""
    assert outcome.others is not None
    return (
        f"other processes kept {format_count(outcome.others.busy)} of "
        f"{counted(outcome.others.cpus, 'CPU')} busy; measure again when the "
        f"{'node is' if outcome.work.placement.nodes == 1 else 'nodes are'} quiet"
    )


def _evidence(outcome: PlacementOutcome) -> Evidence:
    assert outcome.point is not None and outcome.best is not None and outcome.time is not None
    placement = outcome.best.placement
    found = evidence(
        f"{cell_name(outcome.work)}, best of {counted(outcome.candidates, 'placement')} on "
        f"{counted(placement.nodes, 'node')}: {layout_text(placement)}",
        outcome.point,
        METRIC,
        note=f"within {outcome.rule.within:.0%} of the best with probability "
        f"{format_probability(outcome.probability, 1)}; {outcome.tried} placements measured in "
        f"{_effort(outcome)}{_correction(outcome)}"
        f"{f'; undecided: {_open(outcome)}' if outcome.disturbed else ''}",
    )
    return dataclasses.replace(found, value=outcome.time.value, ci95=outcome.time.interval)


def _effort(outcome: PlacementOutcome) -> str:
    """The launches of a search: ``45 launches, 25% of the 180 of an exhaustive search``."""
    launches = counted(outcome.measurements, "launch")
    relative = relative_launches(outcome)
    of = " of" if relative.endswith("%") else ""
    return f"{launches}, {relative}{of} the {outcome.exhaustive:,} of an exhaustive search"


def _correction(outcome: PlacementOutcome) -> str:
    """How the time differs from the median of its launches; empty if the choice was clear."""
    if outcome.among < 2 or outcome.point is None:
        return ""
    median = format_quantity(outcome.point.metric.median, "s")
    return f"; its launches' median is {median}{_corrected(outcome.among)}"


def _corrected(among: int) -> str:
    """States the correction of the best of several comparable placements."""
    if among < 2:
        return ""
    return (
        f"; the value is corrected because the best of {among} comparable placements looks better "
        "than it is"
    )


def _cheapest(found: CheapestPlacement) -> Evidence:
    cell = found.point.summary.cell
    return Evidence(
        label=f"{cell_name(cell)}, fewest node-seconds: {where_text(cell.placement)}",
        metric="node-seconds",
        unit="s",
        value=found.node_seconds.value,
        ci95=found.node_seconds.interval,
        cells=[found.point.summary.id],
        note="nodes × time, the least of all measured placements; whole nodes are charged"
        f"{_corrected(found.among)}",
    )


def _least_energy(found: LeastEnergy) -> Evidence:
    return Evidence(
        label=f"{cell_name(found.cell)}, least energy: {where_text(found.cell.placement)}",
        metric="energy",
        unit="J",
        value=found.energy.value,
        ci95=found.energy.interval,
        cells=[found.cell.id],
        note="processors and memory (RAPL) of all nodes during one execution"
        f"{_corrected(found.among)}",
    )


def _method(found: BestFindings) -> str:
    rule = found.outcomes[0].rule
    return (
        "The search measures placements in blocks. A Gaussian process over ranks, threads, "
        "binding, order and adapter selects the placements that may be the best; these are "
        "measured next (top-two Thompson sampling, Russo 2020). The search ends when the chosen "
        f"placement is within {rule.within:.0%} of the best with probability "
        f"{100 * rule.probability:g}%, or when the budget is spent. Placements that fail or give "
        "wrong results are never chosen."
    )


def _limits(found: BestFindings) -> list[str]:
    """The limits of the answer: problem sizes, numbers of nodes, and what was not measured."""
    scope = found.scope
    limits = [
        "At problem sizes that were not measured, the best placement may differ."
        if scope.several_sizes
        else "Whether the best placement changes with the problem size was not measured: each "
        "benchmark ran at one size."
    ]
    if len(scope.node_counts) == 1:
        limits.append(
            "Whether the best placement changes with the number of nodes was not measured: all "
            f"launches ran on {counted(scope.node_counts[0], 'node')}."
        )
    elif scope.node_counts:
        limits.append(f"Nothing was measured on more than {scope.node_counts[-1]} nodes.")
    limits += filter(None, [NO_ENERGY[scope.energy]])
    if scope.one_node_only:
        limits.append(
            f"The second comparison of {SOURCE}, the same ranks on fewer nodes, needs at least two "
            "nodes."
        )
    return limits
