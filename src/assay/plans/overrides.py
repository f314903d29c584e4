"""A plan's replication rule with the command line's changes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.errors import AssayError
from assay.model.replication import Replication
from assay.plans.replication import read_replication
from assay.units import agreeing, counted, format_duration, parse_duration, whole_number

# The command line's values for the rule, by key or option; None for options not given.
Changes = Mapping[str, str | None]
# The option that measures every cell at least once; any non-empty text switches it on.
WHOLE = "whole"

# Options whose names differ from the rule's keys.
_OPTIONS = {f"{end}_{limit}": limit for limit in ("launches", "samples") for end in ("min", "max")}


def amended(rule: Replication, changes: Changes) -> Replication:
    """The rule with the command line's values. Raises AssayError.

    ``launches`` and ``samples`` are ``"6..30"`` (minimum and maximum) or one number: for launches
    the number is both; for samples it is the maximum, and also the minimum if the rule's minimum is
    larger.
    """
    given = {name: value for name, value in changes.items() if value}
    whole = bool(given.pop(WHOLE, None)) or rule.whole
    for limit in ("launches", "samples"):
        text = given.pop(limit, None)
        if text is None:
            continue
        fewest, dots, most = text.partition("..")
        few, many = whole_number(fewest), whole_number(most)
        if few is None or (dots and many is None):
            raise AssayError(
                f"'{text}' is not a number of {limit}.",
                where=f"--{limit}",
                fix="Write 10, or 6..30 for minimum and maximum.",
            )
        given[f"max_{limit}"] = most if dots else fewest
        if dots or limit == "launches" or few < rule.min_samples:
            given[f"min_{limit}"] = fewest
    written = {k: v for k, v in msgspec.to_builtins(rule).items() if v is not None}
    return read_replication(
        _timed(written, given) | given | {WHOLE: whole},
        lambda key: f"--{_OPTIONS.get(key, key)}" if key in given else "",
        in_seconds=written.keys() - given.keys(),
    )


def _timed(written: dict[str, object], given: dict[str, str]) -> dict[str, object]:
    """The keys of a plan's rule that stay valid with the command line's times and counts.

    A given number of sessions replaces the plan's duration, and a given duration its number of
    sessions; two of duration, every and sessions replace all three. A duration too short for a
    second session means one session of that length. If a number of launches is given without a
    budget, the budget grows in proportion.
    """
    rest = dict(written)
    times = [key for key in ("duration", "every", "sessions") if key in given]
    if "sessions" in times:
        rest.pop("duration", None)
    if "duration" in times:
        rest.pop("sessions", None)
        length = parse_duration(given["duration"], where="--duration")
        if "every" not in times and length <= float(str(rest.get("every", 0))):
            rest.pop("every", None)
    if len(times) == 2:
        for key in ("duration", "every", "sessions"):
            rest.pop(key, None)
    left = {*rest, *given}
    if "duration" in left and not left & {"every", "sessions"} and "max_launches" not in given:
        rest.pop("max_launches", None)
    elif "min_launches" in given and "budget" not in given and whole_number(given["min_launches"]):
        more = int(given["min_launches"]) / float(str(written["min_launches"]))
        rest["budget"] = float(str(written["budget"])) * max(more, 1.0)
    return rest


def chosen_time(written: Replication, rule: Replication, changes: Changes) -> tuple[str, ...]:
    """A sentence on the amended rule's budget, if it changed without ``--budget``."""
    if rule.budget == written.budget or changes.get("budget") or rule.unbroken:
        return ()
    return (
        f"{counted(rule.min_launches, 'launch')} of each cell "
        f"{agreeing(rule.min_launches, 'have')} {format_duration(rule.budget)}, "
        f"in proportion to the plan's budget; --budget changes it.",
    )


def stretch(written: Replication, rule: Replication, changes: Changes) -> float:
    """The factor by which ``--budget`` changes the time per launch of all cells."""
    if not changes.get("budget"):
        return 1.0
    return (rule.budget / rule.min_launches) / (written.budget / written.min_launches)
