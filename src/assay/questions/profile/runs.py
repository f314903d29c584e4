"""Several runs of a profiled program in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Evidence
from assay.trace.model import RunTime
from assay.units import counted, format_duration


def runs_sentence(runs: Sequence[RunTime]) -> str:
    """What is known of how run times vary."""
    if len(runs) < 2:
        return "One run does not show how its times vary (`--runs 3` does)."
    seconds = [one.seconds for one in runs]
    return (
        f"{counted(len(runs), 'run')} took {format_duration(min(seconds))} to "
        f"{format_duration(max(seconds))}; this is the middle one."
    )


def runs_evidence(runs: Sequence[RunTime]) -> list[Evidence]:
    """How much runs differ, in run time and in computing; nothing of a single run."""
    if len(runs) < 2:
        return []
    rows = []
    for label, key, values in (
        ("Longest ÷ shortest run", "runs", [one.seconds for one in runs]),
        ("Computing, most ÷ least of a run", "computing_of_runs", [one.computing for one in runs]),
    ):
        if min(values) > 0.0:
            note = counted(len(runs), "run")
            rows.append(Evidence(label, key, "1", max(values) / min(values), note=note))
    return rows
