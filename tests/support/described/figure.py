"""A figure of a machine with its uncertainty and where it is from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Origin = Literal["measured", "quoted", "assumed"]
# Relative uncertainty (one standard deviation) where none is stated.
DEFAULT_SPREAD: dict[Origin, float] = {"measured": 0.01, "quoted": 0.03, "assumed": 0.20}


@dataclass(frozen=True)
class MachineFigure:
    """One figure of a machine.

    ``value``: in SI units. ``spread``: relative standard deviation, of the logarithm; None is the
    default of the origin. ``source``: where it was measured or published, or why it is assumed.
    Raises ValueError for a value that is not a positive number, or a negative spread.
    """

    value: float
    origin: Origin
    source: str
    spread: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value > 0):
            raise ValueError(f"a figure of a machine is a positive number, not {self.value!r}")
        if self.spread is not None and not (math.isfinite(self.spread) and self.spread >= 0):
            raise ValueError(f"a spread is 0 or more, not {self.spread!r}")

    @property
    def deviation(self) -> float:
        """Relative standard deviation."""
        return DEFAULT_SPREAD[self.origin] if self.spread is None else self.spread


def measured(value: float, source: str, spread: float | None = None) -> MachineFigure:
    """A figure that was measured on this machine."""
    return MachineFigure(value, "measured", source, spread)


def quoted(value: float, source: str, spread: float | None = None) -> MachineFigure:
    """A figure that a vendor or a paper states."""
    return MachineFigure(value, "quoted", source, spread)


def assumed(value: float, source: str, spread: float | None = None) -> MachineFigure:
    """A figure that nobody measured on this machine; ``source`` is the reason for it."""
    return MachineFigure(value, "assumed", source, spread)
