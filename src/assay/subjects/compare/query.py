"""Options of a comparison, parsed from the command line."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import AssayError
from assay.subjects.compare.model import CompareFindings
from assay.subjects.profile.compared.model import ProfileComparison
from assay.units import parse_quantity


def parse_margin(text: str) -> float:
    """The relative difference of ``--same``. Raises AssayError unless it is between 0 and 1."""
    margin = float(parse_quantity(text, "1", where="--same"))
    if not 0.0 < margin < 1.0:
        raise AssayError(
            "The relative difference must be between 0 and 1.",
            where="--same",
            fix="For example, 1%.",
        )
    return margin


@dataclass(frozen=True)
class FailOn:
    """The slowdown from which a comparison fails (``--fail-on``)."""

    #: The smallest relative slowdown that counts; None if no slowdown counts.
    least: float | None

    @classmethod
    def of(cls, text: str) -> FailOn:
        """Parse ``never``, ``slower`` or ``slower:3%``. Raises AssayError for other text."""
        if text == "never":
            return cls(None)
        what, colon, size = text.partition(":")
        if what != "slower" or (colon and not size):
            raise AssayError(
                f"'{text}' is not a condition.",
                where="--fail-on",
                fix="For example, slower or slower:3%.",
            )
        least = float(parse_quantity(size, "1", where="--fail-on")) if size else 0.0
        if least < 0.0:
            raise AssayError("The slowdown can't be negative.", where="--fail-on")
        return cls(least)

    def fails(self, found: CompareFindings) -> bool:
        """Whether a cell is significantly slower and its time is longer by at least ``least``."""
        return self.least is not None and any(
            cell.verdict == "slower" and (not cell.speed or 1.0 / cell.speed >= 1.0 + self.least)
            for cell in found.cells
        )

    def fails_for(self, found: ProfileComparison) -> bool:
        """Whether a function is significantly slower and its time is longer by at least
        ``least``.
        """
        return self.least is not None and any(
            one.verdict == "slower" and (one.ratio is None or one.ratio >= 1.0 + self.least)
            for change in found.changes
            for one in change.functions
        )
