"""The searches of a plan: their candidates among its cells, and the status of each search."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.models.placement.search import (
    PlacementCandidate,
    PlacementTrial,
    SearchRule,
    SearchStatus,
    search,
)


@dataclass(frozen=True)
class PlacementSearch:
    """One search: the same work on the same number of nodes, at all placements of the plan."""

    #: Its candidates in the plan's order, including candidates that are always measured.
    cells: tuple[Cell, ...]
    rule: SearchRule
    seed: int
    #: Expected times in s by cell id, from a profile; empty without a profile.
    forecasts: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def candidates(self) -> list[PlacementCandidate]:
        """The features of each cell for the search."""
        return [_candidate(cell) for cell in self.cells]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The place of each cell, by its id."""
        return {cell.id: place for place, cell in enumerate(self.cells)}

    @cached_property
    def likely(self) -> list[int]:
        """Positions of the cells by expected time, least first; one position for equal times."""
        by_time: dict[float, int] = {}
        for name, place in self.ids.items():
            if name in self.forecasts:
                by_time.setdefault(self.forecasts[name], place)
        return [by_time[time] for time in sorted(by_time)]

    def find(
        self, costs: Mapping[str, Mapping[int, float]], refused: Collection[str] = ()
    ) -> SearchStatus:
        """The search's status from costs in s by cell id and block. ``refused``: ids of failed
        cells."""
        trials = [
            PlacementTrial(place, block, cost)
            for name, place in self.ids.items()
            for block, cost in sorted(costs.get(name, {}).items())
        ]
        failed = {self.ids[name] for name in refused if name in self.ids}
        return search(
            candidates=self.candidates,
            trials=trials,
            rule=self.rule,
            seed=self.seed,
            refused=failed,
            likely=self.likely,
        )


def placement_searches(plan: Plan) -> list[PlacementSearch]:
    """Every search of a plan, in its cells' order; none if the plan declares none."""
    if plan.search is None:
        return []
    wanted = frozenset(plan.search.cells)
    groups: dict[bytes, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(_work_of(cell), []).append(cell)
    replication = plan.replication
    rule = SearchRule(
        plan.search.within,
        plan.search.probability,
        replication.min_launches,
        replication.max_launches,
    )
    expected = {name: one.time for name, one in plan.forecasts.items()}
    return [
        PlacementSearch(tuple(cells), rule, _seed(plan.seed, key), expected)
        for key, cells in groups.items()
        if any(cell.id in wanted for cell in cells)
    ]


def _work_of(cell: Cell) -> bytes:
    """The key that candidates of one search have in common."""
    placement = cell.placement
    parameters = dict(sorted(cell.parameters.items()))
    return msgspec.json.encode(
        (cell.kernel, parameters, cell.toolchain, placement.nodes, placement.node_set)
    )


def _candidate(cell: Cell) -> PlacementCandidate:
    placement = cell.placement
    words = (
        *(placement.binding, placement.order, placement.adapter or "default", placement.smt),
        f"{placement.devices} devices",
    )
    return PlacementCandidate((placement.ppn, placement.threads), words)


def _seed(seed: int, key: bytes) -> int:
    return int.from_bytes(hashlib.sha256(b"%d/" % seed + key).digest()[:4], "big")
