"""Quantities, durations and walltimes as people write them, parsed to SI base units."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

from assay.errors import AssayError, nearest
from assay.units.formatting import MINUS

_DECIMAL_PREFIXES = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_PREFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_TIMES = {
    "ps": Decimal("1e-12"),
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
    **dict.fromkeys(("d", "day", "days"), Decimal(86400)),
    **dict.fromkeys(("w", "week", "weeks"), Decimal(604800)),
}


def _factors() -> dict[str, tuple[str, Decimal]]:
    """Every unit symbol that can be parsed, with its base unit and factor."""
    table = {name: ("s", factor) for name, factor in _TIMES.items()}
    for unit in ("B", "B/s", "flop/s", "flop", "op/s", "Hz", "bit/s", "W"):
        base, by = ("B/s", Decimal("0.125")) if unit == "bit/s" else (unit, Decimal(1))
        for prefix, power in _DECIMAL_PREFIXES.items():
            table[prefix + unit] = (base, by * Decimal(10) ** power)
        if unit in ("B", "B/s"):
            for prefix, power in _BINARY_PREFIXES.items():
                table[prefix + unit] = (base, by * Decimal(2) ** power)
    table["%"] = ("1", Decimal("0.01"))
    return table


_FACTORS = _factors()
_NUMBER = re.compile(
    r"([+−-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*(.*)", re.ASCII | re.DOTALL
)
# A number without a unit.
_BARE = re.compile(r"[+−-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
# Maximum characters of a quantity. For longer text, an error shows only the beginning.
_LONGEST = 200
# Examples of quantities by base unit, for error messages.
_EXAMPLES = {
    "s": "90 s, 10 min, 2 h, 3 days or 1-12:00:00",
    "B": "64 KiB, 4 MiB or 1e6",
    "B/s": "10 GB/s or 12.5e9",
    "bit/s": "10 Gbit/s",
    "Hz": "2.6 GHz",
    "W": "350 W or 60 kW",
    "m": "2.5 m",
    "1": "1% or 0.01",
}


def parse_quantity(text: str | float, unit: str = "", *, where: str = "") -> int | float:
    """Parse a quantity: ``"64 KiB"`` is 65536, ``"1e6"`` 1000000, ``"1.5 us"`` 1.5e-6.

    ``unit`` is the expected base unit ("B", "s", "B/s", "Hz" …), and the unit of a bare number.
    With ``unit`` "", any known unit is accepted. A whole number is returned as an int. Raises
    AssayError, with ``where`` for the file and key, if the text is not a quantity or has another
    base unit, and for a bare "K" or "M", which can mean 1000 or 1024. A time may have Slurm's
    notation: ``"24:00:00"``, ``"1-12:00:00"`` (``clock_time``).
    """
    if isinstance(text, bool):
        raise AssayError(f"'{text}' is not a quantity.", where=where, fix="Write a number.")
    written = str(text).strip()
    if unit == "s" and (seconds := clock_time(written)) is not None:
        return seconds
    match = _NUMBER.fullmatch(written) if len(written) <= _LONGEST else None
    if match is None:
        shown = written if len(written) <= _LONGEST else f"{written[:40]}…"
        if unit in _EXAMPLES:
            fix = f"Write, for example, {_EXAMPLES[unit]}."
        else:
            fix = "Write a number and a unit, such as 64 KiB, 1e6 or 2.5 s."
        raise AssayError(f"'{shown}' is not a quantity.", where=where, fix=fix)
    number, symbol = match.groups()
    base, factor = _unit_of(symbol, unit, written, where)
    if unit and base != unit:
        raise AssayError(
            f"'{text}' is in {symbol}, but a quantity in {unit} is required.",
            where=where,
            fix=f"Write it in {unit}"
            + (f", for example {_EXAMPLES[unit]}." if unit in _EXAMPLES else "."),
        )
    try:
        value = Decimal(number.replace(MINUS, "-")) * factor
        as_float = float(value)
    except (InvalidOperation, OverflowError):
        as_float = math.inf
    if not math.isfinite(as_float):
        raise AssayError(f"'{text}' is too large.", where=where, fix="Write a smaller number.")
    if value == value.to_integral_value() and abs(value) < Decimal(2) ** 63:
        return int(value)
    return as_float


_CLOCK = re.compile(
    r"(?:(\d{1,5})-(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?|(?:(\d{1,7}):)?(\d{1,7}):(\d{2}))",
    re.ASCII,
)


def clock_time(text: str) -> int | None:
    """Seconds of a time in the notation of sbatch(1), ``--time``; None for other text.

    ``minutes:seconds``, ``hours:minutes:seconds``, ``days-hours``, ``days-hours:minutes`` and
    ``days-hours:minutes:seconds``. Hours after days, minutes after hours and seconds have at most
    two digits.
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    days, day_hours, day_minutes, day_seconds, hours, minutes, seconds = (
        int(part or 0) for part in match.groups()
    )
    parts = (day_hours, day_minutes, day_seconds) if match[1] else (hours, minutes, seconds)
    if (match[1] and parts[0] > 23) or (match[5] and len(match[6]) > 2):
        return None
    if parts[2] > 59 or ((match[1] or match[5]) and parts[1] > 59):
        return None
    return 86400 * days + 3600 * parts[0] + 60 * parts[1] + parts[2]


def parse_duration(text: str | float, *, where: str = "") -> float:
    """Seconds of a time that a user states: ``"90 s"``, ``"10 mins"``, ``"1-12:00:00"``.

    A number other than 0 needs its unit: seconds and minutes are both common, and a run that takes
    sixty times as long is noticed late. Raises AssayError, with ``where``, as ``parse_quantity``
    does.
    """
    seconds = float(parse_quantity(text, "s", where=where))
    bare = not isinstance(text, str) or _BARE.fullmatch(text.strip())
    if bare and seconds != 0.0:
        number = text.strip() if isinstance(text, str) else f"{text:g}"
        option = f"{where} " if where.startswith("--") and " " not in where else ""
        raise AssayError(
            f"'{number}' has no unit.",
            where=where,
            fix=f'Give a unit: {option}"{number} min" or {option}"{number} s".',
        )
    return seconds


def parse_walltime(text: str | float, *, where: str = "") -> float:
    """Seconds of a job's walltime: a quantity, or Slurm's notation, in which a bare number is in
    minutes.

    Raises AssayError, with ``where``, unless it is a positive time.
    """
    bare = not isinstance(text, str) or re.fullmatch(r"\s*\d+(\.\d*)?\s*", text, re.ASCII)
    seconds = float(parse_quantity(text, "s", where=where)) * (60.0 if bare else 1.0)
    if not 0 < seconds < math.inf:
        raise AssayError(
            f"A walltime must be above 0, but '{text}' is not.",
            where=where,
            fix='Examples: "2 h", "1-12:00:00", or minutes: 90.',
        )
    return seconds


def _unit_of(symbol: str, expected: str, text: str, where: str) -> tuple[str, Decimal]:
    if symbol == "":
        return expected, Decimal(1)
    if symbol == expected == "m":  # metres if a length is expected, not a prefix
        return expected, Decimal(1)
    if symbol in _FACTORS:
        return _FACTORS[symbol]
    if len(symbol) > 2 and symbol.lower() in _TIMES:  # "Hours", "MIN": no symbol has a prefix
        return _FACTORS[symbol.lower()]
    if expected == "s" and symbol in ("m", "M"):
        raise AssayError(
            f"'{text}' can mean minutes or months.",
            where=where,
            fix=f'Write "{text[: -len(symbol)].strip()} min", or days.',
        )
    if symbol.lower() in ("k", "m", "g", "t"):
        letter = symbol.upper()
        decimal = letter if letter != "K" else "k"
        raise AssayError(
            f"'{text}' can mean a power of 1000 or of 1024.",
            where=where,
            fix=f"Write {letter}iB (powers of 1024), {decimal}B (powers of 1000), or the number.",
        )
    known = [name for name, (base, _) in _FACTORS.items() if not expected or base == expected]
    close = nearest(symbol, known)
    if not close.startswith("Did"):  # dozens of units would be too many to list
        close = ""
    example = f"Write, for example, {_EXAMPLES[expected]}." if expected in _EXAMPLES else ""
    close = " ".join(filter(None, (close, example)))
    raise AssayError(f"'{text}' has an unknown unit '{symbol}'.", where=where, fix=close)


def whole_number(text: str) -> int | None:
    """The value of up to 15 decimal digits; None for any other text."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
