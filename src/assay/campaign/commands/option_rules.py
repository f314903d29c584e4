"""Refuses contradictory options of ``assay run`` before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.errors import AssayError

# An option as written, with its value; None or False if it isn't given.
Given = Mapping[str, object]
# Options that determine a plan. A resumed run already has a plan.
_OF_PLANS = (
    "--nodes",
    "--ppn",
    "--seed",
    "--budget",
    "--whole",
    "--precision",
    "--launches",
    "--duration",
    "--every",
    "--sessions",
    "--app",
    "--beside",
)
_OF_JOBS = ("--walltime", "--partition", "--account")


def check_resumed(factors: tuple[str, ...], given: Given) -> None:
    """Raise AssayError for options that don't apply to a resumed run."""
    names = [name for name in _OF_PLANS if given.get(name)]
    if factors or names:
        raise AssayError(
            "A resumed run keeps its original factors and rules.",
            where=factors[0] if factors else shown(names[0], given),
            fix="Leave them out, or start a new run.",
        )
    if given.get("--dry-run"):
        raise AssayError(
            "--dry-run shows what a new run would measure.",
            fix="Leave --resume out. `assay report RUN` shows what a run has measured.",
        )


def check_new(given: Given) -> None:
    """Raise AssayError for options of a new run that would have no effect."""
    if given.get("--every") and not (given.get("--sessions") or given.get("--duration")):
        raise AssayError(
            "The number of sessions is missing.",
            where=shown("--every", given),
            fix='Add their number, --sessions 8, or the time that they cover: --duration "2 days".',
        )
    if given.get("--fail-on") == "nodes" and not given.get("--per-node"):
        raise AssayError(
            "There are no nodes to compare, since a single run doesn't measure nodes one by one.",
            where="--fail-on nodes",
            fix="Add --per-node.",
        )


def check_junit(path: Path | None) -> None:
    """Raise AssayError if the file can't be written, so that the run doesn't fail at its end."""
    if path is not None and not path.absolute().parent.is_dir():
        raise AssayError(
            f"There is no folder '{path.parent}'.",
            where=f"--junit {path}",
            fix="Create the folder, or name a file in another folder.",
        )


def check_here(given: Given) -> None:
    """Raise AssayError for job options if this process measures."""
    for name in _OF_JOBS:
        if given.get(name):
            raise AssayError(
                "No job is submitted, since this process measures.",
                where=shown(name, given),
                fix=f"Add --submit, or leave {name} out.",
            )


def shown(name: str, given: Given) -> str:
    """An option with its value: ``--nodes 4``."""
    value = given[name]
    return name if value is True else f"{name} {value}"
