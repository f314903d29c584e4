"""Reads what a contract promises besides commitments: a score, availability, little variation."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass

from assay.acceptance.contract import (
    AvailabilityPromise,
    Payment,
    Quantity,
    ScorePromise,
    VariationPromise,
    WrittenContract,
    WrittenSteadiness,
)
from assay.config.expectation import check_pattern
from assay.toml import KeyPath, TomlDocument
from assay.units import parse_quantity

# A greater margin shows a misunderstanding. Variations are known badly, so that their margins are
# great: few launches can't tell 2% from 3%.
MOST_MARGIN, _MOST_VARIATION_MARGIN, _VARIATION_MARGIN = 0.5, 10.0, 1.0
_MOST_DAYS = 3660
_OF_AVAILABILITY = ("begin", "days", "planned", "penalty", "penalty_cap")
_OF_VARIATION = ("cells", "metric", "between", "margin")


@dataclass(frozen=True)
class FurtherPromises:
    """The promises of a contract that are not commitments."""

    score: ScorePromise | None
    availabilities: tuple[AvailabilityPromise, ...]
    variations: tuple[VariationPromise, ...]


def further_promises(
    document: TomlDocument, written: WrittenContract, margin: float, nodes: int | None
) -> FurtherPromises:
    """The promises, without contradictions. ``margin``: of ``[risks]``. Raises AssayError with line
    and fix."""
    currency = written.penalties is not None
    availabilities, variations = [], []
    for place, each in enumerate(written.steadiness):
        path: list[str | int] = ["steadiness", place]
        given = [n for n in ("availability", "variation_at_most") if getattr(each, n) is not None]
        if len(given) != 1:
            said = "both 'availability' and 'variation_at_most'" if given else "no promised value"
            raise document.error(
                path,
                f"The promise of steadiness has {said}.",
                'Write one of availability = "98%" and variation_at_most = "2%".',
            )
        _check_keys(document, path, each, given[0])
        if each.availability is not None:
            availabilities.append(_availability(document, path, each, nodes, currency=currency))
        else:
            variations.append(_variation(document, path, each))
    return FurtherPromises(
        _score(document, written, margin, currency=currency),
        tuple(availabilities),
        tuple(variations),
    )


def _check_keys(document: TomlDocument, path: KeyPath, each: WrittenSteadiness, bound: str) -> None:
    others = _OF_VARIATION if bound == "availability" else _OF_AVAILABILITY
    for name in others:
        if getattr(each, name) is not None:
            raise document.error(
                [*path, name],
                f"'{name}' has no meaning beside '{bound}'.",
                "Remove it, or write another [[steadiness]] for it.",
            )


def _availability(
    document: TomlDocument,
    path: KeyPath,
    written: WrittenSteadiness,
    nodes: int | None,
    *,
    currency: bool,
) -> AvailabilityPromise:
    if nodes is None:
        raise document.error(
            [*path, "availability"],
            "The contract states no nodes, so that it has no node hours.",
            "Add [machine] with nodes = 400, or hosts in bracket notation.",
        )
    if written.begin is None or written.days is None:
        raise document.error(
            path,
            "The availability has no period.",
            "Add begin = 2026-06-01, the first day, and days = 30.",
        )
    begin = _day(document, [*path, "begin"], written.begin)
    if not 1 <= written.days <= _MOST_DAYS:
        raise document.error(
            [*path, "days"],
            f"A period can't have {written.days} days.",
            f"Write a number from 1 to {_MOST_DAYS:,}.",
        )
    assert written.availability is not None
    at_least = float(
        parse_quantity(written.availability, "1", where=document.where([*path, "availability"]))
    )
    if not 0.0 < at_least <= 1.0:
        raise document.error(
            [*path, "availability"],
            f"'availability' can't be {written.availability}.",
            "Write a share above 0 and at most 100%.",
        )
    _check_currency(document, path, written.penalty, currency=currency)
    number = int(path[-1]) + 1
    return AvailabilityPromise(
        number=number,
        name=written.name or f"Availability from {begin.isoformat()} on",
        at_least=at_least,
        begin=begin,
        days=written.days,
        planned_excluded=written.planned == "excluded",
        penalty=read_payment(document, path, "penalty", written.penalty, written.penalty_cap),
        where=document.where(path),
    )


def _day(document: TomlDocument, path: KeyPath, written: object) -> datetime.date:
    """A day, as a day of TOML or as text."""
    found = written
    if isinstance(written, str):
        try:
            found = datetime.date.fromisoformat(written)
        except ValueError:
            found = None
    if type(found) is not datetime.date:
        raise document.error(
            path, f"'begin' is not a day: {written}.", "Write the first day as 2026-06-01."
        )
    return found


def _variation(
    document: TomlDocument, path: KeyPath, written: WrittenSteadiness
) -> VariationPromise:
    if written.cells is None:
        raise document.error(
            path, "The variation has no cells.", 'Add cells = "memory.stream op=triad".'
        )
    check_pattern(document, [*path, "cells"], written.cells)
    assert written.variation_at_most is not None
    return VariationPromise(
        number=int(path[-1]) + 1,
        name=written.name or f"Variation of {written.cells}",
        cells=written.cells,
        metric=written.metric,
        at_most=read_share(document, [*path, "variation_at_most"], written.variation_at_most, 1.0),
        between=written.between or "launches",
        margin=_VARIATION_MARGIN
        if written.margin is None
        else read_share(document, [*path, "margin"], written.margin, _MOST_VARIATION_MARGIN),
        where=document.where(path),
    )


def _score(
    document: TomlDocument, written: WrittenContract, margin: float, *, currency: bool
) -> ScorePromise | None:
    score = written.score
    if score is None:
        return None
    path = ["score"]
    if score.at_least is None:
        for name in ("margin", "penalty", "penalty_cap"):
            if getattr(score, name) is not None:
                raise document.error(
                    [*path, name],
                    f"'{name}' has no meaning: no score is promised.",
                    f"Add at_least = 1.0, the promised score, or remove '{name}'.",
                )
        return None
    if not 0.0 < score.at_least < math.inf:
        raise document.error(
            [*path, "at_least"], f"A score can't be {score.at_least:g}.", "Write a number above 0."
        )
    _check_currency(document, path, score.penalty, currency=currency)
    return ScorePromise(
        at_least=score.at_least,
        margin=margin
        if score.margin is None
        else read_share(document, [*path, "margin"], score.margin, MOST_MARGIN),
        penalty=read_payment(document, path, "penalty", score.penalty, score.penalty_cap),
    )


def _check_currency(
    document: TomlDocument, path: KeyPath, amount: float | None, *, currency: bool
) -> None:
    if amount is not None and not currency:
        raise document.error(
            [*path, "penalty"],
            "The amount has no currency.",
            'Add [penalties] with currency = "EUR".',
        )


def read_share(document: TomlDocument, path: KeyPath, written: Quantity, most: float) -> float:
    """A share above 0 and below ``most``."""
    value = float(parse_quantity(written, "1", where=document.where(path)))
    if not 0.0 < value < most:
        raise document.error(
            path,
            f"'{path[-1]}' can't be {written}.",
            f"Write a share above 0 and below {most:,.0%}, such as 5%.",
        )
    return value


def read_payment(
    document: TomlDocument, path: KeyPath, name: str, amount: float | None, cap: float | None
) -> Payment | None:
    """An amount per per cent with its maximum; None without one."""
    check_amount(document, [*path, name], amount)
    check_amount(document, [*path, f"{name}_cap"], cap)
    if amount is None:
        if cap is not None:
            raise document.error(
                [*path, f"{name}_cap"],
                f"'{name}_cap' limits nothing: there is no '{name}'.",
                f"Add {name} = 5000, an amount per per cent, or remove the cap.",
            )
        return None
    return Payment(amount, cap)


def check_amount(document: TomlDocument, path: KeyPath, amount: float | None) -> None:
    """Raise AssayError for an amount that is not above 0."""
    if amount is not None and not 0.0 < amount < math.inf:
        raise document.error(
            path, f"'{path[-1]}' can't be {amount:g}.", "Write an amount above 0, or remove it."
        )
