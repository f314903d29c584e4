"""What the methods of the network lack in a run, and the command that measures it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.models.network.minimum import LAUNCHES, MissingData
from assay.records.model import RunData
from assay.units import counted, listed

SUITE = "network"
# Of the time that the run's budget gave for its launches; the last launch is often cut short.
_RESERVE = 1.2
# Options that the command states itself, or that don't change what is measured. The former have a
# value.
_REPLACED = ("--launches", "--budget", "--seed")
_OUTPUT = ("--json", "--report", "--no-report")


@dataclass(frozen=True)
class Shortage:
    """The methods that a run has too few data for.

    ``missing``: what each lacks. ``command``: the command that measures it.
    """

    missing: tuple[MissingData, ...]
    command: str


def shortage(missing: Iterable[MissingData], run: RunData) -> Shortage | None:
    """What is missing, each method once, and the command that brings it; None if nothing is."""
    found: dict[str, MissingData] = {}
    for lack in missing:
        if lack.method not in found or lack.launches < found[lack.method].launches:
            found[lack.method] = lack
    if not found:
        return None
    lacks = tuple(found.values())
    return Shortage(lacks, _command(lacks, run))


def sentence(found: Shortage) -> str:
    """One sentence: the methods that were not applied, what they lack, and the command."""
    reasons: dict[str, list[str]] = {}
    for lack in found.missing:
        reasons.setdefault(_reason(lack), []).append(lack.method)
    parts = [f"{listed(methods)} ({reason})" for reason, methods in reasons.items()]
    return f"Too few data for {'; '.join(parts)}: measure them with `{found.command}`."


def _reason(lack: MissingData) -> str:
    """``1 launch, 6 needed``; ``3 message sizes, 5 needed``."""
    reasons = []
    if lack.lacks_launches:
        reasons.append(f"{counted(lack.launches, 'launch')}, {lack.least_launches} needed")
    if lack.points < lack.least_points:
        reasons.append(f"{counted(lack.points, lack.noun)}, {lack.least_points} needed")
    elif lack.span < lack.least_span:
        reasons.append(
            f"{lack.noun}s over a factor of {lack.span:.3g}, {lack.least_span:.0f} needed"
        )
    return "; ".join(reasons)


def _command(missing: Sequence[MissingData], run: RunData) -> str:
    """The run's own command with enough launches; the suite for the network where points lack.

    A run whose plan asked for enough launches spent its budget before: that grows in proportion.
    """
    words = ["assay", "run", SUITE]
    if not any(lack.lacks_points for lack in missing):
        words = _own(run.manifest.command) or words
    fewest = min((lack.launches for lack in missing if lack.lacks_launches), default=None)
    if fewest is None:
        return shlex.join(words)
    rule = run.manifest.plan.replication
    if rule.min_launches < LAUNCHES:
        return shlex.join([*words, "--launches", str(LAUNCHES)])
    # Whole minutes, which are also easier to change.
    minutes = math.ceil(rule.budget * _RESERVE * LAUNCHES / max(fewest, 1) / 60)
    return shlex.join([*words, "--budget", f"{minutes} min"])


def _own(command: Sequence[str]) -> list[str]:
    """The command of a new run, without what is to be replaced; empty for another command."""
    if list(command[1:2]) != ["run"] or "--resume" in command:
        return []
    kept = ["assay"]
    skip = False
    for word in command[1:]:
        if skip:
            skip = False
        elif word in _REPLACED:
            skip = True
        elif word not in _OUTPUT and not word.startswith(tuple(f"{name}=" for name in _REPLACED)):
            kept.append(word)
    return kept
