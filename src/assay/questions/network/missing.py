"""The data that the methods of the network lack in a run, and the command that measures them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from assay.models.network.minimum import LAUNCHES, MissingData
from assay.questions.common.again import command_again
from assay.records.model import RunData
from assay.units import counted, listed

SUITE = "network"


@dataclass(frozen=True)
class Shortage:
    """The methods that a run has too few data for."""

    #: Missing data of each method.
    missing: tuple[MissingData, ...]
    #: Command that measures the missing data.
    command: str


def shortage(missing: Iterable[MissingData], run: RunData) -> Shortage | None:
    """The missing data, each method once, and the command that measures them; None without any."""
    found: dict[str, MissingData] = {}
    for lack in missing:
        if lack.method not in found or lack.launches < found[lack.method].launches:
            found[lack.method] = lack
    if not found:
        return None
    lacks = tuple(found.values())
    return Shortage(lacks, _command(lacks, run))


def sentence(found: Shortage) -> str:
    """One sentence: the methods that were not applied, their missing data, and the command."""
    reasons: dict[str, list[str]] = {}
    for lack in found.missing:
        reasons.setdefault(_reason(lack), []).append(lack.method)
    parts = [f"{listed(methods)} ({reason})" for reason, methods in reasons.items()]
    return f"Too few data for {'; '.join(parts)}: measure with `{found.command}`."


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
    """The run's own command with enough launches; the network suite if points are missing."""
    suite = ["assay", "run", SUITE]
    fewest = min((lack.launches for lack in missing if lack.lacks_launches), default=None)
    if any(lack.lacks_points for lack in missing):
        run = replace(run, manifest=msgspec.structs.replace(run.manifest, command=suite))
    return command_again(run, needed=LAUNCHES, fewest=fewest, otherwise=suite)
