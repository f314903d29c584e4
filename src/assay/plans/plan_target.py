"""The target of a plan: a machine, and what happens to levels that it can't do."""

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


# A requested level: its factor, the level as written, and its value, None if it has none here.
Level = tuple[str, int, Value | None]


@dataclass
class RequestedLevels:
    """Levels that the user requests on the command line: each is measured, or the plan is refused.

    A suite's own levels that a machine can't do are left out with a note, since suites are written
    for all machines. Leaving out what a user asks for would answer another question.
    """

    #: The levels that the user gave, as factor and identity of the written level: the plan's own
    #: levels of the same factor are not meant.
    given: Collection[tuple[str, int]] = ()
    _met: set[Level] = field(default_factory=set)
    _refused: dict[Level, list[tuple[bool, AssayError]]] = field(default_factory=dict)

    def met(self, levels: Iterable[Level]) -> None:
        """Note that a cell has these levels."""
        self._met.update(level for level in levels if level[:2] in self.given)

    def not_met(self, levels: Sequence[Level], why: AssayError) -> None:
        """Note that something with these levels can't be measured; the last is usually why."""
        for level in levels:
            if level[:2] in self.given:
                self._refused.setdefault(level, []).append((level == levels[-1], why))

    def check(self) -> None:
        """Raise the first reason for a level that no cell has."""
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
    #: Those of the cell that is being made, by factor.
    pending: dict[str, str] = field(default_factory=dict)
    #: ``searched``, ``measured``: ids of cells of measures that are a search, and of other
    #: measures.
    searched: set[str] = field(default_factory=set)
    measured: set[str] = field(default_factory=set)
    #: Of measures that go first.
    first: set[str] = field(default_factory=set)
    #: Factor on the time per launch of all cells, relative to the plan.
    stretch: float = 1.0
    #: A command's communication matrix, None if unknown.
    messages: Messages | None = None
    #: Ids of cells with a fitted order.
    fitted: set[str] = field(default_factory=set)
    #: Levels that the user asked for.
    requested: RequestedLevels = field(default_factory=RequestedLevels)


class Infeasible(AssayError):
    """A valid level that this machine or kernel can't do."""
