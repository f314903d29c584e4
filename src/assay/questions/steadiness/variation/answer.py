"""The part of the answer on how much results vary from run to run."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Confidence, Evidence
from assay.questions.common.parts import Part
from assay.questions.common.selection import quantity_text
from assay.questions.steadiness.variation.cells import ALPHA, MODES_P, CellVariation, notable
from assay.questions.steadiness.variation.findings import (
    MIN_RESULTS,
    TooFewResults,
    VariationFindings,
)
from assay.questions.steadiness.variation.level_changes import LevelChange
from assay.questions.steadiness.variation.walltime_text import walltime_advice
from assay.stats.core.launches import levels_return
from assay.stats.core.proportions import clopper_pearson
from assay.stats.repeats.spread import Spread
from assay.units import (
    capitalised,
    counted,
    counted_verb,
    format_change,
    format_duration,
    format_minute,
    format_share,
    listed,
)

# Maximum number of cells that a verdict names. With more cells: maximum number of named cells that
# have modes, a long tail or a drift.
_NAMED, _SHAPED = 4, 2
# Share of the cells with levels that last for several runs and return from which changes of level
# have low confidence.
RETURNING = 0.25
# Maximum number of changes of a cell's level that are described.
_CHANGES = 2
# Requirements of high confidence: the minimum number of runs per cell, the maximum ratio of the
# ends of the coefficient's interval, and the minimum span of the runs, s.
HIGH_RUNS, HIGH_RATIO, HIGH_SPAN = 30, 2.0, 86400.0
# Of 30 runs, all may lack the rare slow runs that make up most of a coefficient: with 5% of them,
# 21% of such cells have none, and their intervals are too low. A run shows that its cells have no
# such tail if at most this share of all its results can lie beyond three robust deviations (upper
# end of the 95% interval). Otherwise these numbers of runs per cell are needed for medium and for
# high confidence: the intervals hold in 90 and 93% of cells then, whatever their tails
# (benchmarks/rates/steadiness_answers.py).
MOST_FAR, MEDIUM_RUNS_TAILED, HIGH_RUNS_TAILED = 0.05, 60, 120


def part(found: VariationFindings) -> Part | None:
    """The spread of each cell; None if no cell has enough results."""
    if not found.varied:
        return None
    return Part(
        remark=_remark(found),
        evidence=[_evidence(each) for each in found.varied if each.spread.cov is not None],
        advice=[*_advice(found.varied), *walltime_advice(found.walltimes)],
        method=[
            "Variation: each run counts with one value, the median time of its samples. The "
            "coefficient of variation (CoV) is the standard deviation over the mean. Its interval "
            "allows for kurtosis (Bonett 2006) and for autocorrelation between runs.",
            "A change of level is a step that depends on the order of the runs, by the test of "
            "`assay history` (5% over all cells). Levels that follow each other in time are not "
            "modes. Modes, tails and drifts are those around these levels.",
            "A long tail or a drift is reported at a family-wise error rate of "
            f"{ALPHA:.0%} over all cells (Holm). Several modes are reported if the dip test "
            f"has p ≤ {MODES_P:g} (Hartigan & Hartigan 1985).",
        ],
        limits=_limits(found),
    )


def confidence_in(found: VariationFindings) -> tuple[Confidence, str]:
    """Confidence in the spread, from the number of runs, the tails of all cells, the width of
    intervals and the runs' span.
    """
    fewest = min(found.varied, key=lambda each: each.spread.n)
    reasons = []
    tailed = fewest.spread.n < HIGH_RUNS_TAILED and not _without_tails(found.varied)
    if tailed:
        needed = MEDIUM_RUNS_TAILED if fewest.spread.n < MEDIUM_RUNS_TAILED else HIGH_RUNS_TAILED
        reasons.append(
            f"{fewest.spread.n} runs of {fewest.label} can't show how often slow runs occur, and "
            f"the results of {counted(len(found.varied), 'cell')} don't exclude them ({needed} "
            f"runs per cell give {'medium' if needed == MEDIUM_RUNS_TAILED else 'high'} confidence)"
        )
    elif fewest.spread.n < HIGH_RUNS:
        reasons.append(f"only {fewest.spread.n} runs of {fewest.label}")
    wide = [each for each in found.varied if _width(each.spread) > HIGH_RATIO]
    if wide:
        worst = max(wide, key=lambda each: _width(each.spread))
        reasons.append(
            f"{len(wide)} of {counted(len(found.varied), 'coefficient')} of variation have a 95% "
            f"interval wider than a factor of {HIGH_RATIO:g} (widest: {worst.label})"
        )
    if found.span < HIGH_SPAN:
        reasons.append(f"all runs lie within {format_duration(found.span)}")
    returning = _returning(found.varied)
    if returning:
        reasons.append(
            f"{counted_verb(returning, 'cell', 'have')} two levels that last for several runs and "
            "return, so changes of level may be such levels, too"
        )
    if not found.complete:
        reasons.append("the run is incomplete")
    if not reasons:
        return "high", "There are many runs over days, and intervals are narrow."
    sentence = "; ".join(reasons)
    low = len(wide) * 2 > len(found.varied) and fewest.spread.n < HIGH_RUNS
    low = low or (tailed and fewest.spread.n < MEDIUM_RUNS_TAILED) or bool(returning)
    return ("low" if low else "medium"), capitalised(sentence) + "."


def _returning(varied: Sequence[CellVariation]) -> int:
    """The number of cells whose levels return, if this makes the changes of level doubtful."""
    if not any(each.shape.changes for each in varied):
        return 0
    returning = sum(levels_return(each.times) for each in varied)
    return returning if returning >= RETURNING * len(varied) else 0


def _without_tails(varied: Sequence[CellVariation]) -> bool:
    """Whether the results of all cells together exclude a tail that few runs of a cell may lack."""
    tails = [each.at_one_level for each in varied]
    far = sum(each.tail.left + each.tail.right for each in tails)
    return clopper_pearson(far, sum(each.n for each in tails))[1] <= MOST_FAR


def _width(spread: Spread) -> float:
    """The upper end of the coefficient's interval over the lower one."""
    interval = spread.cov_ci95
    return interval[1] / interval[0] if interval and interval[0] > 0.0 else 1.0


def too_few(few: TooFewResults, command: str) -> str:
    """The verdict if all cells have too few results; ``command``: command that measures the
    rest.
    """
    launches = f"{few.least} to {few.most}" if few.least < few.most else f"{few.most}"
    cov = "" if few.cov is None else f" (median coefficient of variation {format_share(few.cov)})"
    verb = "has" if few.cells == 1 else "have"
    return (
        f"Too few launches: {counted(few.cells, 'cell')} {verb} {launches} of the {MIN_RESULTS} "
        f"launches from which variation is reported{cov}. `{command}` measures them."
    )


def _remark(found: VariationFindings) -> str:
    if len(found.varied) <= _NAMED:
        return f"{found.when}, {'; '.join(clause(each) for each in found.varied)}"
    ordered = sorted(found.varied, key=lambda each: each.spread.cov or 0.0)
    median = ordered[len(ordered) // 2].spread.cov or 0.0
    shaped = [each for each in notable(found.varied, _SHAPED) if each.shape]
    words = [
        f"{found.when}, half of {len(ordered)} cells have a coefficient of variation (CoV) below "
        f"{100 * median:.2g}%",
        f"{ordered[0].label} has the lowest ({_cov(ordered[0].spread)})",
    ]
    if ordered[-1] not in shaped:
        words.append(f"{ordered[-1].label} has the highest ({_cov(ordered[-1].spread)})")
    return "; ".join([*words, *(clause(each) for each in shaped)])


def clause(varied: CellVariation) -> str:
    """Changes, modes, a long tail, a drift, or ``EP is steady (CoV 0.41% [0.32, 0.58])``."""
    shape, label, cov = varied.shape, varied.label, f"(CoV {_cov(varied.spread)})"
    words = []
    if shape.changes:
        at_levels = f"(CoV {_cov(varied.spread)}; {_cov(varied.at_one_level)} between changes)"
        words.append(f"{label} {change_text(varied)} {at_levels}")
    if shape.modes:
        words.append(f"{label}'s run times have {len(shape.modes)} modes: {modes_text(varied)}")
    elif shape.long_tail:
        words.append(f"{label} has a long right tail: {slow_text(varied)}")
    elif not words:
        words.append(f"{label} {'is steady' if varied.steady else 'varies'}")
    text = ", and ".join(words) if shape.changes else f"{words[0]} {cov}"
    return f"{text}, and {drift_text(varied)}" if shape.drifts else text


def change_text(varied: CellVariation) -> str:
    """``takes 15.0% [14.2, 15.9] more time since 2026-03-10 02:00 UTC``; the last two changes."""
    changes = varied.shape.changes
    words = [_one_change(each) for each in changes[-_CHANGES:]]
    if len(changes) > _CHANGES:
        return f"changed its level {len(changes)} times, most recently: {listed(words)}"
    return listed(words)


def _one_change(change: LevelChange) -> str:
    low, high = change.size_ci95
    since = f"since {format_minute(change.utc)} UTC"
    if change.direction == "more":
        return f"takes {format_share(change.size, (low, high))} more time {since}"
    if change.direction == "less":
        return f"takes {format_share(-change.size, (-high, -low))} less time {since}"
    size = format_change(change.size, change.size_ci95)
    return f"has a change of {size} {since}, whose direction is not distinguishable"


def _cov(spread: Spread) -> str:
    return format_share(spread.cov, spread.cov_ci95)


def modes_text(varied: CellVariation) -> str:
    """``70.0% of the runs near 1.20 s, 30.0% near 1.68 s (40.0% slower)``."""
    first, *others = varied.shape.modes
    words = [f"{format_share(first.share)} of the runs near {time_text(first.at, varied.unit)}"]
    words += [
        f"{format_share(mode.share)} near {time_text(mode.at, varied.unit)} "
        f"({format_share(mode.at / first.at - 1.0)} slower)"
        for mode in others
    ]
    return ", ".join(words)


def slow_text(varied: CellVariation) -> str:
    """``3.00% of the runs are over 10% slower than the median``."""
    slow = varied.slow
    if slow.over is None:
        return f"the slowest run took {format_share(slow.slowest)} longer than the median"
    return (
        f"{format_share(slow.share)} of the runs are over {slow.over * 100:g}% slower "
        "than the median"
    )


def drift_text(varied: CellVariation) -> str:
    """``slows by 2.1% [1.5, 2.8] over 3 h``."""
    trend = varied.at_one_level.trend
    if trend is None or trend.change is None or trend.change_ci95 is None:
        return "drifts"
    low, high = trend.change_ci95
    span = format_duration(trend.span)
    if trend.change < 0:
        return f"gets faster by {format_share(-trend.change, (-high, -low))} over {span}"
    return f"slows by {format_share(trend.change, (low, high))} over {span}"


def time_text(time: float, unit: str) -> str:
    """A time of a cell, or its multiple of the median if only ratios are known."""
    return quantity_text(time, unit) if unit else f"{time:.3g} × the median"


def _evidence(varied: CellVariation) -> Evidence:
    spread, shape = varied.spread, varied.shape
    words = [
        f"{spread.n} runs, median {time_text(spread.median, varied.unit)}",
        change_text(varied) if shape.changes else "",
        modes_text(varied) if shape.modes else "",
        slow_text(varied) if shape.long_tail else "",
        drift_text(varied) if shape.drifts else "",
    ]
    return Evidence(
        label=f"Variation of {varied.label}",
        metric="cov",
        unit="1",
        value=spread.cov or 0.0,
        ci95=spread.cov_ci95,
        cells=[varied.cell.id],
        note="; ".join(word for word in words if word),
    )


def _advice(varied: Sequence[CellVariation]) -> list[str]:
    advice = []
    changed = [each for each in varied if each.shape.changes]
    if changed:
        advice.append(
            f"Results changed at a certain time ({_names(changed)}): compare the machine before "
            "and after it. `assay history` lists what changed at the same time."
        )
    modal = [each for each in varied if each.shape.modes]
    tailed = [each for each in varied if each.shape.long_tail and not each.shape.modes]
    drifting = [each for each in varied if each.shape.drifts]
    if modal:
        advice.append(
            f"Several modes indicate several states of the machine ({_names(modal)}): compare slow "
            "and fast runs by hosts, neighbouring jobs, clock rate and time of day."
        )
    if tailed:
        advice.append(
            f"A few runs are far slower than the rest ({_names(tailed)}): look for occasional "
            "disturbances, such as periodic services, other users of the network or storage, or "
            "retransmissions. Medians hide such runs; walltimes must allow for them."
        )
    if drifting:
        advice.append(
            f"Results drift with time ({_names(drifting)}): check temperature and clock rate, "
            "memory fragmentation, and processes that started in that time."
        )
    return advice


def _names(varied: Sequence[CellVariation]) -> str:
    named = ", ".join(each.label for each in varied[:_NAMED])
    more = len(varied) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _limits(found: VariationFindings) -> list[str]:
    limits = []
    if found.span < HIGH_SPAN:
        limits.append(
            f"All runs lie within {format_duration(found.span)}. To measure variation over "
            "hours, days and weeks, run the same suite again at other times."
        )
    if found.few is not None:
        limits.append(
            f"{counted(found.few.cells, 'cell')} ran fewer than {MIN_RESULTS} times and "
            f"{'is' if found.few.cells == 1 else 'are'} left out."
        )
    return limits
