"""What a plan is made for: a machine, and what to do with a level that this can't do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.model.plan import PlanContext

if TYPE_CHECKING:
    from assay.plans.fitted_order import Matrix


@dataclass(frozen=True)
class Messages:
    """What the ranks of a command send each other: bytes, shape (ranks, ranks), and its file."""

    matrix: Matrix
    where: str

    @property
    def ranks(self) -> int:
        """Of how many ranks it tells."""
        return int(self.matrix.shape[0])


@dataclass
class Fitting:
    """What to do with a level that this machine can't do: drop it with a note, or refuse.

    ``choices``: sentences on what was chosen by the machine; ``pending``: those of the cells that
    are just being made, by factor. ``searched``, ``measured``: ids of the cells of measures that
    are a search, and of those that are not. ``stretch``: how much more time a launch of all cells
    has than the plan gives it. ``messages``: what a command's ranks send each other,
    None if unknown; ``fitted``: ids of the cells whose order suits what theirs send.
    """

    context: PlanContext
    portable: bool = False
    oversubscribe: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    choices: dict[str, None] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    stretch: float = 1.0
    messages: Messages | None = None
    fitted: set[str] = field(default_factory=set)


class Infeasible(AssayError):
    """A level that is right by itself and too much, or too little, for this machine."""
