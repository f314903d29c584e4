"""The target of a plan: a machine, and what happens to levels that it can't do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.model.plan import PlanContext

if TYPE_CHECKING:
    from assay.plans.fitted_order import Matrix


@dataclass(frozen=True)
class Messages:
    """A command's communication matrix: bytes, shape (ranks, ranks), and its file."""

    matrix: Matrix
    where: str

    @property
    def ranks(self) -> int:
        """The number of ranks of the matrix."""
        return int(self.matrix.shape[0])


@dataclass
class Fitting:
    """The machine that a plan is made for, and results of expanding it.

    ``portable``: levels that the machine can't do are omitted with a note; otherwise they are
    errors. ``choices``: sentences on levels derived from the machine; ``pending``: those of the
    cell that is being made, by factor. ``searched``, ``measured``: ids of cells of measures that
    are a search, and of other measures; ``first``: of measures that go first. ``stretch``: factor
    on the time per launch of all cells, relative to the plan. ``messages``: a command's
    communication matrix, None if unknown; ``fitted``: ids of cells with a fitted order.
    """

    context: PlanContext
    portable: bool = False
    oversubscribe: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    choices: dict[str, None] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    searched: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    first: set[str] = field(default_factory=set)
    stretch: float = 1.0
    messages: Messages | None = None
    fitted: set[str] = field(default_factory=set)


class Infeasible(AssayError):
    """A valid level that this machine or kernel can't do."""
