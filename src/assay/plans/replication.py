"""Reading and checking the replication rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping

import msgspec

from assay.errors import AssayError, nearest
from assay.model.replication import Replication
from assay.plans.levels import read_quantity
from assay.units import format_duration, parse_duration

_TIMES = ("budget", "cell_budget", "duration", "every")
_WHOLE = ("min_launches", "max_launches", "min_samples", "max_samples", "sessions")
# The maximum number of launches if only the duration ends them.
UNCOUNTED = 100_000


def read_replication(
    values: Mapping[str, object],
    where: Callable[[str], str] = lambda key: "",
    *,
    in_seconds: Container[str] = (),
) -> Replication:
    """A replication rule from numbers or texts such as ``"1%"`` and ``"2 min"``.

    ``where``: file and line of a key. ``in_seconds``: keys whose values are numbers of seconds;
    other times need a unit. Raises AssayError for an unknown key and an invalid value.
    """
    known = Replication.__struct_fields__
    read: dict[str, int | float] = {}
    for key, raw in values.items():
        if key not in known:
            raise AssayError(
                f"Unknown key '{key}' in [replication].", where=where(key), fix=nearest(key, known)
            )
        if key == "whole":
            read[key] = _read_flag(raw, key, where(key))
            continue
        value = read_quantity(raw, key, "s" if key in _TIMES else "", where(key))
        if key in _TIMES and key not in in_seconds and isinstance(raw, str | int | float):
            value = parse_duration(raw, where=where(key))
        if key in ("precision", "confidence"):
            if not 0 < value < 1:
                raise AssayError(f"'{key}' must lie between 0 and 1.", where=where(key))
        elif value <= 0:
            raise AssayError(f"'{key}' must be above 0.", where=where(key))
        if key in _WHOLE:
            if value != int(value):
                raise AssayError(f"'{key}' must be a whole number.", where=where(key))
            value = int(value)
        read[key] = value
    rule = msgspec.convert(read, Replication)
    for limit in ("launches", "samples"):
        least, most = getattr(rule, f"min_{limit}"), getattr(rule, f"max_{limit}")
        if least > most:
            key = f"min_{limit}" if f"min_{limit}" in values else f"max_{limit}"
            raise AssayError(
                f"min_{limit} = {least} is more than max_{limit} = {most}.", where=where(key)
            )
    return _timed(rule, values, where)


def _read_flag(raw: object, key: str, where: str) -> bool:
    if not isinstance(raw, bool):
        raise AssayError(f"'{key}' must be true or false.", where=where)
    return raw


def _timed(
    rule: Replication, values: Mapping[str, object], where: Callable[[str], str]
) -> Replication:
    """The rule completed from duration, every and sessions, of which at most two may be given."""
    if rule.sessions is not None and rule.duration is not None:
        if rule.every is not None:
            raise AssayError(
                "Two of 'duration', 'every' and 'sessions' determine the third.",
                where=where("sessions"),
                fix="Leave one of them out.",
            )
        if rule.sessions > 1:
            every = rule.duration / rule.sessions
            rule = msgspec.structs.replace(rule, every=every, duration=None)
        else:
            rule = msgspec.structs.replace(rule, sessions=None)
    if rule.sessions is not None and rule.sessions > 1 and rule.every is None:
        raise AssayError(
            f"sessions = {rule.sessions} needs the time between sessions.",
            where=where("sessions"),
            fix='Add every, such as "6 h", or duration, the total time.',
        )
    if rule.repeated and rule.every is not None and rule.budget > rule.every:
        raise AssayError(
            f"A session takes {format_duration(rule.budget)}, and the next one begins after "
            f"{format_duration(rule.every)}.",
            where=where("every"),
            fix="Give each session a smaller budget, or leave more time between sessions.",
        )
    if rule.unbroken:
        assert rule.duration is not None
        most = rule.max_launches if "max_launches" in values else UNCOUNTED
        # Proportional to the plan, whose budget is for the minimum number of launches.
        fewest = math.ceil(rule.min_launches * max(rule.duration / rule.budget, 1.0))
        rule = msgspec.structs.replace(
            rule, budget=rule.duration, min_launches=min(fewest, most), max_launches=most
        )
    return rule
