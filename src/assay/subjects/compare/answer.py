"""The answer of a comparison: which cells are faster or slower, and under which conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.questions.common.answer import Answer, Confidence
from assay.questions.common.code_factors import same_program
from assay.questions.common.contention import busy_text, capped, worst
from assay.stats.compare.chosen import chosen_interval
from assay.stats.core.intervals import Estimate
from assay.subjects.compare.model import ComparedCell, CompareFindings
from assay.subjects.compare.results import OWN_CODES
from assay.subjects.compare.sentences import variation_of, verdict_of
from assay.subjects.compare.tables import other_code, speed_text
from assay.subjects.right_rates import rate_text
from assay.units import counted, format_limit, format_quantity, listed

TITLE = "How do these runs differ?"
# Launches per side from which a distribution-free 95% interval of a median exists.
_ENOUGH = 6
# Other runs of a machine from which the scatter between runs is known; from which it is known even
# if one run in five is late.
_FEWEST_OTHERS, _OTHERS_FOR_HIGH = 4, 20
# Launches of all cells of one run that show an autocorrelation of 0.3 in nearly all cases: the
# standard error of the pooled one is then 0.06.
_LAUNCHES_FOR_HIGH = 300


def answer(found: CompareFindings) -> Answer:
    """One sentence per side.

    The confidence follows from what the verdicts rest on: the scatter of other runs, or of launches
    that may depend on each other.
    """
    confidence, why = _confidence(found)
    found_answer = Answer(
        question="compare",
        title=TITLE,
        status="answered",
        verdict=" ".join(
            [
                *(verdict_of(run, found) for run in found.runs[1:]),
                *(variation_of(each) for each in found.variation if each.verdict != "open"),
            ]
        ),
        confidence=confidence,
        confidence_why=why,
        method=[
            "The headline metric of each cell, by launch. Each cell's values determine the test "
            "of the difference (see the findings in the JSON); p is corrected for "
            f"{counted(len(_decidable(found)), 'comparison')} (Holm). 'The same' means that the "
            f"95% interval of the ratio lies within {format_limit(found.margin)}."
            + (
                " Two runs differ only if the difference exceeds both the scatter of their "
                "launches and the scatter between runs."
                if any(cell.separate for cell in found.cells)
                else ""
            ),
            *(
                [
                    "Variation is compared by the launches of all cells together: a permutation "
                    "test of their coefficients of variation. It takes launches as independent, "
                    "and holds for the launches of these runs."
                ]
                if found.variation
                else []
            ),
        ],
        limits=[],
        advice=_advice(found),
        caveats=_caveats(found),
    )
    return capped(found_answer, worst(run.contention for run in found.runs))


def _decidable(found: CompareFindings) -> list[ComparedCell]:
    return [cell for cell in found.cells if cell.verdict != "none"]


def _confidence(found: CompareFindings) -> tuple[Confidence, str]:
    """High: of such answers at least 95% have no wrong verdict; medium: at least 90%."""
    cells = _decidable(found)
    if not cells:
        return "low", "all results of one side were measured with other codes"
    launches = min(min(cell.reference_launches, cell.other_launches) for cell in cells)
    decided = [cell for cell in cells if cell.verdict != "open"]
    share = f"{len(decided)} of {counted(len(cells), 'comparison')} decided"
    least = f"at least {counted(launches, 'launch')} per side"
    if any(run.imported for run in found.runs):
        return "low", f"{share}; how imported numbers were measured is not known"
    if not decided:
        return "low", f"{share}, {least}"
    of_two = [cell for cell in decided if cell.of_two_runs]
    if of_two:
        which = "" if len(of_two) == len(decided) else f"{len(of_two)} of them "
        return "low", (
            f"{share}, {least}; {which}for these two runs only: fewer than {_FEWEST_OTHERS} other "
            "runs are known"
        )
    capped_by = []
    others = [cell.other_runs for cell in decided if cell.separate and cell.step is None]
    if others and min(others) < _OTHERS_FOR_HIGH:
        known = counted(min(others), "other run")
        capped_by.append(f"only {known} of the machine: rare late runs may be missing among them")
    parts = [cell for cell in decided if cell.holds_for == "runs"]
    total = sum(cell.reference_launches + cell.other_launches for cell in cells)
    if parts and total < _LAUNCHES_FOR_HIGH:
        capped_by.append(
            f"whether launches depend on each other is not evident from {total} launches"
        )
    full = launches >= _ENOUGH and len(decided) == len(cells)
    confidence: Confidence = "high" if full and not capped_by else "medium"
    return confidence, "; ".join([f"{share}, {least}", *capped_by, rate_text(confidence)])


def _advice(found: CompareFindings) -> list[str]:
    advice = []
    runs = [cell.runs for cell in found.cells if cell.runs is not None]
    if runs:
        advice.append(
            f"To decide {counted(len(runs), 'more comparison')}, measure up to {max(runs):,} "
            "runs per side in sessions (`assay run … --every 1h --sessions N`), or name several "
            "runs as one side (`RUN+RUN+RUN`)."
        )
    for unit, how in (
        ("launches", "`assay run … --launches N`"),
        ("sessions", "`assay run … --every 6h --sessions N`"),
        ("nodes", "`assay run … --per-node --nodes N`"),
    ):
        needs = [
            cell.more for cell in found.cells if cell.unit_of_test == unit and cell.more is not None
        ]
        if needs:
            advice.append(
                f"To decide {counted(len(needs), 'more comparison')}, measure up to "
                f"{max(needs):,} more {unit} per side ({how})."
            )
    few = [
        cell
        for cell in _decidable(found)
        if cell.verdict == "open" and min(cell.reference_launches, cell.other_launches) < _ENOUGH
    ]
    if few and not advice and not any(run.imported for run in found.runs):
        advice.append(
            f"To decide {counted(len(few), 'comparison')}, measure at least {_ENOUGH} launches of "
            f"each cell per side (`assay run … --launches {_ENOUGH}`)."
        )
    beside = [cell for cell in found.cells if cell.verdict == "none" and _has_beside(cell)]
    if beside:
        advice.append(
            f"For {counted(len(beside), 'verdict')} on the machines, measure the ratio of the "
            "codes: `assay run … --beside DIR` with the executables of the other code in DIR."
        )
    return advice


def _has_beside(cell: ComparedCell) -> bool:
    """Whether ``assay run --beside`` may measure the ratio of a cell's codes."""
    codes = (cell.reference_code, cell.other_code)
    return any(code in OWN_CODES for code in codes) and any(
        same_program(code, code) for code in codes
    )


def _caveats(found: CompareFindings) -> list[str]:
    caveats = _scope(found)
    if found.across_toolchains:
        caveats.append(
            "The runs have no toolchain in common, so cells are matched regardless of toolchain."
        )
    if found.codes:
        caveats.append(_codes(found))
    versions = {run.assay: run.name for run in reversed(found.runs) if run.assay}
    if len(versions) > 1:
        named = listed([f"{version} ({run})" for version, run in sorted(versions.items())])
        caveats.append(
            f"The runs were measured by assay {named}; kernels may have changed between these "
            "versions."
        )
    if found.scaled_clock:
        caveats += _clocks(found)
    for run in found.runs:
        if not run.complete:
            caveats.append(f"Run {run.name} ({run.run}) is incomplete.")
        if run.imported:
            caveats.append(f"The numbers of run {run.name} were imported.")
        if run.kind == "published":
            caveats.append(
                f"The numbers of {run.name} were published ({run.suite}) as single numbers, "
                "without launches."
            )
        if run.contention is not None and run.contention.noticeable:
            cells = sum(
                cell.disturbed and cell.in_runs is not None
                for cell in found.cells
                if run.name in ("A", cell.side)
            )
            caveats.append(
                f"During {run.name} {busy_text(run.contention)} in the most disturbed cell."
                + (
                    f" For this reason, {counted(cells, 'comparison')} can't be decided."
                    if cells
                    else ""
                )
            )
        if run.unshared:
            unshared = counted(len(run.unshared), "cell")
            caveats.append(f"Without a counterpart: {unshared} of run {run.name}.")
        if run.left_out:
            caveats.append(
                f"{counted(run.left_out, 'launch')} on nodes of both {run.name} and another "
                "side, excluded from both sides."
            )
    single = sum(
        min(cell.reference_launches, cell.other_launches) < 2 for cell in _decidable(found)
    )
    if single:
        caveats.append(
            f"{counted(single, 'comparison')} with a single number on one side can't be tested."
            + (
                " Their intervals ignore the uncertainty of this number; their verdicts hold if "
                "it is exact."
                if any(cell.if_exact is not None for cell in found.cells)
                else ""
            )
        )
    return caveats


def _scope(found: CompareFindings) -> list[str]:
    """What the verdicts apply to: these runs, these machines or these nodes."""
    cells = _decidable(found)
    held = {cell.holds_for for cell in cells}
    caveats = []
    if "machines" in held:
        machines = [cell for cell in cells if cell.holds_for == "machines"]
        of = (
            "The verdicts apply" if len(held) == 1 else f"{counted(len(machines), 'verdict')} apply"
        )
        others = max(cell.other_runs for cell in machines)
        by = "the sessions of each run"
        represent = "these sessions"
        if others:
            by = f"{counted(others, 'other run')} in the folder"
            represent = "these runs"
        caveats.append(
            f"{of} to these machines, judged by the scatter between {by}. They hold as far as "
            f"{represent} represent the machine."
        )
        caveats += _steps(machines)
    if "nodes" in held:
        caveats.append(
            "Verdicts apply to these nodes: they use the scatter between nodes, not between "
            "launches."
        )
    if "runs" in held:
        what = "these two runs" if len(found.runs) == 2 else "these runs"
        if len({run.run for run in found.runs}) == 1:
            what = "these launches of one run"
        of = "The verdicts apply" if len(held) == 1 else "The other verdicts apply"
        assumed = any(cell.separate for cell in cells if cell.holds_for == "runs")
        caveats.append(
            f"{of} to {what}. The scatter between runs of one machine is unknown and assumed to "
            "equal the scatter between launches of a run. To measure it, keep four other runs "
            "of the machine in the folder, or run in sessions (`assay run --every`)."
            if assumed
            else f"{of} to {what}."
        )
        if found.worth < 1.0:
            caveats.append(
                f"Successive launches depend on each other; each counts as {found.worth:.2g} "
                "independent launches."
            )
        if len({run.system for run in found.runs if run.kind == "run"}) > 1:
            caveats.append(
                "The systems differ. A difference is a difference between machines only if runs "
                "of one machine differ by less."
            )
    return caveats


def _steps(cells: Sequence[ComparedCell]) -> list[str]:
    """The changes of level between two runs in the history of their machine."""
    found = [(cell, cell.step) for cell in cells if cell.step is not None]
    if not found:
        return []
    first, step = max(found, key=lambda each: abs(math.log(each[1].speed)))
    speeds = [Estimate(each.speed, each.speed_ci95) for _, each in found]
    interval, _ = chosen_interval(speeds, speeds.index(Estimate(step.speed, step.speed_ci95)))
    most = "" if len(found) == 1 else "most: "
    return [
        f"In {counted(len(found), 'comparison')} the history of the machine has a change of level "
        f"between the runs ({most}{first.name}, {speed_text(step.speed, interval)} times as fast "
        f"by the levels of {step.runs} runs). `assay history` shows its date."
    ]


def _codes(found: CompareFindings) -> str:
    others = [cell for cell in found.cells if cell.reference_code != cell.other_code]
    names = list(dict.fromkeys(map(other_code, others)))
    text = (
        "The sides were measured by different programs, so the ratio combines machine and "
        f"program ({listed(names[:4])}{', …' if len(names) > 4 else ''})."
    )
    known = [cell for cell in others if cell.code_factor is not None]
    if known:
        measured = list(dict.fromkeys(cell.code_factor_of for cell in known))
        text += (
            f" In {counted(len(known), 'comparison')}, it is divided by the ratio of the codes, "
            f"measured side by side: {listed(measured[:4])}{', …' if len(measured) > 4 else ''}. "
            "Other versions and compilers may have other ratios."
        )
    return text


def _clocks(found: CompareFindings) -> list[str]:
    """The clock rates, or the sides with an unknown clock rate."""
    unknown = [run.name for run in found.runs if run.clock is None]
    if unknown:
        return [
            f"The clock rate of {listed(unknown)} is unknown, so there is no speed at equal "
            "clock rates."
        ]
    clocks = ", ".join(f"{run.name} {format_quantity(run.clock, 'Hz')}" for run in found.runs)
    return [
        f"At equal clock rates ({clocks}): the speed if it were proportional to the clock rate. "
        "Memory and network don't scale with the clock rate."
    ]
