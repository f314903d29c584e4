"""The answer on what changed between profiles."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.profile.compared.model import (
    ChangedFunction,
    ChangedProfile,
    ProfileComparison,
    ProfileGrowth,
)
from assay.subjects.profile.sampled.words import shortened
from assay.units import counted, format_change, format_duration, format_share

QUESTION = "functions"
TITLE = "Which functions became slower, and what limits the next size?"
_MOST_NAMED = 3
_FEW = 1000  # samples of a side below which confidence is low


def answer(found: ProfileComparison) -> Answer:
    """The verdict: slower functions, faster ones, and the function that grows with the ranks."""
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=" ".join([*map(_changed, found.changes), *_growth(found.growth)]),
        confidence=confidence,
        confidence_why=why,
        evidence=[one for each in found.changes for one in _evidence(each)],
        advice=[*(text for each in found.changes for text in _advice(each)), *_limit(found.growth)],
        caveats=list(found.unknown),
        method=[
            "Samples in a function are counts. Ratios have the exact interval of two counts "
            "(Przyborowski & Wilenski 1940), and p-values are corrected for the number of "
            f"functions (Holm 1979). Differences within {format_share(found.margin)} count as the "
            "same (`--same`).",
            *(
                []
                if found.growth is None
                else [
                    "The time of a function over all ranks follows a power of the number of ranks, "
                    "fitted to all sizes and weighted by the counts of samples."
                ]
            ),
        ],
        limits=[
            "The intervals cover the chance of sampling. Launches of one program differ, too: a "
            "difference of a few percent needs several launches of each side.",
            "Times are CPU times of all ranks. Functions are compared by name and module.",
        ],
    )


def verdicts(change: ChangedProfile, verdict: str) -> list[ChangedFunction]:
    """The functions with a verdict, the largest difference first."""
    return [one for one in change.functions if one.verdict == verdict]


def _named(one: ChangedFunction) -> str:
    if one.ratio is None:
        return f"{shortened(one.function)} (new, {format_duration(one.after)})"
    low, high = one.ci95
    return f"{shortened(one.function)} {format_change(one.ratio - 1.0, (low - 1.0, high - 1.0))}"


def _changed(change: ChangedProfile) -> str:
    total = (
        f"{change.after}: {format_duration(change.seconds_after)} of computing, "
        f"{format_duration(change.seconds_before)} in {change.before}"
    )
    parts = []
    for verdict in ("slower", "faster"):
        if some := verdicts(change, verdict):
            more = len(some) - _MOST_NAMED
            rest = f", and {more} more" if more > 0 else ""
            named = ", ".join(map(_named, some[:_MOST_NAMED]))
            parts.append(f"{verdict}: {named}{rest}")
    if not parts:
        parts.append("no function surely became slower or faster")
    return f"{total}; {'; '.join(parts)}."


def _growth(growth: ProfileGrowth | None) -> list[str]:
    if growth is None:
        return []
    sizes = ", ".join(map(str, growth.sizes))
    text = f"From {sizes} ranks, {counted(growth.next_size, 'rank')} would need "
    text += f"{format_duration(growth.next_time)} of CPU time per rank"
    found = next((one for one in growth.functions if one.function == growth.limit), None)
    if not growth.limit or found is None:
        return [f"{text}; no function surely takes a growing share."]
    return [
        f"{text}. {shortened(growth.limit)} would limit it: its share grows from "
        f"{format_share(found.shares[0])} at {counted(growth.sizes[0], 'rank')} over "
        f"{format_share(found.shares[-1])} at {growth.sizes[-1]} to "
        f"{format_share(found.next_share)}."
    ]


def _evidence(change: ChangedProfile) -> list[Evidence]:
    return [
        Evidence(
            f"{shortened(one.function)}, {change.after} ÷ {change.before}",
            "ratio",
            "1",
            one.ratio,
            ci95=one.ci95,
            note=one.verdict,
        )
        for one in change.functions
        if one.verdict in ("slower", "faster") and one.ratio is not None
    ][:_MOST_NAMED]


def _advice(change: ChangedProfile) -> list[str]:
    slower = verdicts(change, "slower")
    if not slower:
        return []
    first = slower[0]
    return [
        f"Look at {shortened(first.function)} first: it takes "
        f"{format_duration(first.after - first.before)} more in {change.after} than in "
        f"{change.before}."
    ]


def _limit(growth: ProfileGrowth | None) -> list[str]:
    if growth is None or not growth.limit:
        return []
    return [
        f"Divide the work of {shortened(growth.limit)} among more ranks before running on "
        f"{growth.next_size}."
    ]


def _confidence(found: ProfileComparison) -> tuple[Confidence, str]:
    least = min(side.samples for side in found.sides)
    if least < _FEW:
        return "low", f"A profile has only {counted(least, 'sample')}."
    return "medium", "One launch per profile does not show how launches differ."
