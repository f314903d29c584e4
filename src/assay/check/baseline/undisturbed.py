"""Learning checks without the readings that ran beside other processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from assay.check.baseline.samples import LearningCheck
from assay.check.components import BY_NAME
from assay.check.model import Reading
from assay.check.quietness import is_quiet
from assay.units import counted, listed


def undisturbed(checks: Sequence[LearningCheck]) -> tuple[list[LearningCheck], list[str]]:
    """The checks to learn from, and sentences on what disturbed the others.

    Disturbed readings would make slowness usual. A component that has no other readings keeps them:
    a baseline of a busy fleet finds only very slow nodes, and the sentences say so.
    """
    given = Counter(each.component for each in _readings(checks))
    quiet = Counter(each.component for each in _readings(checks) if is_quiet(each.quiet))
    kept = [
        replace(check, rounds=[_kept(each, quiet) for each in check.rounds]) for check in checks
    ]
    left = sum(given[name] - quiet[name] for name in given if quiet[name])
    busy = [BY_NAME[name].title for name in BY_NAME if given[name] and not quiet[name]]
    sentences = []
    if left:
        sentences.append(
            f"{counted(left, 'reading')} of {sum(given.values()):,} ran beside other processes and "
            f"{'was' if left == 1 else 'were'} left out."
        )
    if busy:
        sentences.append(
            f"All readings of {listed(busy)} ran beside other processes: only very slow nodes will "
            "be found. Record again on idle nodes, and learn again."
        )
    return kept, sentences


def _readings(checks: Iterable[LearningCheck]) -> Iterator[Reading]:
    """Readings with a value."""
    for check in checks:
        for each in check.rounds:
            yield from (
                reading for name, reading in each.items() if name in BY_NAME and not reading.failed
            )


def _kept(found: Mapping[str, Reading], quiet: Mapping[str, int]) -> dict[str, Reading]:
    return {
        name: reading
        for name, reading in found.items()
        if is_quiet(reading.quiet) or not quiet[name]
    }
