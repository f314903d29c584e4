"""The target of a plan: a machine, and the treatment of levels that this machine can't do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.model.placement import Value
from assay.model.plan import PlanContext

if TYPE_CHECKING:
    from assay.arrays import Floats


@dataclass(frozen=True)
class Messages:
    """A command's communication matrix: bytes, shape (ranks, ranks), and its file."""

    matrix: Floats
    where: str

    @property
    def ranks(self) -> int:
        """The number of ranks of the matrix."""
        return int(self.matrix.shape[0])


# A requested level: its factor, the level as written, and its value (None if it has no value here).
Level = tuple[str, int, Value | None]


@dataclass
class RequestedLevels:
    """Levels that the user requests on the command line. Each is measured, or the plan is refused.

    A suite's own levels that a machine can't do are left out with a note, since suites are written
    for all machines. Leaving out a level that the user requested would answer another question.
    """

    #: The levels that the user gave, as factor and identity of the written level, which excludes
    #: the plan's own levels of the same factor.
    given: Collection[tuple[str, int]] = ()
    _met: set[Level] = field(default_factory=set)
    _refused: dict[Level, list[tuple[bool, AssayError]]] = field(default_factory=dict)

    def met(self, levels: Iterable[Level]) -> None:
        """Note that a cell has these levels."""
        self._met.update(level for level in levels if level[:2] in self.given)

    def not_met(self, levels: Sequence[Level], why: AssayError) -> None:
        """Note that a cell with these levels can't be measured; the last level is usually the
        reason.
        """
        for level in levels:
            if level[:2] in self.given:
                self._refused.setdefault(level, []).append((level == levels[-1], why))

    def check(self) -> None:
        """Raise the first reason why no cell has a requested level."""
        written = {(factor, place) for factor, place, _ in self._met}
        unmet = [
            (not own, level, why)
            for level, reasons in self._refused.items()
            if level not in self._met and (level[2] is not None or level[:2] not in written)
            for own, why in reasons[:1]
        ]
        for _, (factor, _, value), why in sorted(unmet, key=lambda each: each[0]):
            where = why.where if value is None else f"{factor}={value}"
            raise AssayError(why.what, where=where, fix=why.fix)


@dataclass
class Fitting:
    """The machine that a plan is made for, and results of expanding it."""

    context: PlanContext
    #: Levels that the machine can't do are omitted with a note; otherwise they are errors.
    portable: bool = False
    oversubscribe: bool = False
    notes: dict[str, None] = field(default_factory=dict)
    #: Sentences on levels derived from the machine.
    choices: dict[str, None] = field(default_factory=dict)
    #: Requested levels of the cell that is being made, by factor.
    pending: dict[str, str] = field(default_factory=dict)
    #: ``searched``, ``measured``: ids of cells of search measures, and ids of other cells.
    searched: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    #: Ids of cells of measures that go first.
    first: set[str] = field(default_factory=set)
    #: Time per launch of all cells relative to the plan's, as a factor.
    stretch: float = 1.0
    #: A command's communication matrix, None if unknown.
    messages: Messages | None = None
    #: Ids of cells with a fitted order.
    fitted: set[str] = field(default_factory=set)
    #: Levels that the user requested.
    requested: RequestedLevels = field(default_factory=RequestedLevels)


class Infeasible(AssayError):
    """A valid level that this machine or kernel can't do."""
