"""The answer on what to build, from the findings of a design."""

from __future__ import annotations

from pathlib import PurePath

from assay.questions.common.answer import QUESTIONS, Answer, Confidence, Evidence
from assay.subjects.design.model import (
    ClusterDesign,
    DesignedCluster,
    RateSource,
    RentedNodes,
    UncertainInput,
)
from assay.units import MISSING, counted, counted_verb, format_chance, format_quantity, format_share

QUESTION = "design"
# Probabilities of being within 2% of the best from which confidence is high or medium.
_HIGH, _MEDIUM = 0.8, 0.5
# Share of the price on assumed figures from which confidence is low, and share of figures and price
# up to which it may be high.
_ALL_ASSUMED, _FEW = 0.9, 0.25
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
        caveats=[*_sources(found), *_assumed(found), *_offers(found), *found.unknown],
        method=[
            f"Prices and rates were predicted for {counted(found.considered, 'combination')} of "
            f"parts and numbers of nodes; {found.possible:,} of them meet the limits. Rates are "
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
    text = f"{counted(first.nodes, 'node')} of {first.name}: "
    if first.total is None or first.yearly is None:
        text += money(first.price, found.currency)
    else:
        text += (
            f"{money(first.price, found.currency)} to buy and "
            f"{money(first.yearly, found.currency)} per year, "
            f"{money(first.total, found.currency)} in {years(found.years)}"
        )
    text += f", {format_quantity(first.power, 'W')}"
    if first.rates:
        text += f", {_rates(first)}"
    if first.storage:
        text += f", storage {format_quantity(first.storage.bandwidth, 'B/s')}"
    if first.likely is None:
        return f"{text}; {_no_choice(found)}."
    return f"{text}; probability {_chance(found, first.likely)} of being within 2% of the best."


def _no_choice(found: ClusterDesign) -> str:
    if found.kinds == 1:
        return "no choice was made: the specification allows one architecture only"
    return (
        f"no choice was made: of {counted(found.kinds, 'architecture')}, this one alone meets the "
        "limits"
    )


def _chance(found: ClusterDesign, likely: float) -> str:
    """A probability counted in draws, without digits that the number of draws can't support."""
    if 0.01 <= likely <= 0.99:
        return f"{likely:.0%}"
    return format_chance(likely, max(1.0 / found.draws, 0.001))


def years(number: float | None) -> str:
    """A number of years: ``5 years``, ``1 year``, ``2.5 years``."""
    text = f"{number or 0.0:g}"
    return f"{text} year" if text == "1" else f"{text} years"


def _rates(one: DesignedCluster) -> str:
    return ", ".join(
        f"{rate.workload} {format_quantity(rate.rate, rate.unit, rate.interval)}"
        for rate in one.rates[:2]
    )


def _confidence(found: ClusterDesign) -> tuple[Confidence, str]:
    first = found.best[0]
    known = found.figures - found.assumed
    figures = (
        f"{known} of {counted(found.figures, 'figure')} of the parts are measured or quoted; "
        f"assumed figures make up {format_share(first.assumed)} of the price"
    )
    if first.assumed >= _ALL_ASSUMED:
        nearly = f"{format_share(first.assumed)} of the price is assumed"
        return "low", f"{nearly}; {known} of {counted(found.figures, 'figure')} are known"
    if first.likely is None:
        return "medium", f"{_no_choice(found)}; {figures}"
    why = (
        f"in {_chance(found, first.likely)} of the draws, this architecture is within 2% of the "
        f"best; {figures}"
    )
    few = found.assumed <= found.figures * _FEW and first.assumed <= _FEW
    if first.likely >= _HIGH and few:
        return "high", why
    return ("medium" if first.likely >= _MEDIUM else "low"), why


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
    what = "rate" if found.objective == "rate" else "rate per cost"
    if found.more is not None and found.more - 1.0 >= _WORTH:
        advice.append(
            f"With 110% of the budget, the predicted {what} is {found.more:.3f} times as high. "
            "This follows from the catalogue's figures alone and has no interval."
        )
    elif found.more is not None:
        advice.append(f"With 110% of the budget, the predicted {what} is the same.")
    advice += [*_lots(found), *_rented(found), *_needs(found)]
    rivals = [(one, one.likely) for one in found.best[1:] if one.likely and one.likely >= 0.2]
    if rivals:
        names = "; ".join(
            f"{one.nodes:,} × {one.name} ({_chance(found, likely)})" for one, likely in rivals[:3]
        )
        advice.append(f"Also ask for offers on: {names}.")
    return advice


def _lots(found: ClusterDesign) -> list[str]:
    if not found.lots or found.lot_after is None:
        return []
    best = max(found.lots, key=lambda lot: lot.work)
    after, whole = years(found.lot_after), years(found.lot_years)
    if best.share == 1.0:
        second = max(found.lots[1:], key=lambda lot: lot.work)
        return [
            f"Buy everything now: every part of the budget kept for {after} does less work in "
            f"{whole} (with {format_share(1.0 - second.share)} kept, "
            f"{format_share(second.work)} of it)."
        ]
    parts = f"{best.first or 'nothing'} now and {best.second or 'nothing'} after {after}"
    gap = "" if best.first else "; until then there is no machine"
    return [
        f"In {whole}, two lots do {format_share(best.work)} of the work that buying everything now "
        f"does: {parts}{gap}. This rests on the stated changes of prices and rates."
    ]


def _rented(found: ClusterDesign) -> list[str]:
    advice = []
    for one in found.rented:
        if one.number is None:
            advice.append(
                f"{one.name} can't replace this cluster: "
                f"{counted_verb(one.most, 'instance', 'are')} slower."
            )
            continue
        rented = f"{counted(one.number, 'instance')} of {one.name}"
        assert one.buying is not None
        buying = (
            f"at the stated load, buying is cheaper in {_chance(found, one.buying)} of the draws"
        )
        if one.break_even is None:
            text = f"Renting {rented} is cheaper at every utilisation"
        elif one.break_even > 1.0:
            text = f"Renting {rented} is cheaper even if the cluster never idles"
        else:
            text = f"Buying is cheaper than renting {rented} above {break_even(one)} utilisation"
        advice.append(f"{text}; {buying}.")
    return advice


def break_even(one: RentedNodes) -> str:
    """The utilisation at which both cost the same, with its interval."""
    if one.number is None or one.interval is None:
        return MISSING
    low, high = one.interval
    if one.break_even is None or one.break_even > 1.0 or low is None:
        return "above 100%"
    if high is None or high > 1.0:
        return f"{format_share(one.break_even)} [{format_share(low)}, above 100%]"
    return format_share(one.break_even, (low, high))


def _needs(found: ClusterDesign) -> list[str]:
    advice = []
    for one in found.needs:
        limits = [
            f"a latency up to {format_quantity(one.latency, 's')}" if one.latency else "",
            f"{format_quantity(one.bandwidth, 'B/s')} per node" if one.bandwidth else "",
        ]
        needs = " and ".join(filter(None, limits))
        if not needs:
            advice.append(f"{one.workload} sends nothing between nodes: no network pays for it.")
            continue
        enough = [network.name for network in one.networks if network.meets]
        text = f"{one.workload} needs {needs} for messages to cost at most 10% of its computing"
        paid = (
            f"of the networks here, {', '.join(enough)} {'meets' if len(enough) == 1 else 'meet'} "
            "this"
            if enough
            else "no network here meets this"
        )
        advice.append(f"{text}; {paid}.")
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
        f"{what}{how}: on average, knowing it is worth {format_chance(one.gain)} of the rate; in "
        f"{format_chance(one.changes)} of its range, another architecture is better"
    )


def _assumed(found: ClusterDesign) -> list[str]:
    if not found.assumed:
        return []
    return [
        f"{found.assumed} of {counted(found.figures, 'figure')} of the parts are assumed: "
        "replace them with offers and measurements."
    ]


def _offers(found: ClusterDesign) -> list[str]:
    return [
        f"The offer of {offer.vendor} ends on {offer.expires} ({PurePath(offer.where).name})."
        for offer in found.offers
    ]
