"""The subjects of reports other than a run. Each is a package and has a line here.

A package of ``assay.questions`` is a question about one run.A package here describes another
subject of reports: groups of runs, the history of a machine, logs, programs, designs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.subjects.subject import Subject

# Subjects have the order of ``docs/findings.md``; ``profile.traced`` and
# ``profile.sampled`` are part of the report of a profile.
NAMES = (
    "history",
    "compare",
    "nodes",
    "checks",
    "design",
    "simulation",
    "acceptance",
    "usage",
    "profile",
    "profile.traced",
    "profile.sampled",
    "profile.compared",
    "why",
)


def subjects() -> list[Subject[Any]]:
    """Every subject, in order."""
    found: list[Subject[Any]] = [
        import_module(f"assay.subjects.{name}.subject").SUBJECT for name in NAMES
    ]
    return found
