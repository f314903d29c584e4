"""The answer on what to build, from the findings of a design."""

from __future__ import annotations

from assay.questions.common.answer import QUESTIONS, Answer, Confidence, Evidence
from assay.subjects.design.model import (
    ClusterDesign,
    DesignedCluster,
    RateSource,
    UncertainInput,
)
from assay.units import counted, format_probability, format_quantity, format_share

QUESTION = "design"
# Probabilities of being within 2% of the best from which confidence is high or medium.
_HIGH, _MEDIUM = 0.8, 0.5
# Minimum gain that makes an input worth a recommendation.
_WORTH = 0.002


def money(value: float, currency: str) -> str:
    """An amount of money with at least three digits: ``1,234,500 USD``."""
    return f"{value:,.0f} {currency}"


def answer(found: ClusterDesign) -> Answer:
    """Verdict, evidence, confidence and recommendations."""
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=QUESTIONS[QUESTION],
        status="answered",
        verdict=_verdict(found),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found),
        advice=_advice(found),
        caveats=[*_sources(found), *_assumed(found), *found.unknown],
        method=[
            f"Prices and rates were predicted for all {found.considered:,} combinations of parts "
            f"and numbers of nodes; {found.possible:,} of them meet the limits. Rates are "
            "combined by their weighted geometric mean.",
            f"Each uncertain figure was drawn {found.draws:,} times (seed {found.seed}). In each "
            "draw, every architecture gets the number of nodes that the budget allows at the "
            "drawn prices.",
        ],
        limits=[
            "Linpack is predicted from listed systems of the same size, memory, network and "
            "year; other predictions are closed forms. docs/methods/design.md states their "
            "assumptions and their errors against measured times. Closed forms let no work "
            "overlap.",
        ],
    )


def _verdict(found: ClusterDesign) -> str:
    first = found.best[0]
    text = (
        f"{counted(first.nodes, 'node')} of {first.name}: {money(first.price, found.currency)}, "
        f"{format_quantity(first.power, 'W')}"
    )
    if first.rates:
        text += f", {_rates(first)}"
    return f"{text}; probability {format_probability(first.likely)} of being within 2% of the best."


def _rates(one: DesignedCluster) -> str:
    return ", ".join(
        f"{rate.workload} {format_quantity(rate.rate, rate.unit, rate.interval)}"
        for rate in one.rates[:2]
    )


def _confidence(found: ClusterDesign) -> tuple[Confidence, str]:
    likely = found.best[0].likely
    known = found.figures - found.assumed
    why = (
        f"in {format_probability(likely)} of the draws, this architecture is within 2% of the "
        f"best; {known} of {counted(found.figures, 'figure')} of the parts are measured or quoted"
    )
    if likely >= _HIGH and found.assumed <= found.figures // 4:
        return "high", why
    return ("medium" if likely >= _MEDIUM else "low"), why


def _evidence(found: ClusterDesign) -> list[Evidence]:
    return [
        Evidence(
            label=f"predicted {rate.workload} of the best cluster",
            metric="rate",
            unit=rate.unit,
            value=rate.rate,
            ci95=rate.interval,
            note=f"limited by {rate.limit}, {format_share(rate.shares[rate.limit])} of the time",
        )
        for rate in found.best[0].rates
    ]


def _sources(found: ClusterDesign) -> list[str]:
    """For each rate of the best cluster with several sources: what each of them tells."""
    return [
        f"The rate of {rate.workload} combines "
        + "; ".join(_source(source, rate.unit) for source in rate.sources)
        + "."
        for rate in found.best[0].rates
        if rate.sources
    ]


def _source(source: RateSource, unit: str) -> str:
    text = f"{source.name}, {format_quantity(source.rate, unit)}"
    if source.weight is None:
        return f"{text}, as its bound"
    return f"{text} (weight {format_share(source.weight)})"


def _advice(found: ClusterDesign) -> list[str]:
    advice = []
    worth = [one for one in found.inputs if one.gain >= _WORTH]
    if worth:
        advice.append(f"Before you choose, find out {_input(worth[0])}.")
    if found.more is not None and found.more - 1.0 >= _WORTH:
        advice.append(
            f"With 110% of the budget, the predicted rate is {found.more:.3f} times as high. This "
            "follows from the catalogue's figures alone and has no interval."
        )
    elif found.more is not None:
        advice.append("With 110% of the budget, the predicted rate is the same.")
    rivals = [one for one in found.best[1:] if one.likely >= 0.2]
    if rivals:
        names = "; ".join(
            f"{one.nodes:,} × {one.name} ({format_probability(one.likely)})" for one in rivals[:3]
        )
        advice.append(f"Also ask for offers on: {names}.")
    return advice


def _input(one: UncertainInput) -> str:
    what = f"the {one.what} of {one.part}"
    if one.kind == "model":
        workload = one.what.removeprefix("model of ")
        what = (
            f"the rate of {workload} with {one.part} by measuring it, because the prediction is "
            "uncertain"
        )
    how = f" ({one.measure})" if one.measure else ""
    return (
        f"{what}{how}: on average, knowing it is worth {format_share(one.gain)} of the rate; in "
        f"{format_share(one.changes)} of its range, another architecture is better"
    )


def _assumed(found: ClusterDesign) -> list[str]:
    if not found.assumed:
        return []
    return [
        f"{found.assumed} of {counted(found.figures, 'figure')} of the parts are assumed: "
        "replace them with offers and measurements."
    ]
