"""A plan's replication rule as the command line changes it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.errors import AssayError
from assay.model.replication import Replication
from assay.plans.replication import read_replication
from assay.units import counted, format_duration, parse_quantity, whole_number

# What the command line says of the rule, by its key or option; None was not given.
Changes = Mapping[str, str | None]

# Options that are called otherwise than the rule's key.
_OPTIONS = {f"{end}_{thing}": thing for thing in ("launches", "samples") for end in ("min", "max")}


def amended(rule: Replication, changes: Changes) -> Replication:
    """The rule with what was given on the command line; None was not given. Raises AssayError.

    ``launches`` and ``samples`` are ``"6..30"`` (fewest and most) or one number: of launches both,
    of samples the most, and the fewest where the rule asks for more.
    """
    given = {name: value for name, value in changes.items() if value}
    for thing in ("launches", "samples"):
        text = given.pop(thing, None)
        if text is None:
            continue
        fewest, dots, most = text.partition("..")
        few, many = whole_number(fewest), whole_number(most)
        if few is None or (dots and many is None):
            raise AssayError(
                f"'{text}' is no number of {thing}.",
                where=f"--{thing}",
                fix="Write 10, or 6..30 for fewest and most.",
            )
        given[f"max_{thing}"] = most if dots else fewest
        if dots or thing == "launches" or few < rule.min_samples:
            given[f"min_{thing}"] = fewest
    written = {k: v for k, v in msgspec.to_builtins(rule).items() if v is not None}
    return read_replication(
        _timed(written, given) | given,
        lambda key: f"--{_OPTIONS.get(key, key)}" if key in given else "",
    )


def _timed(written: dict[str, object], given: dict[str, str]) -> dict[str, object]:
    """What of a plan's rule still holds where the command line speaks of times and counts.

    Where that names how many sessions there are, the plan's own duration is no more, and the other
    way round; two of the three words leave nothing for the plan's to say. A duration too short for
    a second session is one session of that length. Launches that are counted have as much time each
    as the plan gives.
    """
    rest = dict(written)
    words = [word for word in ("duration", "every", "sessions") if word in given]
    if "sessions" in words:
        rest.pop("duration", None)
    if "duration" in words:
        rest.pop("sessions", None)
        length = parse_quantity(given["duration"], "s", where="--duration")
        if "every" not in words and length <= float(str(rest.get("every", 0))):
            rest.pop("every", None)
    if len(words) == 2:
        for word in ("duration", "every", "sessions"):
            rest.pop(word, None)
    left = {*rest, *given}
    if "duration" in left and not left & {"every", "sessions"} and "max_launches" not in given:
        rest.pop("max_launches", None)
    elif "min_launches" in given and "budget" not in given and whole_number(given["min_launches"]):
        more = int(given["min_launches"]) / float(str(written["min_launches"]))
        rest["budget"] = float(str(written["budget"])) * max(more, 1.0)
    return rest


def chosen_time(written: Replication, rule: Replication, changes: Changes) -> tuple[str, ...]:
    """A sentence on the time that an amended rule gives, if nobody asked for it."""
    if rule.budget == written.budget or changes.get("budget") or rule.unbroken:
        return ()
    return (
        f"{counted(rule.min_launches, 'launch')} of each cell have "
        f"{format_duration(rule.budget)}, as much time each as the plan gives; --budget gives "
        "another.",
    )


def stretch(written: Replication, rule: Replication, changes: Changes) -> float:
    """How much more time a launch of all cells has by ``--budget`` than the plan gives it."""
    if not changes.get("budget"):
        return 1.0
    return (rule.budget / rule.min_launches) / (written.budget / written.min_launches)
