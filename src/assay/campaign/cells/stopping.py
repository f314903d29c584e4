"""Rules by which a campaign stops measuring cells."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class JointRule(Protocol):
    """A rule that ends cells by the results of all cells together, such as a contract's.

    It looks after certain numbers of launches. A cell is also ended by its own launches (``enough``
    of ``CampaignState``).
    """

    def due(self, launches: int) -> bool:
        """Whether to look, if each cell that is still measured has this many launches."""
        ...

    def look(self) -> Collection[str]:
        """The ids of the cells that need no more launches, by the records."""
        ...
