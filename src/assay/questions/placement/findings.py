"""Findings about placement: the findings of each topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.model.placement import Placement
from assay.questions.common.confidence import is_broken
from assay.questions.common.question import Measured, Topic
from assay.questions.common.topics import find_topics
from assay.questions.placement.best.findings import BestFindings
from assay.questions.placement.best.topic import TOPIC as BEST
from assay.questions.placement.causes.findings import CausesFindings
from assay.questions.placement.causes.topic import TOPIC as CAUSES
from assay.questions.placement.order.findings import OrderFindings
from assay.questions.placement.order.topic import TOPIC as ORDER
from assay.questions.placement.ratios.findings import RatioFindings
from assay.questions.placement.ratios.topic import TOPIC as RATIOS
from assay.questions.placement.steadiest.findings import SteadiestFindings
from assay.questions.placement.steadiest.topic import TOPIC as STEADIEST
from assay.questions.placement.toolchains.findings import ToolchainFindings
from assay.questions.placement.toolchains.topic import TOPIC as TOOLCHAINS
from assay.questions.placement.works import work_key
from assay.stats.core.model import CellSummary

# Topics in the order of figures and tables after a search.
TOPICS: tuple[Topic[Any], ...] = (BEST, STEADIEST, RATIOS, ORDER, TOOLCHAINS, CAUSES)
# Topics in the order of figures and tables without a search.
_COMPARED = (STEADIEST, TOOLCHAINS, ORDER, RATIOS, CAUSES)


@dataclass(frozen=True)
class PlacementFindings:
    """Findings of each topic; None if the topic was not measured."""

    #: Searches for the best placement.
    best: BestFindings | None
    #: Steadiest of equally fast placements.
    steadiest: SteadiestFindings | None
    #: Performance of several ranks per node over one.
    ratios: RatioFindings | None
    #: Effects of rank orders.
    order: OrderFindings | None
    #: Effects of factors that one plan crosses.
    toolchains: ToolchainFindings | None
    #: Causes of differences between placements: time breakdowns.
    causes: CausesFindings | None
    #: Cells of compared kernels without usable results.
    broken: list[CellSummary]
    #: Whether the run is complete.
    complete: bool
    #: Maximum number of placements at which the same work has a result.
    placements: int = 0


def find(measured: Measured) -> PlacementFindings:
    """The findings of each topic."""
    of_topics = find_topics(TOPICS, measured)
    orders, toolchains = of_topics[ORDER.name], of_topics[TOOLCHAINS.name]
    effects = orders.headline if orders else []
    programs = toolchains.programs if toolchains else []
    compared = {one.point.summary.kernel for one in effects}
    compared |= {one.best.summary.kernel for one in programs}
    return PlacementFindings(
        **of_topics,
        broken=[cell for cell in measured.cells if is_broken(cell) and cell.kernel in compared],
        complete=measured.run.complete,
        placements=_placements(measured.cells),
    )


def order(found: PlacementFindings) -> list[str]:
    """The names of the topics in the order of figures and tables."""
    return [topic.name for topic in (TOPICS if found.best is not None else _COMPARED)]


def _placements(cells: Sequence[CellSummary]) -> int:
    """Maximum number of placements at which the same work has a result; 0 without results."""
    of_works: dict[str, set[Placement]] = {}
    for cell in cells:
        if cell.metrics and not is_broken(cell):
            of_works.setdefault(work_key(cell.cell), set()).add(cell.cell.placement)
    return max(map(len, of_works.values()), default=0)
