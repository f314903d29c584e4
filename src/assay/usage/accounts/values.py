"""Values as schedulers write them: times, durations, memory, resources."""

from __future__ import annotations

import calendar
import re
from functools import lru_cache

from assay.usage.jobs import NAN

_MEMORY = re.compile(r"(\d+(?:\.\d*)?)([KMGTPE]?)i?[Bb]?", re.IGNORECASE | re.ASCII)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_SCALED = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTP]?)", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?(?:\.\d+)?", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:[,'\u2019\u00a0\u202f ]\d{3}){1,4}", re.ASCII)
# Words for a value that is unknown, not set or without limit.
_ABSENT = frozenset(
    ("", "unknown", "none", "n/a", "na", "(null)", "null", "-", "--", "0", "unlimited", "infinite",
     "partition_limit", "not_set", "invalid", "undefined")
)  # fmt: skip
_NO_HOSTS = frozenset(("", "None", "(null)", "N/A", "Unknown"))
_STATUS = re.compile(r"-?\d{1,9}", re.ASCII)
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,]\d{1,9})?"
    r" ?(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?",
    re.ASCII,
)
# Other unambiguous forms of a date with its year and a time of day: years first, minutes without
# seconds, months by name as strftime(3) writes them in the C locale.
_OTHERS = (
    re.compile(
        r"(?P<year>\d{4})([-/.])(?P<month>\d\d?)\2(?P<day>\d\d?)[T ,]+"
        r"(?P<clock>[\d:]{4,8})(?P<half>)",
        re.ASCII,
    ),
    re.compile(
        r"(?:[a-z]{3,9},? )?(?P<day>\d\d?)[ -](?P<month>[a-z]{3,9})[ -](?P<year>\d{4}),? "
        r"(?P<clock>[\d:]{4,8})(?P<half>(?: ?[ap]m)?)",
        re.ASCII | re.IGNORECASE,
    ),
    re.compile(
        r"(?:[a-z]{3,9},? )?(?P<month>[a-z]{3,9}) (?P<day>\d\d?),? (?P<year>\d{4}),? "
        r"(?P<clock>[\d:]{4,8})(?P<half>(?: ?[ap]m)?)",
        re.ASCII | re.IGNORECASE,
    ),
    re.compile(
        r"(?:[a-z]{3} )(?P<month>[a-z]{3}) (?P<day>\d\d?) (?P<clock>[\d:]{4,8})"
        r"(?P<half>(?: ?[ap]m)?) (?P<year>\d{4})",
        re.ASCII | re.IGNORECASE,
    ),
)
_OF_DAY = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?", re.ASCII)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Dates in the first two days of 1970 represent the Unix time 0, "unknown", in some time zone.
_EPOCH = 2 * 86400.0


def whole(text: object) -> int:
    """A whole number that is not negative; -1 for other text."""
    if isinstance(text, bool):
        return -1
    if isinstance(text, int):
        return text if 0 <= text < 2**63 else -1
    if isinstance(text, float):
        return int(text) if text.is_integer() and 0 <= text < 2**53 else -1
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    return -1


def absent(text: str) -> bool:
    """Whether a value means "no value": ``Unknown``, ``None``, ``N/A``, ``UNLIMITED``."""
    return text.strip().lower() in _ABSENT


def number_of(text: str) -> int:
    """A count, whose thousands may be separated by a comma, an apostrophe or a blank; else -1."""
    value = whole(text)
    if value < 0 and _GROUPED.fullmatch(text):
        return whole(re.sub(r"\D", "", text, flags=re.ASCII))
    return value


def exit_status(text: str) -> int | None:
    """An exit status, which PBS makes negative for its own reasons; None for other text."""
    return int(text) if _STATUS.fullmatch(text) else None


def seconds(text: str) -> float:
    """``[D-]H:M:S``, ``M:S`` or ``D-H`` as Slurm and PBS write durations, in s; else NaN."""
    match = _CLOCK.fullmatch(text)
    if match is None or len(text) > 30:
        return NAN
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    if days is not None:
        numbers += [0] * (3 - len(numbers))
    elif len(numbers) == 1:
        return float(numbers[0])
    total = 0
    for number in numbers:
        total = 60 * total + number
    return float(total + 86400 * int(days or 0))


def fraction_of_seconds(text: str) -> float:
    """The decimals of a duration such as ``00:01.250``, in s; 0 without decimals."""
    decimals = text.rpartition(".")[2] if "." in text else ""
    return float(f"0.{decimals}") if decimals.isascii() and decimals.isdigit() else 0.0


def scaled(text: str) -> float:
    """``1.5K`` in powers of 1000, as Slurm prints energies; NaN for other text."""
    match = _SCALED.fullmatch(text)
    return float(match[1]) * 1000.0 ** " KMGTP".index(match[2] or " ") if match else NAN


@lru_cache(maxsize=4096)
def _midnight(year: int, month: int, day: int) -> int:
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(max(year, 1), month)[1]):
        raise ValueError
    return calendar.timegm((year, month, day, 0, 0, 0))


def date(text: str) -> float:
    """``2024-03-01T10:00:00`` as if it were UTC, the same with its zone (``Z``, ``+01:00``), other
    unambiguous dates, or Unix time; NaN for ``Unknown`` and similar words.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return float(whole(text)) if whole(text) > 0 else _other_date(text)
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    offset = 0
    if match[8]:
        offset = (3600 * int(match[9]) + 60 * int(match[10])) * (-1 if match[8] == "-" else 1)
    return _dated(year, month, day, 3600 * hour + 60 * minute + second - offset)


def _dated(year: int, month: int, day: int, second: int) -> float:
    try:
        found = float(_midnight(year, month, day) + second)
    except (ValueError, OverflowError):
        return NAN
    return NAN if abs(found) < _EPOCH else found


def _other_date(text: str) -> float:
    """A date in a form of ``_OTHERS``; NaN for other text."""
    if not 12 <= len(text) <= 40 or ":" not in text:
        return NAN
    plain = " ".join(text.split())
    match = next((found for form in _OTHERS if (found := form.fullmatch(plain))), None)
    of_day = _OF_DAY.fullmatch(match["clock"]) if match else None
    if match is None or of_day is None:
        return NAN
    name = match["month"]
    month = int(name) if name.isdigit() else _month(name)
    hour = int(of_day[1])
    half = match["half"].strip().lower()
    if half:
        if not 1 <= hour <= 12:
            return NAN
        hour = hour % 12 + (12 if half == "pm" else 0)
    minute, second = int(of_day[2]), int(of_day[3] or 0)
    if hour > 24 or minute > 59 or second > 60:
        return NAN
    return _dated(int(match["year"]), month, int(match["day"]), 3600 * hour + 60 * minute + second)


def _month(name: str) -> int:
    short = name[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else 0


def zero_date(text: str) -> bool:
    """Whether a date is the Unix time 0 in some time zone, which schedulers write for "no time"."""
    return text.startswith(("1970-01-0", "1969-12-3")) and bool(_DATE.fullmatch(text))


def local(text: str) -> bool:
    """Whether a time is a date without a zone."""
    match = _DATE.fullmatch(text)
    if match is None:
        return ":" in text and _other_date(text) > 0
    return not (match[7] or match[8])


def hosts(text: object) -> str:
    """A list of nodes; "" for ``None assigned`` and similar words."""
    if not isinstance(text, str) or " " in text or text in _NO_HOSTS:
        return ""
    return text


def memory(text: str, default: str = "") -> float:
    """``4000M``, ``1.5G``, ``2048kb`` in bytes (powers of 1024); NaN for other text. ``default``:
    the prefix of a bare number.
    """
    match = _MEMORY.fullmatch(text)
    if match is None or len(text) > 40:
        return NAN
    return float(match[1]) * 2.0 ** _POWERS[match[2].upper() or default]


def resources(text: str) -> dict[str, str]:
    """``cpu=4,mem=8G,gres/gpu:a100=2`` by name."""
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name: value for name, _, value in pairs}


def gpus_of(counts: dict[str, str]) -> int:
    """GPUs among resources: the untyped count, else the sum of the typed counts; -1 for none."""
    if "gres/gpu" in counts:
        return whole(counts["gres/gpu"])
    typed = [whole(count) for name, count in counts.items() if name.startswith("gres/gpu:")]
    return sum(typed) if typed and min(typed) >= 0 else -1
