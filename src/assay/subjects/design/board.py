"""What a board needs of a design: which cluster, its rates, price and costs, what to find out."""

from __future__ import annotations

from assay.subjects.board import Board, Headline, answer_board
from assay.subjects.design.answer import answer, money, years
from assay.subjects.design.model import ClusterDesign
from assay.units import counted, format_chance, format_memory, format_quantity, format_share

_MOST_RATES = 3
_MOST_COSTS = 3


def board(found: ClusterDesign) -> Board:
    """The board."""
    return answer_board(
        answer(found),
        counted(found.best[0].nodes, "node"),
        headlines=_headlines(found),
        what=_what(found),
        does=_does(found),
        costs=_costs(found),
    )


def _headlines(found: ClusterDesign) -> list[Headline]:
    first = found.best[0]
    budget = f"of {money(found.budget, found.currency)}" if found.budget else "to buy"
    lines = [Headline("Price", money(first.price, found.currency), budget)]
    if first.total is not None:
        total = money(first.total, found.currency)
        lines.append(Headline("Price and use", total, f"in {years(found.years)}"))
    lines.append(Headline("Power", format_quantity(first.power, "W"), counted(first.racks, "rack")))
    lines += [
        Headline(
            rate.workload,
            format_quantity(rate.rate, rate.unit, rate.interval),
            f"predicted; limited by {rate.limit}",
        )
        for rate in first.rates[:_MOST_RATES]
    ]
    return lines


def _what(found: ClusterDesign) -> list[str]:
    first = found.best[0]
    spares = f" and {counted(first.spares, 'spare')}" if first.spares else ""
    return [
        f"{counted(first.nodes, 'node')}{spares} of {first.name}.",
        f"{counted(first.cores, 'core')}, {format_memory(first.memory)} of memory.",
    ]


def _does(found: ClusterDesign) -> list[str]:
    first = found.best[0]
    sentences = [f"{found.possible:,} of {found.considered:,} clusters meet the limits."]
    if first.storage is not None:
        speed = format_quantity(first.storage.bandwidth, "B/s")
        sentences.append(f"All nodes together read and write {speed} of {first.storage.name}.")
    sentences += [
        f"With its Linpack rate it would be number {place.rank} of the TOP500 of {place.date}."
        for place in first.places[:1]
        if place.rank is not None
    ]
    for other in found.best[1:2]:
        likely = "" if other.likely is None else f", probability {format_chance(other.likely)}"
        sentences.append(
            f"Next best: {counted(other.nodes, 'node')} of {other.name}, with "
            f"{format_share(other.rate)} of the rate for "
            f"{money(other.price, found.currency)}{likely}."
        )
    return sentences


def _costs(found: ClusterDesign) -> list[str]:
    first = found.best[0]
    sentences = [f"{money(first.price, found.currency)} to buy."]
    if first.yearly is not None:
        sentences.append(f"{money(first.yearly, found.currency)} per year of use.")
        largest = sorted(first.costs, key=lambda line: -line.whole)[:_MOST_COSTS]
        sentences += [
            f"{line.what}: {money(line.per_year, found.currency)} per year ({line.kind})."
            for line in largest
        ]
    else:
        sentences.append("The specification states no costs of use.")
    if first.assumed:
        sentences.append(f"{format_share(first.assumed)} of the price rests on assumed figures.")
    return sentences
