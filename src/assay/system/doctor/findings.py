"""The doctor's findings: severity, effect on measurements, and fix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Severity = Literal["ok", "note", "warning", "problem"]
SEVERITIES: tuple[Severity, ...] = ("ok", "note", "warning", "problem")


class CheckFinding(msgspec.Struct, frozen=True):
    """One result of one check."""

    #: The check's name.
    check: str
    #: Ok, note (for information), warning (results are affected) or problem (results are wrong or
    #: missing).
    severity: Severity
    #: What was found, one sentence.
    what: str
    #: The effect on a measurement.
    means: str = ""
    #: What to do about it. ``effect`` and ``fix`` are empty for ok.
    fix: str = ""


def worst(findings: Iterable[CheckFinding]) -> Severity:
    """The highest severity among the findings, ok if there are none."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default="ok")


def at_least(severity: Severity, level: Severity) -> bool:
    """Whether ``severity`` is at least ``level``."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(level)
