"""What the doctor says: findings, each with how bad it is, what it means and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")


class CheckFinding(msgspec.Struct, frozen=True):
    """One result of one check.

    ``check``: the check's name. ``severity``: ok, note (know it), warning (it will touch numbers)
    or problem (numbers will be wrong or there will be none). ``what``: what was found, one
    sentence. ``means``: what it means for a measurement. ``fix``: what to do. Both are empty if it
    is ok.
    """

    check: str
    severity: Severity
    what: str
    means: str = ""
    fix: str = ""


def worst(findings: Iterable[CheckFinding]) -> Severity:
    """The gravest severity among them, ok if there are none."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default="ok")


def at_least(severity: Severity, level: Severity) -> bool:
    """Whether ``severity`` is as grave as ``level`` or graver."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(level)
