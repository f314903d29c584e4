"""The interface of a campaign's observers, such as the progress display."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from assay.campaign.cells.cell_state import CellState
from assay.campaign.engine.state import CampaignState
from assay.launch.executor import LaunchOrder
from assay.model.cell import Cell
from assay.records.schema import StreamRecord


class Observer(Protocol):
    """An observer of a campaign, such as the progress display."""

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """Note that a launch is about to start."""
        ...

    def record(self, record: StreamRecord) -> None:
        """Note that a record has arrived."""
        ...

    def measured(self, state: CellState) -> None:
        """Note that a measurement was added to the state of its cell."""
        ...

    def tick(self, state: CampaignState) -> None:
        """Note that time has passed."""
        ...

    def note(self, sentence: str) -> None:
        """Report a decision that readers of the numbers should know."""
        ...
