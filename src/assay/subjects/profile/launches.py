"""Several launches of a profiled program in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Evidence
from assay.subjects.profile.doubts import Doubts
from assay.trace.model import LaunchTime
from assay.units import capitalised, counted, format_duration


def launches_sentence(launches: Sequence[LaunchTime]) -> str:
    """What is known of how run times vary."""
    if len(launches) < 2:
        return "One launch does not show how times vary (`--launches 3` does)."
    seconds = [one.seconds for one in launches]
    return (
        f"{counted(len(launches), 'launch')} took {format_duration(min(seconds))} to "
        f"{format_duration(max(seconds))}; this is the middle one."
    )


def doubtful_sentence(doubts: Doubts, launches: Sequence[LaunchTime]) -> str:
    """The most serious doubt, and how long several launches took."""
    several = f" {launches_sentence(launches)}" if len(launches) > 1 else ""
    return f"{capitalised(doubts.found[0].reason)}.{several}"


def launches_evidence(launches: Sequence[LaunchTime]) -> list[Evidence]:
    """How much launches differ, in run time and in computing; nothing of a single one."""
    if len(launches) < 2:
        return []
    rows = []
    seconds, computing = [one.seconds for one in launches], [one.computing for one in launches]
    for label, key, values in (
        ("Longest ÷ shortest launch", "launches", seconds),
        ("Computing, most ÷ least of a launch", "computing_of_launches", computing),
    ):
        if min(values) > 0.0:
            note = counted(len(launches), "launch")
            rows.append(Evidence(label, key, "1", max(values) / min(values), note=note))
    return rows
