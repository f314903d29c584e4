"""Acceptance of scores and variations: wrong decisions on simulated machines.

A promised variation has a margin of 100%: a machine at the bound may be rejected, and one that
varies twice as much accepted, with 5% each. Launches have the shapes of the other tables, and
their evidence of dependence comes from themselves, or from four further cells of the same run. The
score of five commitments on times has a margin of 2%; its contract allows 30 launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from acceptance import DEPENDENT, LAUNCHES, median_of
from draws import COV, SHAPES, TRUE_COV, Draw, Rng
from rate import Rate

from assay.acceptance.contract import Contract
from assay.acceptance.decision import Dependence
from assay.acceptance.measured import Item
from assay.acceptance.reading.contracts import contract_of
from assay.acceptance.steadiness import VariationDecision, decide_variation
from assay.stats.cells.dependence import LaunchSeries, dependence_limits
from assay.subjects.acceptance.findings import judge_items
from assay.subjects.acceptance.further import judged_score, score_found
from assay.subjects.acceptance.model import JudgedScore
from assay.toml import parse_toml

RISK, MARGIN, TERMS, OTHERS = 0.05, 1.0, 5, 4
# The true coefficient of variation of 30% of launches that are 40% slower, each with 2%.
_SECOND = 1e4 * (1.0 + COV**2) * (0.7 + 0.3 * 1.4**2)
TRUE = {
    **TRUE_COV,
    "two modes": (_SECOND - 112.0**2) ** 0.5 / 112.0,
    **dict.fromkeys(DEPENDENT, COV),
}
DRAWS: dict[str, Draw] = {**SHAPES, **DEPENDENT}


def rates(trials: int, seed: int) -> Iterable[Rate]:
    yield from _variations(trials, seed)
    yield from _scores(trials, seed)


def _variations(trials: int, seed: int) -> Iterator[Rate]:
    for number, (name, draw) in enumerate(DRAWS.items()):
        for launches, others in ((16, OTHERS), (30, 0), (30, OTHERS), (100, 0)):
            rng = np.random.default_rng((seed, number, launches, others))
            cells = "its own evidence" if others == 0 else "five cells"
            said = f"{name}, {launches} launches, {cells}"
            for times in (1.0, 1.0 + MARGIN):
                outcomes = [
                    _varying(rng, draw, TRUE[name] / times, launches, others).outcome
                    for _ in range(trials)
                ]
                yield from _rows("a variation", outcomes, said, times, trials)


def _rows(what: str, found: list[str], said: str, times: float, trials: int) -> Iterator[Rate]:
    rejected, accepted = found.count("rejected"), found.count("accepted")
    if times == 1.0:
        said = f"as promised, {said}"
        yield Rate(f"{what} is rejected", said, rejected, trials, RISK, "false alarm")
        yield Rate(f"{what} is accepted", said, accepted, trials, 0.0, "detection")
    else:
        said = f"worse by the margin, {said}"
        yield Rate(f"{what} is accepted", said, accepted, trials, RISK, "false alarm")
        yield Rate(f"{what} is rejected", said, rejected, trials, 0.0, "detection")


def _varying(rng: Rng, draw: Draw, bound: float, launches: int, others: int) -> VariationDecision:
    cells = [draw(rng, launches) for _ in range(1 + others)]
    return decide_variation(
        cells[0], bound, MARGIN, _evidence(cells)[0] if others else Dependence(), RISK, RISK
    )


def _evidence(cells: list[np.ndarray]) -> list[Dependence]:
    numbers = range(cells[0].size)
    found = dependence_limits([LaunchSeries(numbers, each) for each in cells])
    return [Dependence(each.cells, each.autocorrelation) for each in found]


def _contract(at_least: float) -> Contract:
    text = (
        f'schema = 1\ntitle = "Score"\n[score]\nat_least = {at_least!r}\n'
        '[[commitment]]\ncells = "network.barrier"\nmetric = "time"\nat_most = "100 s"\n'
    )
    return contract_of(parse_toml(text, Path("contract.toml")))


def _scored(rng: Rng, name: str, contract: Contract) -> JudgedScore:
    """Five cells whose true medians are the promised ones: the true score is 1."""
    cells = [
        100.0 * (1.0 + (DRAWS[name](rng, LAUNCHES) / median_of(name) - 1.0) * 0.01 / COV)
        for _ in range(TERMS)
    ]
    items = [
        Item(
            commitment=contract.commitments[0],
            cell=str(place),
            metric="time",
            unit="s",
            better="less",
            values=values,
            dependence=lambda launches, evidence=evidence: evidence,
        )
        for place, (values, evidence) in enumerate(zip(cells, _evidence(cells), strict=True))
    ]
    judged = judge_items(contract, items).commitments
    value = score_found(contract, items, judged)
    found = judged_score(contract, items, judged, RISK / (TERMS + 1), value)
    assert found is not None
    return found


def _scores(trials: int, seed: int) -> Iterator[Rate]:
    for number, name in enumerate(DRAWS):
        rng = np.random.default_rng((seed, 1000 + number))
        # Promised, and promised so that a score of 1 is worse by the margin.
        for times, at_least in ((1.0, 1.0), (2.0, 1.0 / 0.98)):
            contract = _contract(at_least)
            found = [_scored(rng, name, contract).outcome for _ in range(trials)]
            yield from _rows(
                "a score", list(found), f"{name}, CoV 1.0%, 30 launches", times, trials
            )
