"""Outcomes of the searches for the best placement, and the placements to use."""

from __future__ import annotations

from dataclasses import dataclass

from assay.questions.common.question import Measured
from assay.questions.placement.best.choices import (
    CheapestPlacement,
    LeastEnergy,
    WorkChoices,
    find_cheapest,
    find_choices,
    find_least_energy,
)
from assay.questions.placement.best.crossovers import (
    CrossoverSeries,
    find_series,
    node_stages,
    size_stages,
)
from assay.questions.placement.best.energy import EnergyStatus, energies, energy_status
from assay.questions.placement.best.outcomes import PlacementOutcome, failures, find_outcomes
from assay.questions.placement.ratios.findings import same_ranks
from assay.questions.placement.works import costs_of, work_key, works_of
from assay.records.model import RunData
from assay.system.model import System

# The price of one node per hour, in assay.toml.
PRICE = "node_hour"


@dataclass(frozen=True)
class NodePrice:
    """The price of one node."""

    #: Price of one node for an hour, in ``currency``.
    per_hour: float
    #: Currency of the price; None if the site sets no price.
    currency: str | None


@dataclass(frozen=True)
class SearchScope:
    """Sizes and numbers of nodes of the searches, to which the answer is limited."""

    #: Whether a benchmark was searched at several problem sizes.
    several_sizes: bool
    #: Numbers of nodes of the searches, ascending.
    node_counts: tuple[int, ...]
    #: Whether all searches used one node, and no ratio compares the same ranks on fewer nodes.
    one_node_only: bool
    #: Whether energy is known, or why not.
    energy: EnergyStatus


@dataclass(frozen=True)
class BestFindings:
    """The best placement of each work."""

    #: Outcome of each search, in the plan's order.
    outcomes: list[PlacementOutcome]
    #: Best placements for speed, cost and energy of each work whose searches have a verdict.
    choices: list[WorkChoices]
    #: Placement with the fewest node-seconds, for each work on several numbers of nodes.
    cheapest: list[CheapestPlacement]
    #: Placement with the least energy, for each work with known energy.
    least_energy: list[LeastEnergy]
    #: The best placement along problem sizes and numbers of nodes.
    series: list[CrossoverSeries]
    #: Problem sizes and numbers of nodes of the searches.
    scope: SearchScope
    #: Price of a node; None if the site sets none.
    price: NodePrice | None
    #: Hardware threads per core of the first host; 1 if unknown.
    threads_per_core: int
    #: Whether the run is complete.
    complete: bool

    @property
    def measured(self) -> list[PlacementOutcome]:
        """The searches with a placement that could be measured."""
        return [outcome for outcome in self.outcomes if outcome.point is not None]


def find(measured: Measured) -> BestFindings | None:
    """The outcomes of all searches of the run; None if its plan has none."""
    run, cells = measured.run, measured.cells
    outcomes = find_outcomes(cells, run)
    if not outcomes:
        return None
    known = [outcome for outcome in outcomes if outcome.point is not None]
    energy = energies(run)
    failed = failures(run, cells)
    sound = [cell for cell in cells if cell.id not in failed]
    searched = {work_key(outcome.work) for outcome in outcomes}
    own = [cell for cell in cells if work_key(cell.cell) in searched and cell.metrics]
    works = works_of(cells)
    system = System.known(run.manifest.system)
    return BestFindings(
        outcomes=outcomes,
        choices=find_choices(known, cells, failed, energy),
        cheapest=find_cheapest(cells, costs_of(run)),
        least_energy=find_least_energy(known, energy),
        series=[
            *find_series("sizes", size_stages(known)),
            *find_series("nodes", node_stages(sound)),
        ],
        scope=SearchScope(
            several_sizes=bool(size_stages(outcomes)),
            node_counts=tuple(sorted({cell.cell.placement.nodes for cell in own})),
            one_node_only=all(outcome.work.placement.nodes == 1 for outcome in outcomes)
            and not any(same_ranks(work) for work in works),
            energy=energy_status(energy, system, own),
        ),
        price=_price(run),
        threads_per_core=(system.processor.threads_per_core or 1) if system else 1,
        complete=run.complete,
    )


def _price(run: RunData) -> NodePrice | None:
    prices = run.manifest.prices
    amount = prices.amounts.get(PRICE)
    return None if amount is None else NodePrice(amount, prices.currency)
