"""Judges runs by a contract."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.acceptance.attempts import Attempt
from assay.acceptance.contract import Contract, PromisedRange
from assay.acceptance.decision import Outcome, PromiseDecision, corrected_outcomes
from assay.acceptance.measured import ContractRun, Item, items_of, series_of
from assay.acceptance.node_decision import NodeDecision
from assay.acceptance.steadiness import VariationDecision
from assay.acceptance.verdicts import verdict_of, weights_of
from assay.arrays import Floats
from assay.records.model import system_name
from assay.stats.core.intervals import median_interval
from assay.stats.core.launches import launch_interval
from assay.subjects.acceptance.amounts import amount_due, sum_of
from assay.subjects.acceptance.further import (
    Outages,
    VariationItem,
    judged_availability,
    judged_score,
    judged_variation,
    score_found,
    span_of,
    variation_item,
)
from assay.subjects.acceptance.model import (
    ACCEPTANCE_SCHEMA,
    AcceptanceFindings,
    JudgedCommitment,
    JudgedRun,
    JudgedVariation,
    NodeMedian,
    Promised,
)
from assay.subjects.acceptance.words import reason_of, remedy_of
from assay.units import Interval

# Exit status of ``assay accept`` by outcome.
STATUS: Mapping[Outcome, int] = {"accepted": 0, "rejected": 1, "undecided": 3}
Verdict = PromiseDecision | NodeDecision | VariationDecision


def find(
    contract: Contract,
    runs: Sequence[ContractRun],
    outages: Outages | None = None,
    attempts: Sequence[Attempt] = (),
    gaps: Sequence[str] = (),
    *,
    now: float | None = None,
) -> AcceptanceFindings:
    """The verdict on a contract by runs, and by logs of outages if there are any.

    ``attempts``, ``gaps``: what the runs' stores hold and lack. ``now``: the time of the judgement,
    Unix time (s); None: this moment. Raises AssayError for metrics and units that a selected cell
    doesn't have.
    """
    now = time.time() if now is None else now
    items = items_of(contract, runs)
    varying = [
        variation_item(each, series, contract.risks.launches)
        for each in contract.variations
        for series in series_of(each, runs)
    ]
    judged = judge_items(contract, items, varying)
    availabilities = [
        judged_availability(each, contract, outages, now) for each in contract.availabilities
    ]
    score = score_found(contract, items, judged.commitments)
    promised_score = judged_score(contract, items, judged.commitments, judged.risk, score)
    promises: list[Promised] = [*judged.commitments, *judged.variations, *availabilities]
    if promised_score is not None:
        promises.append(promised_score)
    penalties = [each.penalty for each in promises if not isinstance(each, JudgedVariation)]
    return AcceptanceFindings(
        schema=ACCEPTANCE_SCHEMA,
        utc=now,
        title=contract.title,
        file=contract.file,
        digest=contract.digest,
        outcome=_together([each.outcome for each in promises]),
        supplier=contract.risks.supplier,
        buyer=contract.risks.buyer,
        most_launches=contract.risks.launches,
        nodes=contract.nodes,
        commitments=judged.commitments,
        mean=contract.mean,
        score=None if score is None else score.value,
        score_ci95=None if score is None else score.interval,
        scale=contract.scale,
        penalty_cap=contract.cap,
        bonus_cap=contract.bonus_cap,
        currency=contract.currency,
        penalty=sum_of(penalties, contract.cap),
        bonus=sum_of([each.bonus for each in judged.commitments], contract.bonus_cap),
        runs=[_run(each) for each in runs],
        variations=judged.variations,
        availabilities=availabilities,
        promised_score=promised_score,
        attempts=list(attempts),
        gaps=list(gaps),
    )


@dataclass(frozen=True)
class JudgedItems:
    """The verdicts on what was measured."""

    commitments: list[JudgedCommitment]
    variations: list[JudgedVariation]
    #: The supplier's risk that Holm's procedure leaves for a promised score.
    risk: float


def judge_items(
    contract: Contract, items: Sequence[Item], varying: Sequence[VariationItem] = ()
) -> JudgedItems:
    """The verdicts on commitments and variations, at the risks that they have together."""
    verdicts = _verdicts(contract, items, varying)
    commitments = [
        _judged(contract, item, each)
        for item, each in zip(items, verdicts, strict=False)
        if not isinstance(each, VariationDecision)
    ]
    variations = [
        judged_variation(item, each if isinstance(each, VariationDecision) else None)
        for item, each in zip(varying, verdicts[len(items) :], strict=False)
    ]
    weights = _weights(contract, items, varying)
    still = math.fsum(
        weight for weight, each in zip(weights, verdicts, strict=True) if not _is_rejected(each)
    )
    return JudgedItems(commitments, variations, contract.risks.supplier / max(still, 1.0))


def _is_rejected(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.outcome == "rejected"


def _verdicts(
    contract: Contract, items: Sequence[Item], varying: Sequence[VariationItem]
) -> list[Verdict | None]:
    """The decisions on items, then on variations; None for those without a result, and at the end
    for a promised score, which are decided otherwise. All count among the promises."""
    buyer = contract.risks.buyer

    def at(place: int, risk: float) -> Verdict | None:
        if place < len(items):
            return verdict_of(contract, items[place], risk)
        if place < len(items) + len(varying):
            return varying[place - len(items)].decide(risk, buyer)
        return None

    weights = _weights(contract, items, varying)
    return corrected_outcomes(weights, at, _is_rejected, contract.risks.supplier)


def _weights(
    contract: Contract, items: Sequence[Item], varying: Sequence[VariationItem]
) -> list[float]:
    """Shares of the supplier's risk: promises have the same, which their cells divide."""
    series = Counter(each.promise.number for each in varying)
    return [
        *weights_of(items),
        *(1.0 / series[each.promise.number] for each in varying),
        *([1.0] if contract.promised_score is not None else []),
    ]


def _together(outcomes: Sequence[Outcome]) -> Outcome:
    if "rejected" in outcomes:
        return "rejected"
    return "undecided" if "undecided" in outcomes else "accepted"


def _judged(
    contract: Contract, item: Item, verdict: PromiseDecision | NodeDecision | None
) -> JudgedCommitment:
    commitment = item.commitment
    limits = commitment.limits(item.unit) if verdict is not None else PromisedRange(None, None)
    outcome: Outcome = "undecided" if verdict is None else verdict.outcome
    decision = verdict if isinstance(verdict, PromiseDecision) else None
    nodes = verdict if isinstance(verdict, NodeDecision) else None
    used = item.values[: decision.used or item.values.size] if decision else item.values
    value, ci95 = _value(item, used)
    shortfall, ends = _shortfall(item, limits, value, ci95, nodes)
    gain, gains = _gain(limits, value, ci95)
    speedup, speedups = _speedup(item, value, ci95)
    return JudgedCommitment(
        number=commitment.number,
        name=commitment.name,
        cell=item.cell,
        metric=item.metric,
        unit=item.unit,
        better=item.better,
        per=commitment.per,
        share=commitment.share,
        promise=limits.text(item.unit) if verdict is not None else _as_written(item),
        promised=limits.value if verdict is not None else None,
        low=limits.low,
        high=limits.high,
        margin=commitment.margin,
        outcome=outcome,
        value=value,
        ci95=ci95,
        decided_low=decision.low if decision else None,
        decided_high=decision.high if decision else None,
        launches=int(item.values.size),
        used=int(used.size) if decision is None or decision.used else 0,
        worth=decision.worth if decision else 0.0,
        assumed=decision.assumed if decision else False,
        needed=decision.needed if decision else None,
        nodes=nodes,
        node_range=_node_range(item),
        reason=reason_of(item, limits, verdict, value, contract.risks.buyer),
        remedy="" if outcome != "undecided" else remedy_of(item, verdict, contract.risks.launches),
        shortfall=shortfall,
        weight=commitment.weight,
        factor=commitment.capability * commitment.utilisation,
        speedup=speedup,
        speedup_ci95=speedups,
        penalty=amount_due(commitment.penalty, outcome, "rejected", shortfall, ends),
        bonus=amount_due(commitment.bonus, outcome, "accepted", gain, gains),
        reference=None if verdict is None else commitment.reference_value(item.unit),
        series=[] if item.nodes else item.values[: contract.risks.launches].tolist(),
        node_medians=_node_medians(item, nodes),
        runs=list(item.runs),
        toolchain=item.toolchain,
        measured=span_of(item.utc),
    )


def _node_medians(item: Item, decision: NodeDecision | None) -> list[NodeMedian]:
    slow = set() if decision is None else {each.node for each in decision.slow}
    found = [
        NodeMedian(node, float(np.median(each)), node in slow) for node, each in item.nodes.items()
    ]
    return sorted(found, key=lambda each: each.value)


def _as_written(item: Item) -> str:
    each = item.commitment
    if each.within is not None:
        return f"from {each.within[0]} to {each.within[1]}"
    return f"at least {each.at_least}" if each.at_least is not None else f"at most {each.at_most}"


def _value(item: Item, used: Floats) -> tuple[float | None, Interval | None]:
    """The median with its 95% interval; of a commitment per node, over the nodes' medians."""
    if item.missing:
        return None, None
    if item.nodes:
        medians = _medians(item)
        return float(np.median(medians)), median_interval(medians)
    return float(np.median(used)), launch_interval(used)


def _medians(item: Item) -> Floats:
    return np.array([float(np.median(each)) for each in item.nodes.values()])


def _node_range(item: Item) -> Interval | None:
    if not item.nodes:
        return None
    medians = _medians(item)
    return float(medians.min()), float(medians.max())


def worse_by(limits: PromisedRange, value: float) -> float:
    """The share of the promised value by which a value misses it; 0 if it doesn't."""
    if limits.low is not None and value < limits.low:
        return 1.0 - value / limits.low
    if limits.high is not None and value > limits.high:
        return value / limits.high - 1.0
    return 0.0


def better_by(limits: PromisedRange, value: float) -> float:
    """The share of the promised value by which a value exceeds it; 0 for a range."""
    if limits.low is not None and limits.high is None:
        return max(value / limits.low - 1.0, 0.0)
    if limits.high is not None and limits.low is None:
        return max(1.0 - value / limits.high, 0.0)
    return 0.0


def _shortfall(
    item: Item,
    limits: PromisedRange,
    value: float | None,
    ci95: Interval | None,
    nodes: NodeDecision | None,
) -> tuple[float | None, Interval | None]:
    """The shortfall and its range. Per node, slow nodes' shortfalls divided by all that were
    measured: the share of the machine's promised performance that is missing."""
    if value is None:
        return None, None
    if nodes is None:
        if ci95 is None:
            return worse_by(limits, value), None
        ends = [worse_by(limits, each) for each in ci95]
        return worse_by(limits, value), (0.0 if _meets(limits, ci95) else min(ends), max(ends))
    total = math.fsum(worse_by(limits, each.value) for each in nodes.slow) / nodes.sample
    intervals = [launch_interval(item.nodes[each.node]) for each in nodes.slow]
    if any(each is None for each in intervals):
        return total, None
    ends_of = [sorted(worse_by(limits, end) for end in each) for each in intervals if each]
    low, high = (math.fsum(each[end] for each in ends_of) / nodes.sample for end in (0, 1))
    return total, (low, high)


def _meets(limits: PromisedRange, interval: Interval) -> bool:
    """Whether any value of the interval is as promised."""
    low = -math.inf if limits.low is None else limits.low
    high = math.inf if limits.high is None else limits.high
    return interval[0] <= high and interval[1] >= low


def _gain(
    limits: PromisedRange, value: float | None, ci95: Interval | None
) -> tuple[float | None, Interval | None]:
    if value is None:
        return None, None
    gain = better_by(limits, value)
    if ci95 is None:
        return gain, None
    ends = sorted(better_by(limits, each) for each in ci95)
    return gain, (ends[0], ends[1])


def _speedup(
    item: Item, value: float | None, ci95: Interval | None
) -> tuple[float | None, Interval | None]:
    if value is None:
        return None, None
    reference = item.commitment.reference_value(item.unit)

    def ratio(each: float) -> float:
        return each / reference if item.better == "more" else reference / each

    if ci95 is None:
        return ratio(value), None
    ends = sorted(map(ratio, ci95))
    return ratio(value), (ends[0], ends[1])


def _run(each: ContractRun) -> JudgedRun:
    manifest = each.run.manifest
    processor = manifest.system.get("processor")
    model = processor.get("name") if isinstance(processor, dict) else None
    return JudgedRun(
        name=each.name,
        node=each.node,
        utc=manifest.utc,
        system=system_name(manifest, each.name if each.node else ""),
        assay=manifest.assay,
        toolchains=sorted({cell.toolchain for cell in manifest.plan.cells}),
        processor=str(model or ""),
        measurements=len(each.run.measurements),
        fake=manifest.fake is not None,
        imported=bool(manifest.imported),
    )
