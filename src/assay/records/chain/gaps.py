"""What the chain of a store's runs shows to be missing or changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.records.chain.previous import PreviousRun
from assay.units import counted


@dataclass(frozen=True)
class ChainedRun:
    """A run as a link of the chain."""

    name: str
    #: What it recorded about the run before it; None for a run of an earlier version.
    previous: PreviousRun | None
    #: SHA-256 of its files that don't change once they exist (``final_digests``).
    files: Mapping[str, str]


def gaps_in(runs: Sequence[ChainedRun]) -> list[str]:
    """Runs of one store that are missing, and files that changed, as sentences.

    The newest runs leave no trace when they are removed, since no later run names them.
    """
    known = {run.name: run for run in runs}
    sentences: list[str] = []
    missing: dict[str, int] = {}
    for run in sorted(runs, key=lambda each: each.name):
        before = run.previous
        if before is None or before.run is None:
            continue
        found = known.get(before.run)
        if found is None:
            if before.run not in missing:
                sentences.append(
                    f"Run {before.run} is missing: it was the newest of its store when run "
                    f"{run.name} began."
                )
            missing[before.run] = before.number - 1
            continue
        sentences += [
            f"File {name} of run {found.name} changed after run {run.name} had begun."
            for name, digest in sorted(before.files.items())
            if found.files.get(name) != digest
        ]
    further = _further(runs, set(missing.values()))
    if further:
        sentences.append(
            f"The numbers of the runs show that at least {counted(further, 'further run')} "
            f"{'is' if further == 1 else 'are'} missing."
        )
    return sentences


def _further(runs: Sequence[ChainedRun], named: set[int]) -> int:
    """How many numbers below the highest one no run has. Runs of earlier versions count as 1."""
    present = {run.previous.number if run.previous is not None else 1 for run in runs} | named
    highest = max(present, default=0)
    return highest - len({number for number in present if number >= 1})
