"""Reading and checking the rule of when enough has been measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from assay.errors import AssayError, nearest
from assay.model.replication import Replication
from assay.plans.levels import read_quantity
from assay.units import format_duration

_UNITS = dict.fromkeys(("budget", "cell_budget", "duration", "every"), "s")
_WHOLE = ("min_launches", "max_launches", "min_samples", "max_samples", "sessions")
# The most launches where nothing but time is to end them.
UNCOUNTED = 100_000


def read_replication(
    values: Mapping[str, object], where: Callable[[str], str] = lambda key: ""
) -> Replication:
    """A replication rule from numbers or texts such as ``"1%"`` and ``"2 min"``.

    ``where`` says where a key stands. Raises AssayError for an unknown key and an impossible value.
    """
    known = Replication.__struct_fields__
    read: dict[str, int | float] = {}
    for key, raw in values.items():
        if key not in known:
            raise AssayError(
                f"Unknown key '{key}' in [replication].", where=where(key), fix=nearest(key, known)
            )
        value = read_quantity(raw, key, _UNITS.get(key, ""), where(key))
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
    for thing in ("launches", "samples"):
        least, most = getattr(rule, f"min_{thing}"), getattr(rule, f"max_{thing}")
        if least > most:
            key = f"min_{thing}" if f"min_{thing}" in values else f"max_{thing}"
            raise AssayError(
                f"min_{thing} = {least} is more than max_{thing} = {most}.", where=where(key)
            )
    return _timed(rule, values, where)


def _timed(
    rule: Replication, values: Mapping[str, object], where: Callable[[str], str]
) -> Replication:
    """The rule with what follows from its times: of duration, every and sessions two at most."""
    if rule.sessions is not None and rule.duration is not None:
        if rule.every is not None:
            raise AssayError(
                "Of 'duration', 'every' and 'sessions' two give the third.",
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
            f"sessions = {rule.sessions} doesn't say how far apart they are.",
            where=where("sessions"),
            fix='Add every, such as "6 h", or the duration of them all.',
        )
    if rule.repeated and rule.every is not None and rule.budget > rule.every:
        raise AssayError(
            f"A session takes {format_duration(rule.budget)}, and the next one begins after "
            f"{format_duration(rule.every)}.",
            where=where("every"),
            fix="Give each a smaller budget, or more time between them.",
        )
    if rule.unbroken:
        assert rule.duration is not None
        most = rule.max_launches if "max_launches" in values else UNCOUNTED
        # At the pace of the plan, in which the fewest launches have its budget.
        fewest = math.ceil(rule.min_launches * max(rule.duration / rule.budget, 1.0))
        rule = msgspec.structs.replace(
            rule, budget=rule.duration, min_launches=min(fewest, most), max_launches=most
        )
    return rule
