"""The answer of a comparison: which cells are faster or slower, and under which conditions."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Answer, Confidence
from assay.questions.compare.model import ComparedCell, ComparedRun, CompareFindings
from assay.questions.compare.tables import speed_text
from assay.units import counted, format_limit, listed

TITLE = "How do these runs differ?"
# Launches per side from which a distribution-free 95% interval of a median exists.
_ENOUGH = 6


def answer(found: CompareFindings) -> Answer:
    """One sentence per side; confidence by the share of decided cells and their launches."""
    confidence, why = _confidence(found)
    return Answer(
        question="compare",
        title=TITLE,
        status="answered",
        verdict=" ".join(_verdict(run, found) for run in found.runs[1:]),
        confidence=confidence,
        confidence_why=why,
        method=[
            "The headline metric of each cell, by launch. The test of a difference follows from "
            "its values (findings in the JSON); p is corrected for all "
            f"{counted(len(found.cells), 'comparison')} (Holm). The same: the 95% interval of the "
            f"ratio lies within {format_limit(found.margin)}."
        ],
        limits=[],
        advice=_advice(found),
        caveats=_caveats(found),
    )


def _verdict(run: ComparedRun, found: CompareFindings) -> str:
    cells = [cell for cell in found.cells if cell.side == run.name]
    parts = []
    for verdict in ("slower", "faster"):
        those = [cell for cell in cells if cell.verdict == verdict]
        if those:
            parts.append(f"{verdict} in {len(those)}{_extreme(those)}")
    for verdict, words in (
        ("same", f"the same within {format_limit(found.margin)} in"),
        ("open", "undecided in"),
    ):
        count = sum(cell.verdict == verdict for cell in cells)
        if count:
            parts.append(f"{words} {count}")
    return f"Of {counted(len(cells), 'shared cell')} {run.name} ({run.run}) is {listed(parts)}."


def _extreme(cells: Sequence[ComparedCell]) -> str:
    """`` (most: LU class A, ..., 0.912 [0.900, 0.925] times as fast)``."""
    known = [cell for cell in cells if cell.speed]
    if not known:
        return ""
    first = known[0]
    most = "" if len(known) == 1 else "most: "
    return f" ({most}{first.name}, {speed_text(first.speed, first.speed_ci95)} times as fast)"


def _confidence(found: CompareFindings) -> tuple[Confidence, str]:
    launches = min(min(cell.reference_launches, cell.other_launches) for cell in found.cells)
    decided = sum(cell.verdict != "open" for cell in found.cells)
    share = f"{decided} of {counted(len(found.cells), 'comparison')} decided"
    least = f"at least {counted(launches, 'launch')} per side"
    if any(run.imported for run in found.runs):
        return "low", f"{share}; how imported numbers were measured is not known"
    if launches >= _ENOUGH and decided == len(found.cells):
        return "high", f"{share}, {least}"
    if decided:
        return "medium", f"{share}, {least}"
    return "low", f"{share}, {least}"


def _advice(found: CompareFindings) -> list[str]:
    needs = [cell.more for cell in found.cells if cell.verdict == "open" and cell.more is not None]
    if not needs:
        return []
    most = max(needs)
    return [
        f"To decide {counted(len(needs), 'more comparison')}, measure up to {most:,} more launches "
        "per side (`assay run … --launches N`)."
    ]


def _caveats(found: CompareFindings) -> list[str]:
    caveats = [
        "The verdicts are on these runs. How much runs of one machine differ from each other is "
        "not in them: `assay run --every` and `assay history` show it."
    ]
    if len({run.system for run in found.runs}) > 1:
        caveats.append(
            "The systems differ: a difference is one between machines only if their runs differ by "
            "less."
        )
    if found.across_toolchains:
        caveats.append("The runs have no toolchain in common: cells are matched without it.")
    if found.codes:
        caveats.append(
            "The sides were measured by different programs: the ratio is that of machine and "
            "program together."
        )
    for run in found.runs:
        if not run.complete:
            caveats.append(f"Run {run.name} ({run.run}) is incomplete.")
        if run.imported:
            caveats.append(f"The numbers of run {run.name} were imported.")
        if run.unshared:
            unshared = counted(len(run.unshared), "cell")
            caveats.append(f"Without a counterpart: {unshared} of run {run.name}.")
    single = sum(min(cell.reference_launches, cell.other_launches) < 2 for cell in found.cells)
    if single:
        caveats.append(
            f"{counted(single, 'comparison')} with a single number on one side: no test is "
            "possible."
        )
    return caveats
