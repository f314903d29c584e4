"""A plan's replication rule as the command line changes it."""

from __future__ import annotations

import msgspec

from assay.errors import AssayError
from assay.plans.model import Plan, Replication
from assay.plans.replication import read_replication

# Options that are called otherwise than the rule's key.
_OPTIONS = {f"{end}_{thing}": thing for thing in ("launches", "samples") for end in ("min", "max")}


def amended(rule: Replication, changes: dict[str, str | None]) -> Replication:
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
        if not fewest.strip().isdigit() or (dots and not most.strip().isdigit()):
            raise AssayError(
                f"'{text}' is no number of {thing}.",
                where=f"--{thing}",
                mend="Write 10, or 6..30 for fewest and most.",
            )
        given[f"max_{thing}"] = most if dots else fewest
        if dots or thing == "launches" or int(fewest) < rule.min_samples:
            given[f"min_{thing}"] = fewest
    return read_replication(
        {k: v for k, v in msgspec.to_builtins(rule).items() if v is not None} | given,
        lambda key: f"--{_OPTIONS.get(key, key)}" if key in given else "",
    )


def override(plan: Plan, **changes: str | None) -> Plan:
    """The plan with another rule."""
    return msgspec.structs.replace(plan, replication=amended(plan.replication, changes))
