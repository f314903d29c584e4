"""Text of factors: "two adapters raise FT's variation … and leave its median unchanged"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.kernels.naming import kernel_name
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.steadiness.factors.findings import FactorComparison, FactorFindings
from assay.units import counted, format_change, format_share

if TYPE_CHECKING:
    from assay.stats.compare.groups import GroupDifference, Pair

# Maximum number of sentences in the verdict.
_IN_VERDICT = 3
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def corrected_p(difference: GroupDifference) -> float:
    """The p-value corrected for all comparisons; uncorrected if there was only one comparison."""
    return difference.p if difference.p_corrected is None else difference.p_corrected


def part(found: FactorFindings) -> Part:
    """Factors that raise or lower variation, and factors that change the median."""
    effects = [each for each in found.comparisons if each.differs]
    limits = list(found.left_out)
    if not effects:
        names = dict.fromkeys(each.factor for each in found.comparisons)
        limits.append(
            f"The variation is not distinguishable by {', '.join(names)}. This does not prove "
            "that there is no effect; see the intervals in the table."
        )
    return Part(
        remark="; ".join(sentence(each) for each in effects[:_IN_VERDICT]),
        evidence=[_evidence(each) for each in effects],
        advice=[tuned(each) for each in effects if each.steadiest is not None],
        method=[
            "Factors: cells that differ in one factor only are compared. Results are relative to "
            "their cell's median, so spreads are coefficients of variation. Spreads are compared "
            "by the F test of the logarithms if normality is not rejected, else by Brown & "
            "Forsythe's test. Medians are compared by Welch's, Mann & Whitney's, Kruskal & Wallis' "
            "or Brunner & Munzel's test. Holm's correction covers "
            f"{counted(len(found.comparisons), 'comparison')}, for spreads and medians separately. "
            "A difference is reported if the range of a ratio also excludes 1; of 1,000 runs "
            "without effects, at most one reports a difference. A median is unchanged if the 95% "
            "interval of its ratio is within 1%.",
        ],
        limits=limits,
    )


def sentence(comparison: FactorComparison) -> str:
    """``two adapters raise FT's variation (p = 0.003, CoV 1.1% → 2.9%) and leave its median
    unchanged``.
    """
    spread, location = comparison.spread, comparison.location
    if len(spread.groups) > 2:
        return _of_several(comparison)
    one, other = spread.groups
    subject, plural = level_words(comparison.factor, other.name, one.name)
    if comparison.spread_differs:
        verb = _verb("raise" if (other.cov or 0.0) > (one.cov or 0.0) else "lower", plural)
        words = (
            f"{subject} {verb} {comparison.title}'s variation ({p_text(corrected_p(spread))}, CoV "
            f"{format_share(one.cov)} → {format_share(other.cov)})"
        )
        if location is None:
            return words
        return f"{words} and {_median_words(comparison, location, plural, 'its')}"
    assert location is not None
    words = _median_words(comparison, location, plural, f"{comparison.title}'s")
    tail = (
        f" and {_verb('leave', plural)} its variation unchanged"
        if spread.verdict == "alike"
        else "; whether its variation changes is unknown"
    )
    return f"{subject} {words}{tail}"


def tuned(comparison: FactorComparison) -> str:
    """``FT: adapter eth0 is best for speed and steadiness together: 95% of runs take …``."""
    assert comparison.steadiest is not None
    best, other = comparison.steadiest
    intervals = best.p95_ci95, other.p95_ci95
    sure = all(intervals) and (best.p95_ci95 or (0, 0))[1] < (other.p95_ci95 or (0, 0))[0]
    tails = (
        f"95% of the runs take {best.p95:.3g} times the common median or less, {other.p95:.3g} "
        f"times with {other.level}"
    )
    subject = f"{comparison.title}: {comparison.factor} {best.level}"
    if sure:
        return f"{subject} is best for speed and steadiness together: {tails}."
    runs = counted(min(best.n, other.n), "run")
    if not all(intervals):
        return f"{subject}: {tails} ({runs} each, too few for an interval; measure more runs)."
    return (
        f"{subject} and {other.level} are not distinguishable for speed and steadiness together: "
        f"{tails} ({runs} each; measure more runs to decide)."
    )


def _median_words(
    comparison: FactorComparison, location: GroupDifference, plural: bool, whose: str
) -> str:
    """Whether the median changes, stays unchanged or is uncertain, with numbers."""
    pair = location.pairs[0]
    if comparison.median_changes:
        verb = _verb("raise" if (pair.ratio or 1.0) > 1.0 else "lower", plural)
        return f"{verb} {whose} median by {_change(pair)} ({p_text(corrected_p(location))})"
    if comparison.median_unchanged:
        return f"{_verb('leave', plural)} {whose} median unchanged"
    interval = pair.ratio_ci95
    if interval is None:
        return f"{_verb('have', plural)} an unknown effect on {whose} median"
    size = " to ".join(format_change(end - 1.0, spec="+.2g") for end in interval)
    return f"{_verb('change', plural)} {whose} median by {size}, if at all"


def _change(pair: Pair) -> str:
    """The relative change of a median, without sign."""
    if pair.ratio is None:
        return "an unknown amount"
    size = abs(pair.ratio - 1.0)
    if pair.ratio_ci95 is None:
        return format_share(size)
    ends = sorted(abs(end - 1.0) for end in pair.ratio_ci95)
    return format_share(size, (ends[0], ends[1]))


def _of_several(comparison: FactorComparison) -> str:
    spread, location = comparison.spread, comparison.location
    words = []
    if comparison.spread_differs:
        ordered = sorted(
            (group for group in spread.groups if group.cov is not None),
            key=lambda group: group.cov or 0.0,
        )
        low, high = ordered[0], ordered[-1]
        words.append(
            f"{comparison.title}'s variation differs by {comparison.factor} "
            f"({p_text(corrected_p(spread))}), from CoV {format_share(low.cov)} ({low.name}) to "
            f"{format_share(high.cov)} ({high.name})"
        )
    if location is not None and comparison.median_changes:
        ranked = sorted(location.groups, key=lambda group: group.median)
        fast, slow = ranked[0], ranked[-1]
        whose = "its" if words else f"{comparison.title}'s"
        words.append(
            f"{whose} median differs by {comparison.factor} ({p_text(corrected_p(location))}): "
            f"{slow.name} is {format_share(slow.median / fast.median - 1.0)} slower than "
            f"{fast.name}"
        )
    elif comparison.median_unchanged:
        words.append("its median is unchanged")
    return ", ".join(words)


def level_words(factor: str, level: str, base: str) -> tuple[str, bool]:
    """A level as the subject of a sentence, and whether it is plural."""
    if factor == "adapter":
        number, before = len(level.split(",")), len(base.split(","))
        if number != before and "any" not in level and number < len(_NUMBERS):
            return f"{_NUMBERS[number]} adapter{'s' if number > 1 else ''}", number > 1
        return f"adapter {level}" if "any" not in level else "the library's default adapter", False
    if factor == "order":
        return f"{level} order", False
    if factor == "binding":
        return f"{level} binding", False
    if factor == "ppn":
        return f"{level.split(' ')[0]} rank{'s' if level[:2] != '1 ' else ''} per node", (
            level[:2] != "1 "
        )
    if factor in ("nodes", "threads"):
        return level, not level.startswith("1 ")
    if factor in ("hosts", "CPUs"):
        return level, "[" in level or "," in level
    if factor == "beside":
        if level == "alone":
            return "running alone", False
        names = [kernel_name(name) for name in level.split(", ")]
        return f"concurrent {', '.join(names)}", len(names) > 1
    if factor in ("session", "node set", "time of day"):
        return level, False
    return f"{factor} {level}", False


def _verb(stem: str, plural: bool) -> str:
    return stem if plural else "has" if stem == "have" else f"{stem}s"


def p_text(p: float) -> str:
    """``p = 0.003``, ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.095 else f"p = {p:.1g}"


def _evidence(comparison: FactorComparison) -> Evidence:
    spread = comparison.spread
    pair = spread.pairs[0] if len(spread.pairs) == 1 else None
    return Evidence(
        label=f"{comparison.name}: largest CoV over the smallest",
        metric="spread_ratio",
        unit="",
        value=spread.effect or 1.0,
        ci95=_at_least_one(pair),
        cells=list(comparison.cells),
        note=sentence(comparison),
    )


def _at_least_one(pair: Pair | None) -> tuple[float, float] | None:
    """The 95% interval of the larger CoV over the smaller."""
    if pair is None or pair.ratio is None or pair.ratio_ci95 is None:
        return None
    low, high = pair.ratio_ci95
    return (low, high) if pair.ratio >= 1.0 else (1.0 / high, 1.0 / low)
