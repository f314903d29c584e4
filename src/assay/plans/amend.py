"""A plan's replication rule as the command line changes it."""

from __future__ import annotations

import msgspec

from assay.errors import AssayError
from assay.plans.model import Plan, Replication
from assay.plans.replication import read_replication

# Options that are called otherwise than the rule's key.
_OPTIONS = {"min_launches": "launches", "max_launches": "launches", "max_samples": "samples"}


def amended(rule: Replication, changes: dict[str, str | None]) -> Replication:
    """The rule with what was given on the command line; None was not given. Raises AssayError.

    ``launches`` is ``"6..30"`` (fewest and most) or one number for both.
    """
    given = {name: value for name, value in changes.items() if value}
    launches = given.pop("launches", None)
    if launches is not None:
        fewest, dots, most = launches.partition("..")
        if not fewest.strip().isdigit() or (dots and not most.strip().isdigit()):
            raise AssayError(
                f"'{launches}' is no number of launches.",
                where="--launches",
                mend="Write 10, or 6..30 for fewest and most.",
            )
        given |= {"min_launches": fewest, "max_launches": most if dots else fewest}
    return read_replication(
        {k: v for k, v in msgspec.to_builtins(rule).items() if v is not None} | given,
        lambda key: f"--{_OPTIONS.get(key, key)}" if key in given else "",
    )


def override(plan: Plan, **changes: str | None) -> Plan:
    """The plan with another rule."""
    return msgspec.structs.replace(plan, replication=amended(plan.replication, changes))
