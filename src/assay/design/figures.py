"""A figure of a part: its value, uncertainty and source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from assay.toml import KeyPath, TomlDocument
from assay.units import parse_quantity

Kind = Literal["measured", "quoted", "assumed"]
# Relative half-width of the 95% interval of a figure without a stated uncertainty.
UNCERTAINTY: Mapping[Kind, float] = {"measured": 0.02, "quoted": 0.10, "assumed": 0.30}
# Half-width of a 95% interval of a normal distribution, in standard deviations.
_SIGMAS = 1.959963984540054
# Units that must be written with the quantity; other quantities are bare numbers.
_WITH_UNIT = {"B", "B/s", "flop/s", "op/s", "s", "W", "m"}


class WrittenFigure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure as a table: ``{ value = "5.2 Gflop/s", kind = "measured", uncertainty = "1%" }``."""

    value: str | int | float
    kind: Kind | None = None
    uncertainty: str | float | None = None
    #: Ends of the 95% interval, instead of ``uncertainty``.
    interval: tuple[str | int | float, str | int | float] | None = None
    source: str | None = None
    date: str | None = None


Written = str | int | float | WrittenFigure


@dataclass(frozen=True)
class PartFigure:
    """A positive quantity in SI units, or an amount of money."""

    value: float
    #: Standard deviation of the logarithm. The 95% interval is ``value`` times ``exp(±1.96
    #: spread)``.
    spread: float
    kind: Kind
    source: str
    date: str
    #: File and line that state the figure.
    where: str

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95% interval."""
        factor = math.exp(_SIGMAS * self.spread)
        return self.value / factor, self.value * factor


@dataclass(frozen=True)
class Origin:
    """Source of a part's figures that don't state their own."""

    kind: Kind = "quoted"
    source: str = ""
    date: str = ""


class FigureReader:
    """Reader of the figures of one file, with the uncertainty of each kind of figure."""

    def __init__(
        self, document: TomlDocument, uncertainty: Mapping[Kind, float] = UNCERTAINTY
    ) -> None:
        self._document = document
        self._uncertainty = uncertainty

    def figure(
        self, path: KeyPath, written: Written, unit: str, origin: Origin, *, zero: bool = False
    ) -> PartFigure:
        """The figure at ``path``. ``unit`` "" means an amount of money or a count.

        Raises AssayError, with file and line, if it has no unit or a wrong one, if it is negative
        (or zero, unless ``zero``), or if its interval does not contain it.
        """
        if not isinstance(written, WrittenFigure):
            written = WrittenFigure(written)
        value = self._number(path, written.value, unit, zero=zero)
        kind = written.kind or origin.kind
        return PartFigure(
            value=value,
            spread=self._spread(path, written, unit, value, kind),
            kind=kind,
            source=written.source or origin.source,
            date=written.date or origin.date,
            where=self._document.where(path),
        )

    def _number(self, path: KeyPath, text: str | float, unit: str, *, zero: bool = False) -> float:
        where, name = self._document.where(path), path[-1]
        if unit in _WITH_UNIT and not isinstance(text, str):
            raise self._document.error(
                path,
                f"'{name}' has no unit: {text}.",
                f'Write it in quotes, with its unit, such as "{text:g} {unit}".',
            )
        if not unit and isinstance(text, str):
            raise self._document.error(
                path, f"'{name}' can't be '{text}'.", "Write a number without quotes and unit."
            )
        value = float(parse_quantity(text, unit, where=where))
        if unit in _WITH_UNIT and isinstance(text, str) and text.strip()[-1:].isdigit():
            raise self._document.error(
                path,
                f"'{name}' has no unit: '{text}'.",
                f'Write "{text} {unit}", if this is the unit.',
            )
        if not math.isfinite(value) or value < 0.0 or (value == 0.0 and not zero):
            least = "0 or more" if zero else "more than 0"
            raise self._document.error(
                path, f"'{name}' can't be {text}.", f"Write a number that is {least}."
            )
        return value

    def _spread(
        self, path: KeyPath, written: WrittenFigure, unit: str, value: float, kind: Kind
    ) -> float:
        if value == 0.0:
            return 0.0
        if written.interval is not None:
            if written.uncertainty is not None:
                raise self._document.error(
                    path,
                    f"'{path[-1]}' has both an interval and an uncertainty.",
                    "Leave out one of them.",
                )
            low, high = (self._number(path, end, unit) for end in written.interval)
            if not low <= value <= high:
                raise self._document.error(
                    path,
                    f"The interval of '{path[-1]}' does not contain its value.",
                    "Write the lower end first; the value must be between the two ends.",
                )
            return math.log(high / low) / (2.0 * _SIGMAS)
        share = self._uncertainty[kind]
        if written.uncertainty is not None:
            share = read_share(self._document, path, written.uncertainty)
        return math.log1p(share) / _SIGMAS


def read_share(document: TomlDocument, path: KeyPath, text: str | float) -> float:
    """A share from 0 to 10, such as "5%" or 0.05. Raises AssayError for other values."""
    share = float(parse_quantity(text, "1", where=document.where(path)))
    if not 0.0 <= share <= 10.0:
        raise document.error(path, f"'{path[-1]}' can't be {text}.", "Write a share, such as 5%.")
    return share
