"""The decisions on all commitments of a contract together, also while they are measured."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from assay.acceptance.boundaries import looks_of
from assay.acceptance.contract import Contract
from assay.acceptance.decision import PromiseDecision, corrected_outcomes, decide
from assay.acceptance.measured import Item, items_of, measured_run
from assay.acceptance.node_decision import NodeDecision, decide_nodes
from assay.records.model import RunData
from assay.stats.cells.pattern import selects

Verdict = PromiseDecision | NodeDecision


def weights_of(items: Sequence[Item]) -> list[float]:
    """The shares of the supplier's risk, not normalised: each promise has 1, its cells divide it.

    Only the contract determines the risk of a promise. A run that measures some promises therefore
    decides as all runs together.
    """
    cells = Counter(item.commitment.number for item in items)
    return [1.0 / cells[item.commitment.number] for item in items]


def further_weights(contract: Contract) -> list[float]:
    """The same for promises of little variation and of a score."""
    return [1.0] * (len(contract.variations) + (contract.promised_score is not None))


def verdict_of(contract: Contract, item: Item, risk: float) -> Verdict | None:
    """The decision on a commitment at a supplier's risk; None without a result."""
    commitment, buyer = item.commitment, contract.risks.buyer
    if item.missing:
        return None
    limits = commitment.limits(item.unit)
    if commitment.per == "node":
        assert contract.nodes is not None
        return decide_nodes(
            values=item.nodes,
            limits=limits,
            margin=commitment.margin,
            share=commitment.share,
            nodes=contract.nodes,
            supplier=risk,
            buyer=buyer,
        )
    return decide(
        values=item.values,
        limits=limits,
        margin=commitment.margin,
        dependence=item.dependence,
        supplier=risk,
        buyer=buyer,
        launches=contract.risks.launches,
    )


def verdicts_of(contract: Contract, items: Sequence[Item]) -> list[Verdict | None]:
    """The decisions on commitments, where other promises are still open; None for items without a
    result, which count among the promises."""

    def at(place: int, risk: float) -> Verdict | None:
        return verdict_of(contract, items[place], risk) if place < len(items) else None

    def is_rejected(verdict: Verdict | None) -> bool:
        return verdict is not None and verdict.outcome == "rejected"

    weights = [*weights_of(items), *further_weights(contract)]
    found = corrected_outcomes(weights, at, is_rejected, contract.risks.supplier)
    return found[: len(items)]


class ContractStop:
    """The looks of a contract at one running measurement, and what they decide.

    A cell on which every commitment is decided at a look is not measured further. What is decided
    at a look depends only on launches up to this look, so that an interrupted measurement continues
    as if it had not been interrupted, and the verdict on the stored run is the verdict that ended
    the measurement.

    ``read``: reads the records. Commitments per node never end a measurement, because one node
    doesn't decide them. A promise of little variation needs all launches of its cells, a promised
    score those of all cells.
    """

    def __init__(self, contract: Contract, read: Callable[[], RunData]) -> None:
        self._contract = contract
        self._read = read
        self._looks = list(looks_of(contract.risks.launches))

    def due(self, launches: int) -> bool:
        """Whether a look is due if every cell that is still measured has this many launches."""
        return bool(self._looks) and self._looks[0] <= launches

    def look(self) -> Collection[str]:
        """The ids of the cells that the next look decides."""
        size = self._looks.pop(0)
        run = self._read()
        first = tuple(each for each in run.measurements if each.replicate < size)
        run = dataclasses.replace(run, measurements=first)
        measured = measured_run(run, run.manifest.run)
        items = items_of(self._contract, [measured])
        verdicts = verdicts_of(self._contract, items)
        decided: set[str] = set()
        needed: set[str] = set()
        for item, verdict in zip(items, verdicts, strict=True):
            if item.commitment.per == "system" and verdict is not None:
                open_ = verdict.outcome == "undecided"
                (needed if open_ else decided).add(item.id)
            elif item.commitment.per == "node":
                needed.add(item.id)
        if self._contract.promised_score is not None:
            needed.update(item.id for item in items)
        for promise in self._contract.variations:
            needed.update(cell.id for cell in measured.cells if selects(promise.cells, cell))
        return decided - needed
