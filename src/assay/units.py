"""Quantities as text: formatting and parsing of SI values.

Stored values are SI base units; this module is the only place that scales them. Decimal prefixes
are powers of ten ("MB/s" is 10^6 B/s); binary ones (KiB, MiB) are for sizes that are usually powers
of two. A missing value is an en dash, never 0. In text for people a negative number has a minus
sign (U+2212, ``format_signed``); parameters, commands and files have the "-" that programs read.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from assay.errors import AssayError, nearest

MISSING = "–"
MINUS = "−"

_LARGE = {0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_SMALL = {-12: "p", -9: "n", -6: "µ", -3: "m"}
_BINARY = (("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))
# Units that take a prefix below one; a rate or a size below one is shown without a prefix.
_DIVISIBLE = frozenset({"s"})
# Maximum significant digits of a value with an interval; maximum decimals of a small bound.
_MOST_DIGITS = 4
_MOST_DECIMALS = 24
# Maximum significant digits that distinguish the ends of an interval, and the text of an interval
# whose ends they do not distinguish.
_DISTINCT_DIGITS = 9
EQUAL = f"equal to {_DISTINCT_DIGITS} digits"

Interval = tuple[float, float]


def capitalised(text: str) -> str:
    """The text with a capital first letter, unless it begins with an identifier (``npb.cg``)."""
    first = text.split(" ", 1)[0].removesuffix("'s").rstrip(".,:;")
    return text if "." in first else text[:1].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    """``1 core``, ``2 cores``, ``1,024 launches``: number and noun, with plural s or es."""
    ending = "" if number == 1 else "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun}{ending}"


def counted_verb(number: int, noun: str, verb: str) -> str:
    """``1 rank repeats``, ``2 ranks repeat``, ``0 nodes were``: number, noun and verb.

    ``verb`` is the plural form; negations such as ``don't`` are verbs, too.
    """
    return f"{counted(number, noun)} {agreeing(number, verb)}"


def agreeing(number: int, verb: str) -> str:
    """The verb, given in the plural, in the form that agrees with a number of things."""
    if number != 1:
        return verb
    if verb in _SINGULAR:
        return _SINGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}{'es' if verb.endswith(('s', 'x', 'ch', 'sh', 'o')) else 's'}"


_SINGULAR = {
    "are": "is",
    "aren't": "isn't",
    "were": "was",
    "weren't": "wasn't",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "can": "can",
    "can't": "can't",
}


def format_signed(value: float, spec: str) -> str:
    """The number as ``format`` writes it with ``spec``, for people: ``"−3.1%"``, ``"+0.20"``.

    The sign of a negative number is a minus sign; a number that is rounded to 0 has none.
    """
    text = format(value, spec)
    if math.isfinite(value) and not any(digit in "123456789" for digit in text):
        text = format(abs(value * 0), spec).lstrip("+")
    return MINUS + text[1:] if text.startswith("-") else text


def format_change(share: float, interval: Interval | None = None, *, spec: str = "+.1f") -> str:
    """A relative change in percent, for people: ``"+1.2%"``, ``"−3.1% [−4.0, −2.2]"``, ``"0.0%"``.

    ``spec`` is the format of the percentages.
    """
    text = f"{format_signed(100 * share, spec)}%"
    if interval is None:
        return text
    return f"{text} [{', '.join(format_signed(100 * end, spec) for end in interval)}]"


def format_quantity(
    value: float | None, unit: str, interval: Interval | None = None, *, digits: int = 3
) -> str:
    """Format an SI value: ``"19.5 GB/s"``, ``"1.02 µs"``, ``"19.5 GB/s [19.4, 19.6]"``.

    ``digits`` are significant digits if there is no interval. With one, the value has the digits
    that the interval's width supports (its first digit; its second too if the first is 1), at most
    four, or as many as distinguish the interval's ends, at most nine. Ends that these do not
    distinguish are not given as numbers. A value beyond all prefixes is given in powers of ten.
    With ``unit`` "" a whole number is a count and keeps every digit: ``"12,345"``. With ``unit``
    "1" it is a share, formatted by ``format_share``.
    """
    if unit == "1":
        return format_share(value, interval)
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return _with_unit(_odd(value), unit)
    if unit == "" and interval is None and float(value).is_integer() and abs(value) < 1e15:
        return format_signed(int(value), ",")
    exponent = _exponent(value, unit, digits)
    if exponent is None:
        return _with_powers(value, unit, interval, digits)
    scale = 10.0**exponent
    scaled = value / scale
    label = ({**_LARGE, **_SMALL}[exponent]) + unit
    if interval is None:
        return _with_unit(_digits(scaled, digits), label)
    low, high = interval[0] / scale, interval[1] / scale
    decimals = _decimals(scaled, high - low, digits)
    decimals, bounds = _bounds(scaled, (low, high), decimals)
    return f"{_with_unit(format_signed(scaled, f'.{decimals}f'), label)} [{bounds}]"


def format_share(share: float | None, interval: Interval | None = None) -> str:
    """A ratio as a percentage: 0.923 is ``"92.3%"``; with an interval ``"92.3% [91.8, 92.9]"``."""
    if share is None:
        return MISSING
    percent = share * 100
    if not math.isfinite(percent):
        return _odd(percent) + "%"
    if interval is None:
        return _digits(percent, 3) + "%"
    low, high = interval[0] * 100, interval[1] * 100
    decimals = _decimals(percent, high - low, 3)
    decimals, bounds = _bounds(percent, (low, high), decimals)
    return f"{format_signed(percent, f'.{decimals}f')}% [{bounds}]"


def format_probability(probability: float, decimals: int = 0) -> str:
    """A probability in percent, not rounded to 0 or 100: 0.9996 is ``"99%"``, or ``"99.9%"`` with
    one decimal. Exactly 0 and 1 are ``"0%"`` and ``"100%"``.
    """
    if not 0.0 < probability < 1.0:
        return f"{probability:.{decimals}%}"
    step = 10.0 ** -(decimals + 2)
    return f"{min(max(probability, step), 1.0 - step):.{decimals}%}"


def format_count(number: float) -> str:
    """A number of CPUs on average, to two digits: ``1.9``, ``59``, ``430``."""
    return f"{float(f'{number:.2g}'):,.12g}"


def format_limit(share: float) -> str:
    """``1%``, ``0.5%``: a relative limit as it was requested, without further digits."""
    return f"{100 * share:.3g}%"


def format_minute(utc: float) -> str:
    """Unix time as day and minute, UTC: ``2026-03-15 08:30``."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(utc))


def format_size(size: float | None) -> str:
    """Bytes of a parameter or of memory, exactly, in binary units if possible: ``"4 MiB"``.

    A size that is not a short multiple of a binary unit keeps all its bytes: ``"1000 B"``. A
    negative one, which only a parameter can be, has the "-" of plans.
    """
    if size is None:
        return MISSING
    if not math.isfinite(size):
        return _odd(size) + " B"
    if not float(size).is_integer():
        return f"{size!r} B"
    size = int(size)
    for name, power in _BINARY:
        # Three decimals are exact for a multiple of 1/8 of the unit.
        if abs(size) >= 1 << power and (size * 8) % (1 << power) == 0:
            return f"{Decimal(size) / (1 << power):f} {name}"
    return f"{size} B"


def format_memory(size: float | None) -> str:
    """Bytes of memory or disk, rounded, in binary units: ``"23.5 GiB"``."""
    if size is None:
        return MISSING
    if not math.isfinite(size):
        return _odd(size) + " B"
    for name, power in _BINARY:
        scaled = size / (1 << power)
        # A size that would be rounded up to a whole unit is shown in that unit.
        if abs(scaled) >= 0.9995:
            whole = scaled.is_integer()
            return f"{format_signed(scaled, '.0f') if whole else _digits(scaled, 3)} {name}"
    return f"{format_signed(size, '.0f')} B"


def format_duration(seconds: float | None) -> str:
    """A duration: ``"12.3 s"``, ``"3 min 20 s"``, ``"2 h 5 min"``."""
    if seconds is None:
        return MISSING
    if not math.isfinite(seconds) or abs(seconds) < 59.95 or abs(seconds) >= 1e11:
        return format_quantity(seconds, "s")
    sign = MINUS if seconds < 0 else ""
    whole = round(abs(seconds))
    if whole < 3600:
        parts = ((whole // 60, "min"), (whole % 60, "s"))
    elif whole < 86400 - 30:
        minutes = round(whole / 60)
        parts = ((minutes // 60, "h"), (minutes % 60, "min"))
    else:
        hours = round(whole / 3600)
        parts = ((hours // 24, "d"), (hours % 24, "h"))
    return sign + " ".join(f"{count} {name}" for count, name in parts if count)


def rough_duration(seconds: float) -> str:
    """An estimated duration, to two digits or so: ``"28 s"``, ``"3 min 20 s"``, ``"2 h 5 min"``."""
    if not math.isfinite(seconds):
        return format_duration(seconds)
    if seconds < 59.5:
        return f"{max(round(seconds), 0)} s"
    step = 5 if seconds < 600 else 60
    return format_duration(step * round(seconds / step))


def _odd(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "∞" if value > 0 else f"{MINUS}∞"


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text


def _digits(value: float, digits: int) -> str:
    """The value with ``digits`` significant digits, no exponent; keeps all digits of the integer
    part.
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.{max(digits, 1) - 1}e}")
    decimals = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    return format_signed(value, f".{decimals}f")


def _exponent(value: float, unit: str, digits: int) -> int | None:
    """The power of ten (a multiple of 3) that scales to 1…999; None if it has no prefix."""
    if value == 0:
        return 0
    rounded = float(f"{value:.{max(digits, 1) - 1}e}")
    if not math.isfinite(rounded):
        return None
    power = math.floor(math.log10(abs(rounded)))
    exponent = 3 * (power // 3)
    if unit == "":
        # A bare number takes no prefix; it is shown plainly where that is readable.
        return 0 if -4 <= power < 15 else None
    if unit in _DIVISIBLE:
        exponent = min(exponent, 0)  # no kiloseconds
        if power >= 9:
            return None
    elif -3 <= exponent < 0:
        exponent = 0
    return exponent if exponent in _LARGE or (exponent in _SMALL and unit in _DIVISIBLE) else None


def _decimals(scaled: float, width: float, digits: int) -> int:
    """Decimals that an interval of this width supports, in the unit shown."""
    if not math.isfinite(width) or width <= 0:
        place = -2 if scaled == 0 else math.floor(math.log10(abs(scaled))) - digits + 1
    else:
        place = math.floor(math.log10(width))
        # With a leading 1, rounding to that digit could move a bound by half of the width.
        if width / 10.0**place < 1.95:
            place -= 1
        if scaled != 0:
            magnitude = math.floor(math.log10(abs(scaled)))
            place = min(place, magnitude - 1)
            place = max(place, magnitude - _MOST_DIGITS + 1)
    return min(max(-place, 0), _MOST_DECIMALS)


def _bounds(value: float, interval: Interval, decimals: int) -> tuple[int, str]:
    """The decimals of a value and its bounds, and the bounds as text.

    Bounds that would read as equal get further decimals.
    """
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return decimals, f"{_bound(low, decimals)}, {_bound(high, decimals)}"
    size = max(abs(value), abs(low), abs(high))
    most = _DISTINCT_DIGITS - 1 - math.floor(math.log10(size)) if size else 0
    most = min(max(most, decimals), _MOST_DECIMALS)
    for digits in range(decimals, most + 1):
        texts = _bound(low, digits), _bound(high, digits)
        if texts[0] != texts[1]:
            return digits, ", ".join(texts)
    return decimals, EQUAL


def _bound(value: float, decimals: int) -> str:
    """A bound with the value's decimals, or more if it would otherwise read as 0."""
    if not math.isfinite(value):
        return _odd(value)
    if value != 0:
        decimals = min(max(decimals, -math.floor(math.log10(abs(value)))), _MOST_DECIMALS)
    return format_signed(value, f".{decimals}f")


def _with_powers(value: float, unit: str, interval: Interval | None, digits: int) -> str:
    """A value beyond all prefixes: ``"9.46e+15 s"``."""
    decimals = max(digits, 1) - 1
    if interval is None:
        return _with_unit(format_signed(value, f".{decimals}e"), unit)
    width = interval[1] - interval[0]
    if math.isfinite(width) and width > 0:
        # The value's digits from its first to one beyond the first of the width.
        place = math.floor(math.log10(width)) - 1
        decimals = min(max(math.floor(math.log10(abs(value))) - place, 1), _MOST_DIGITS)
    shown, low, high = (format_signed(each, f".{decimals}e") for each in (value, *interval))
    return f"{_with_unit(shown, unit)} [{low}, {high}]"


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
    """Every unit symbol that can be read, with its base unit and factor."""
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
# Characters of a quantity; of longer text an error shows only the beginning.
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

    ``unit`` is the expected base unit ("B", "s", "B/s", "Hz" …), also that of a bare number. With
    ``unit`` "" any known unit is accepted. A whole number is returned as an int. Raises AssayError,
    with ``where`` for the file and key, if the text is not a quantity or has another base unit, and
    for a bare "K" or "M", which can mean 1000 or 1024. A time may be written as for Slurm:
    ``"24:00:00"``, ``"1-12:00:00"`` (``clock_time``).
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
            fix = f"Write one such as {_EXAMPLES[unit]}."
        else:
            fix = "Write a number and a unit, such as 64 KiB, 1e6 or 2.5 s."
        raise AssayError(f"'{shown}' is not a quantity.", where=where, fix=fix)
    number, symbol = match.groups()
    base, factor = _unit_of(symbol, unit, written, where)
    if unit and base != unit:
        raise AssayError(
            f"'{text}' is in {symbol}, but a quantity in {unit} is needed.",
            where=where,
            fix=f"Write it in {unit}"
            + (f", such as {_EXAMPLES[unit]}." if unit in _EXAMPLES else "."),
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

    A number other than 0 needs its unit: seconds and minutes are both usual, and a run that takes
    sixty times as long is found out late. Raises AssayError, with ``where``, as ``parse_quantity``.
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
    """Seconds of a job's time: a quantity, or as for Slurm, where a bare number is in minutes.

    Raises AssayError, with ``where``, unless it is a positive time.
    """
    bare = not isinstance(text, str) or re.fullmatch(r"\s*\d+(\.\d*)?\s*", text, re.ASCII)
    seconds = float(parse_quantity(text, "s", where=where)) * (60.0 if bare else 1.0)
    if not 0 < seconds < math.inf:
        raise AssayError(
            f"A walltime must be above 0, and '{text}' is not.",
            where=where,
            fix='Such as "2 h", "1-12:00:00", or minutes: 90.',
        )
    return seconds


def _unit_of(symbol: str, expected: str, text: str, where: str) -> tuple[str, Decimal]:
    if symbol == "":
        return expected, Decimal(1)
    if symbol == expected == "m":  # metres, only where a length is expected: not a prefix
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
    if not close.startswith("Did"):  # don't list dozens of units
        close = ""
    example = f"Write one such as {_EXAMPLES[expected]}." if expected in _EXAMPLES else ""
    close = " ".join(filter(None, (close, example)))
    raise AssayError(f"'{text}' has an unknown unit '{symbol}'.", where=where, fix=close)


def whole_number(text: str) -> int | None:
    """The value of up to 15 decimal digits; None for any other text."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``. Raises IndexError for an empty list."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
