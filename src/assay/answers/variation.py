"""How results of the same cell differ from run to run: the spread of each, and what follows.

The model is Kramer & Ryan (2003): the same codes over and over, coefficients of variation, the
shape of the distributions, and what a user who has to name a walltime makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.benchmarks import TITLES
from assay.answers.model import Confidence, Evidence
from assay.answers.select import Part, quantity_text
from assay.answers.study import ALPHA, ENOUGH, MODES_P, Few, Study, Varied
from assay.plans.model import Cell
from assay.stats.spread import Spread
from assay.units import counted, format_duration, format_share

# Up to this coefficient of variation a cell is called steady: what the well-kept systems of
# Kramer & Ryan (2003) reach in most codes (tables 1 and 2).
STEADY = 0.02
# And only if the interval of the coefficient ends below this.
SURELY = 0.05
# Cells that a verdict names one by one; of more, so many with something to say.
_NAMED, _NOTED = 4, 2
# How much slower than the median a run is by round numbers; the greatest that enough runs exceed
# is told.
_ROUND = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
_TOLD_SHARE, _TOLD_RUNS = 0.01, 2
# What high confidence takes: runs of each cell, the greatest ratio of the ends of an interval of
# the coefficient of variation, and seconds from first to last.
MANY, NARROW, LONG = 30, 2.0, 86400.0


def code_of(cell: Cell) -> str:
    """``EP`` for npb.ep, as publications name it; empty for what is no NPB."""
    return TITLES.get(cell.kernel, "")


def notable(study: Study, most: int) -> list[Varied]:
    """So many cells: those with a shape of their own first, then the least steady."""
    return sorted(study.varied, key=lambda each: (not each.shape, -(each.spread.cov or 0.0)))[:most]


def variation_part(study: Study) -> Part | None:
    """The part of the spread of each cell; None where none was measured often enough."""
    if not study.varied:
        return None
    part = Part(remark=_remark(study))
    part.evidence = [_evidence(each) for each in study.varied if each.spread.cov is not None]
    part.advice = _advice(study)
    part.method = [
        "Variation: one value a run, the median of its samples, as a time. The coefficient of "
        "variation is the standard deviation over the mean; its interval allows for kurtosis "
        "(Bonett 2006) and for runs that depend on their predecessors.",
        f"A long tail or a drift is claimed where chance would claim one of any cell in "
        f"{ALPHA:.0%} of runs without (Holm), several speeds where the dip test has "
        f"p ≤ {MODES_P:g} (Hartigan & Hartigan 1985).",
    ]
    part.limits = _limits(study)
    return part


def confidence_in(study: Study) -> tuple[Confidence, str]:
    """How far the spread can be trusted: by number of runs, width of intervals, time they span."""
    fewest = min(study.varied, key=lambda each: each.spread.n)
    reasons = []
    if fewest.spread.n < MANY:
        reasons.append(f"only {fewest.spread.n} runs of {fewest.label}")
    wide = [each for each in study.varied if _ratio(each.spread) > NARROW]
    if wide:
        worst = max(wide, key=lambda each: _ratio(each.spread))
        reasons.append(
            f"{len(wide)} of {counted(len(study.varied), 'coefficient')} of variation known to no "
            f"better than a factor of {NARROW:g} (widest: {worst.label})"
        )
    if study.span < LONG:
        reasons.append(f"all runs lie within {format_duration(study.span)}")
    if not study.complete:
        reasons.append("the run is incomplete")
    if not reasons:
        return "high", "Many runs over days, and narrow intervals."
    sentence = "; ".join(reasons)
    low = len(wide) * 2 > len(study.varied) and fewest.spread.n < MANY
    return ("low" if low else "medium"), sentence[:1].upper() + sentence[1:] + "."


def _ratio(spread: Spread) -> float:
    interval = spread.cov_ci95
    return interval[1] / interval[0] if interval and interval[0] > 0.0 else 1.0


def too_few(few: Few) -> str:
    """What can be said of cells that were measured a few times: that they differed, and no more."""
    return (
        f"Not measured in this run: {counted(few.cells, 'cell')} ran {few.most} times at most, and "
        f"varied by some {format_share(few.cov)}, which tells of none of them how steady it is "
        f"(it takes {ENOUGH} runs)."
    )


def _remark(study: Study) -> str:
    if len(study.varied) <= _NAMED:
        return f"{study.when}, {'; '.join(clause(each) for each in study.varied)}"
    ordered = sorted(study.varied, key=lambda each: each.spread.cov or 0.0)
    middle = ordered[len(ordered) // 2].spread.cov or 0.0
    shaped = [each for each in notable(study, _NOTED) if each.shape]
    words = [
        f"{study.when}, half of {len(ordered)} cells vary by less than {100 * middle:.2g}% from "
        "run to run",
        f"the steadiest is {ordered[0].label} ({_cov(ordered[0].spread)})",
    ]
    if ordered[-1] not in shaped:
        words.append(f"the least steady {ordered[-1].label} ({_cov(ordered[-1].spread)})")
    return "; ".join([*words, *(clause(each) for each in shaped)])


def clause(varied: Varied) -> str:
    """``EP is steady to 0.41% [0.32, 0.58]``, or what else there is to say of a cell."""
    spread, shape = varied.spread, varied.shape
    cov = _cov(spread)
    if shape.modes:
        told = f"{varied.label} runs at {len(shape.modes)} speeds: {modes_text(varied)} (CoV {cov})"
    elif shape.long_tail:
        told = f"{varied.label} has a long right tail: {slow_text(varied)} (CoV {cov})"
    elif _is_steady(spread):
        told = f"{varied.label} is steady to {cov}"
    else:
        told = f"{varied.label} varies by {cov}"
    return f"{told}, and {drift_text(varied)}" if shape.drifts else told


def _is_steady(spread: Spread) -> bool:
    """Whether a cell varies little, and surely not much."""
    surely = spread.cov_ci95[1] if spread.cov_ci95 else 0.0
    return (spread.cov or 0.0) <= STEADY and surely <= SURELY


def _cov(spread: Spread) -> str:
    return format_share(spread.cov, spread.cov_ci95)


def modes_text(varied: Varied) -> str:
    """``70.0% of the runs near 1.20 s, 30.0% near 1.68 s (40.0% slower)``."""
    first, *others = varied.shape.modes
    words = [f"{format_share(first.share)} of the runs near {time_text(varied, first.at)}"]
    words += [
        f"{format_share(mode.share)} near {time_text(varied, mode.at)} "
        f"({format_share(mode.at / first.at - 1.0)} slower)"
        for mode in others
    ]
    return ", ".join(words)


def slow_text(varied: Varied) -> str:
    """``3.00% of the runs are over 10% slower than the median``."""
    slower = varied.slower
    for over in _ROUND:
        count = int((slower > over).sum())
        if count >= max(_TOLD_RUNS, _TOLD_SHARE * slower.size):
            return (
                f"{format_share(count / slower.size)} of the runs are over {over * 100:g}% slower "
                "than the median"
            )
    return f"the slowest run took {format_share(float(slower.max()))} longer than the median"


def drift_text(varied: Varied) -> str:
    """``slows by 2.1% [1.5, 2.8] over 3 h``."""
    trend = varied.spread.trend
    if trend is None or trend.change is None or trend.change_ci95 is None:
        return "drifts"
    low, high = trend.change_ci95
    span = format_duration(trend.span)
    if trend.change < 0:
        return f"gets faster by {format_share(-trend.change, (-high, -low))} over {span}"
    return f"slows by {format_share(trend.change, (low, high))} over {span}"


def time_text(varied: Varied, time: float) -> str:
    """A time of a cell, or, where only ratios are known, its multiple of the median."""
    return quantity_text(time, varied.unit) if varied.unit else f"{time:.3g} × the median"


def shape_of(varied: Varied) -> tuple[str, str]:
    """The shape in words, and a sentence on which published one it is like; empty for none."""
    paper = "Kramer & Ryan 2003"
    if varied.shape.modes:
        return (
            f"{len(varied.shape.modes)} groups, {modes_text(varied)}",
            f"groups, most near the fastest and some far slower, as LU on the Cray T3E by wall "
            f"clock ({paper}, figure 5 and section 11)",
        )
    if varied.shape.long_tail:
        return (
            f"a bell with a long right tail, {slow_text(varied)}",
            f"a tight bell with a long right tail, as LU on the Compaq SC ({paper}, figure 4)",
        )
    return f"one group, {_cov(varied.spread)}", ""


def _evidence(varied: Varied) -> Evidence:
    spread, shape = varied.spread, varied.shape
    words = [
        f"{spread.n} runs, median {time_text(varied, spread.median)}",
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
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=[varied.cell.id],
        note="; ".join(word for word in words if word),
    )


def _advice(study: Study) -> list[str]:
    advice = []
    modal = [each for each in study.varied if each.shape.modes]
    tailed = [each for each in study.varied if each.shape.long_tail and not each.shape.modes]
    drifting = [each for each in study.varied if each.shape.drifts]
    if modal:
        advice.append(
            f"Several speeds are several states of the machine ({_names(modal)}): hold what slow "
            "runs had (hosts, neighbours, clock rate, time of day) against what fast ones had."
        )
    if tailed:
        advice.append(
            f"A few runs are far slower than the rest ({_names(tailed)}): something disturbs now "
            "and then, such as periodic services, other users of the network or storage, or a "
            "resent message; medians don't show it, walltimes have to allow for it."
        )
    if drifting:
        advice.append(
            f"Results move with time ({_names(drifting)}): look at temperature and clock rate, at "
            "memory that fragments, and at what else was started meanwhile."
        )
    return advice


def _names(found: Sequence[Varied]) -> str:
    named = ", ".join(each.label for each in found[:_NAMED])
    more = len(found) - _NAMED
    return f"{named} and {more} more" if more > 0 else named


def _limits(study: Study) -> list[str]:
    limits = []
    if study.span < LONG:
        limits.append(
            f"All runs lie within {format_duration(study.span)}. How they differ over hours, days "
            "and weeks takes the same suite run again at other times."
        )
    if study.few is not None:
        limits.append(
            f"{counted(study.few.cells, 'cell')} ran fewer than {ENOUGH} times and "
            f"{'is' if study.few.cells == 1 else 'are'} left out."
        )
    return limits
