"""Several launches of a profiled program in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Evidence
from assay.subjects.profile.doubts import Doubts
from assay.trace.model import LaunchTime
from assay.units import capitalised, counted, format_duration


def launches_sentence(launches: Sequence[LaunchTime]) -> str:
    """A sentence on the variation of run times."""
    if len(launches) < 2:
        return "One launch does not show how times vary; `--launches 3` does."
    seconds = [one.seconds for one in launches]
    return (
        f"{counted(len(launches), 'launch')} took {format_duration(min(seconds))} to "
        f"{format_duration(max(seconds))}; this is the median launch."
    )


def doubtful_sentence(doubts: Doubts, launches: Sequence[LaunchTime]) -> str:
    """The most serious doubt, and the run times of several launches."""
    several = f" {launches_sentence(launches)}" if len(launches) > 1 else ""
    return f"{capitalised(doubts.found[0].reason)}.{several}"


def launches_evidence(launches: Sequence[LaunchTime]) -> list[Evidence]:
    """Differences between launches in run time and computing; empty for a single launch."""
    if len(launches) < 2:
        return []
    rows = []
    seconds, computing = [one.seconds for one in launches], [one.computing for one in launches]
    for label, key, values in (
        ("Longest ÷ shortest launch", "launches", seconds),
        ("Computing time, most ÷ least of a launch", "computing_of_launches", computing),
    ):
        if min(values) > 0.0:
            note = counted(len(launches), "launch")
            rows.append(Evidence(label, key, "1", max(values) / min(values), note=note))
    return rows
