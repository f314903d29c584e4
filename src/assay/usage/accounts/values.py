"""Values as schedulers write them: times, durations, memory, resources."""

from __future__ import annotations

import calendar
import re
from functools import lru_cache

from assay.usage.jobs import NAN

_MEMORY = re.compile(r"(\d+(?:\.\d*)?)([KMGTPE]?)i?[Bb]?", re.IGNORECASE | re.ASCII)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?(?:\.\d+)?", re.ASCII)
_NO_HOSTS = frozenset(("", "None", "(null)", "N/A", "Unknown"))
_STATUS = re.compile(r"-?\d{1,9}", re.ASCII)
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?"
    r"(?:(Z)|([+-])(\d\d):?(\d\d))?",
    re.ASCII,
)


def whole(text: object) -> int:
    """A whole number that is not negative, -1 for anything else."""
    if isinstance(text, bool):
        return -1
    if isinstance(text, int):
        return text if 0 <= text < 2**63 else -1
    if isinstance(text, float):
        return int(text) if text.is_integer() and 0 <= text < 2**53 else -1
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 18:
        return int(text)
    return -1


def exit_status(text: str) -> int | None:
    """An exit status, which PBS writes negative for its own reasons; None for anything else."""
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


@lru_cache(maxsize=4096)
def _midnight(year: int, month: int, day: int) -> int:
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(max(year, 1), month)[1]):
        raise ValueError
    return calendar.timegm((year, month, day, 0, 0, 0))


def date(text: str) -> float:
    """``2024-03-01T10:00:00`` as if it were UTC, the same with its zone (``Z``, ``+01:00``), or
    Unix time; NaN for ``Unknown`` and the like.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return float(whole(text)) if whole(text) > 0 else NAN
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    offset = 0
    if match[8]:
        offset = (3600 * int(match[9]) + 60 * int(match[10])) * (-1 if match[8] == "-" else 1)
    try:
        return float(_midnight(year, month, day) + 3600 * hour + 60 * minute + second - offset)
    except (ValueError, OverflowError):
        return NAN


def local(text: str) -> bool:
    """Whether a time is a date without a zone."""
    match = _DATE.fullmatch(text)
    return match is not None and not (match[7] or match[8])


def hosts(text: object) -> str:
    """A list of nodes, "" for ``None assigned`` and the like."""
    if not isinstance(text, str) or " " in text or text in _NO_HOSTS:
        return ""
    return text


def memory(text: str, default: str = "") -> float:
    """``4000M``, ``1.5G``, ``2048kb`` in bytes (powers of 1024); ``default``: prefix of a bare
    number; NaN for other text.
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
    """GPUs among resources: the untyped count, else the sum of the typed ones; -1 for none."""
    if "gres/gpu" in counts:
        return whole(counts["gres/gpu"])
    typed = [whole(count) for name, count in counts.items() if name.startswith("gres/gpu:")]
    return sum(typed) if typed and min(typed) >= 0 else -1
