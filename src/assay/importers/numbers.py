"""Exact conversion of printed numbers: the decimal times the factor of its unit."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

from assay.importers.model import FoundValue

# A number in decimal notation; the exponent may have Fortran's letter D.
NUMBER = r"[-+]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eEdD][-+]?\d{1,3})?"
# A field of a table: a number, or the text that is printed in its place.
FIELD = r"\S+"
WHOLE = r"\d{1,18}"

_NUMBER = re.compile(NUMBER, re.ASCII)
_INT = re.compile(r"[-+]?\d{1,18}", re.ASCII)

KIB = 1 << 10
MIB = 1 << 20
US = Decimal("1e-6")
MS = Decimal("1e-3")
NS = Decimal("1e-9")
PERCENT = Decimal("0.01")

# SI unit and factor by the unit as tools write it, in lower case.
_UNITS: dict[str, tuple[str, Decimal]] = {
    **{word: ("s", Decimal(1)) for word in ("s", "sec", "secs", "second", "seconds")},
    **dict.fromkeys(("ms", "msec", "milliseconds"), ("s", MS)),
    **dict.fromkeys(("us", "usec", "usecs", "µs", "μs", "microseconds"), ("s", US)),
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), ("s", NS)),
    "%": ("1", PERCENT),
    "b": ("B", Decimal(1)),
    "bytes": ("B", Decimal(1)),
}
for _power, _letter in enumerate(("", "k", "m", "g", "t", "p")):
    for _end in ("b/s", "byte/s", "bytes/s", "b/sec", "byte/sec", "bytes/sec"):
        _UNITS[_letter + _end] = ("B/s", Decimal(1000) ** _power)
        if _letter:
            _UNITS[f"{_letter}i{_end}"] = ("B/s", Decimal(1024) ** _power)
    for _end in ("flop/s", "flops", "flops/s"):
        _UNITS[_letter + _end] = ("flop/s", Decimal(1000) ** _power)


def is_number(printed: str) -> bool:
    """Whether a word is a number in decimal notation."""
    return _NUMBER.fullmatch(printed) is not None


def number(printed: str, line: int, factor: Decimal | int = 1) -> FoundValue | None:
    """The number times ``factor``; None unless it is a finite number (nan, inf, asterisks)."""
    if not is_number(printed):
        return None
    if factor == 1 and _INT.fullmatch(printed):
        return FoundValue(int(printed), printed, line)
    try:
        value = float(Decimal(printed.replace("D", "e").replace("d", "e")) * factor)
    except (InvalidOperation, OverflowError):
        return None
    return FoundValue(value, printed, line) if math.isfinite(value) else None


def unit_of(text: str) -> tuple[str, Decimal] | None:
    """The SI unit and the factor of a unit as tools write it; None if it is unknown."""
    return _UNITS.get(text.strip().lower())


def scaled(found: FoundValue, factor: Decimal | int) -> FoundValue | None:
    """A number times the factor of its unit; None if the product is not finite."""
    return found if factor == 1 else number(found.printed, found.line, factor)


def bounds(printed: str) -> tuple[Decimal, Decimal]:
    """The smallest and the largest number that is printed this way, rounded to its last digit."""
    value = Decimal(printed.replace("D", "e").replace("d", "e"))
    half = Decimal((0, (5,), int(value.as_tuple().exponent) - 1))
    return value - half, value + half
