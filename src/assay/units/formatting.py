"""SI values as text.

Decimal prefixes are powers of ten ("MB/s" is 10^6 B/s); binary ones (KiB, MiB) are for sizes that
are usually powers of two. A missing value is an en dash, never 0. In text for people a negative
number has a minus sign (U+2212, ``format_signed``); parameters, commands and files have the "-"
that programs read.
"""

from __future__ import annotations

import math
import time
from decimal import Decimal

MISSING = "–"
MINUS = "−"

_LARGE = {0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_SMALL = {-12: "p", -9: "n", -6: "µ", -3: "m"}
_BINARY = (("EiB", 60), ("PiB", 50), ("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10))
# Units with prefixes below one. A rate or a size below one is shown without a prefix.
_DIVISIBLE = frozenset({"s"})
# Units without prefixes: none, and the points of a score.
_BARE = frozenset({"", "points"})
# Maximum significant digits of a value with an interval, and maximum decimals of a small bound.
_MOST_DIGITS = 4
_MOST_DECIMALS = 24
# Maximum significant digits that distinguish the ends of an interval, and the text for an interval
# with ends that these digits do not distinguish.
_DISTINCT_DIGITS = 9
EQUAL = f"equal to {_DISTINCT_DIGITS} digits"

Interval = tuple[float, float]


def format_signed(value: float, spec: str) -> str:
    """The number formatted by ``format`` with ``spec``, for people: ``"−3.1%"``, ``"+0.20"``.

    A negative number has a minus sign; a number that is rounded to 0 has no sign.
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

    ``digits`` are significant digits if there is no interval. With an interval, the value has the
    digits that the interval's width supports (its first digit, and its second if the first is 1),
    at most four. If the ends of the interval would be equal, it has enough digits to distinguish
    them, at most nine. Ends that nine digits do not distinguish are not given as numbers. A value
    beyond all prefixes is given in powers of ten. With ``unit`` "", a whole number is a count and
    keeps every digit: ``"12,345"``. With ``unit`` "1", the value is a share, formatted by
    ``format_share``.
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


def format_chance(share: float | None, least: float = 0.001) -> str:
    """A share in percent with one decimal; at its ends it is only known to be below ``least`` or
    above 1 − ``least``: ``"80.3%"``, ``"< 0.1%"``, ``"> 99.9%"``.

    For numbers that are counted in random draws, whose own error is larger than ``least``.
    """
    if share is None or not math.isfinite(share):
        return format_share(share)
    if share < least:
        return f"< {format_limit(least)}"
    if 1.0 - least < share <= 1.0:
        return f"> {format_limit(1.0 - least)}"
    return f"{share:.1%}"


def format_count(number: float) -> str:
    """An average number of CPUs, to two digits: ``1.9``, ``59``, ``430``."""
    return f"{float(f'{number:.2g}'):,.12g}"


def format_limit(share: float) -> str:
    """``1%``, ``0.5%``: a relative limit as requested, without further digits."""
    return f"{100 * share:.3g}%"


def format_half_width(share: float) -> str:
    """``±0.31%``, ``±2.4%``, ``±280%``: the relative half-width of an interval, to two digits."""
    return f"±{float(f'{100 * share:.2g}'):.12g}%"


def format_minute(utc: float) -> str:
    """Unix time as day and minute, UTC: ``2026-03-15 08:30``."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(utc))


def format_size(size: float | None) -> str:
    """Bytes of a parameter or of memory, exactly, in binary units if possible: ``"4 MiB"``.

    A size that is not a short multiple of a binary unit keeps all its bytes: ``"1000 B"``. A
    negative size, which is only possible for a parameter, has the "-" used in plans.
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
    """An estimated duration, to about two digits: ``"28 s"``, ``"3 min 20 s"``, ``"2 h 5 min"``."""
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
    """The value with ``digits`` significant digits and no exponent. It keeps all digits of the
    integer part.
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
    if unit in _BARE:
        # A bare number takes no prefix; it is shown without an exponent if this is readable.
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
        # With a leading 1, rounding to this digit could move a bound by half the width.
        if width / 10.0**place < 1.95:
            place -= 1
        if scaled != 0:
            magnitude = math.floor(math.log10(abs(scaled)))
            place = min(place, magnitude - 1)
            place = max(place, magnitude - _MOST_DIGITS + 1)
    return min(max(-place, 0), _MOST_DECIMALS)


def _bounds(value: float, interval: Interval, decimals: int) -> tuple[int, str]:
    """The decimals of a value and its bounds, and the bounds as text.

    Bounds that would look equal have further decimals.
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
    """A bound with the value's decimals, or more if it would otherwise look like 0."""
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
    texts = [
        format_signed(each, f".{_after_first(each, interval, decimals)}e")
        for each in (value, *interval)
    ]
    return f"{_with_unit(texts[0], unit)} [{texts[1]}, {texts[2]}]"


def _after_first(value: float, interval: Interval, otherwise: int) -> int:
    """Digits after the first one, up to one after the first digit of the interval's width."""
    width = interval[1] - interval[0]
    if not math.isfinite(width) or width <= 0:
        return otherwise
    place = math.floor(math.log10(width)) - 1
    first = math.floor(math.log10(abs(value))) if value else 0
    return min(max(first - place, 1), _MOST_DIGITS)
