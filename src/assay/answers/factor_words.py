"""Factors in words: "two adapters raise FT's variation … and leave its median alone"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.answers.benchmarks import TITLES
from assay.answers.factors import Comparison, Factors
from assay.answers.model import Evidence
from assay.answers.select import Part
from assay.units import counted, format_share

if TYPE_CHECKING:
    from assay.stats.compare import Difference, Pair

# Sentences in the verdict.
_SAID = 3
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def corrected_p(difference: Difference) -> float:
    """The p for all comparisons together, or its own where it was made alone."""
    return difference.p if difference.p_corrected is None else difference.p_corrected


def factors_part(factors: Factors) -> Part:
    """The part of the factors: what raises or lowers variation, and what moves the median."""
    told = [each for each in factors.comparisons if finds(each)]
    part = Part(remark="; ".join(sentence(each) for each in told[:_SAID]))
    part.evidence = [_evidence(each) for each in told]
    part.method = [
        "Factors: results of cells that differ in one factor alone, each relative to its cell's "
        "median, so that spreads are coefficients of variation. F test of the logarithms where "
        "they may be normal, Brown & Forsythe's otherwise; medians by Welch's, Mann & Whitney's, "
        "Kruskal & Wallis' or Brunner & Munzel's test. Holm's correction over "
        f"{counted(len(factors.comparisons), 'comparison')}: a run without any effect shows one "
        "once in twenty. A median is left alone if its 95% interval stays within 1%.",
    ]
    part.limits = list(factors.left_out)
    if not told:
        names = dict.fromkeys(each.factor for each in factors.comparisons)
        part.limits.append(
            f"No effect of {', '.join(names)} on variation could be shown; that is no proof that "
            "there is none: the table has what could have been seen."
        )
    return part


def finds(comparison: Comparison) -> bool:
    """Whether a difference was found, of spread or of location."""
    return comparison.spread.verdict == "differs" or moves(comparison.location)


def moves(location: Difference | None) -> bool:
    """Whether medians differ, and by more than is of any account, as far as can be told.

    Of thousands of runs a difference of a thousandth is sure, and still nothing.
    """
    return location is not None and location.verdict == "differs" and not _within(location)


def _within(location: Difference) -> bool:
    """Whether all medians are surely within the margin of each other."""
    least, most = 1.0 / (1.0 + location.margin), 1.0 + location.margin
    return bool(location.pairs) and all(
        pair.ratio_ci95 is not None and least <= pair.ratio_ci95[0] and pair.ratio_ci95[1] <= most
        for pair in location.pairs
    )


def sentence(comparison: Comparison) -> str:
    """``two adapters raise FT's variation (p = 0.003, CoV 1.1% → 2.9%) and leave its median
    alone``.
    """
    spread, location = comparison.spread, comparison.location
    if len(spread.groups) > 2:
        return _of_several(comparison)
    one, other = spread.groups
    subject, plural = level_words(comparison.factor, other.name, one.name)
    if spread.verdict == "differs":
        more = (other.cov or 0.0) > (one.cov or 0.0)
        verb = _verb("raise" if more else "lower", plural)
        told = (
            f"{subject} {verb} {comparison.title}'s variation ({p_text(corrected_p(spread))}, CoV "
            f"{format_share(one.cov)} → {format_share(other.cov)})"
        )
        if location is None:
            return told
        return f"{told} and {_median_words(location, plural, 'its')}"
    assert location is not None
    words = _median_words(location, plural, f"{comparison.title}'s")
    alone = "leave" if plural else "leaves"
    tail = (
        f" and {alone} its variation alone"
        if spread.verdict == "alike"
        else "; whether its variation changes can't be told"
    )
    return f"{subject} {words}{tail}"


def _median_words(location: Difference, plural: bool, whose: str) -> str:
    """What becomes of the median: moved, left alone, or not to be told; with numbers."""
    pair = location.pairs[0]
    if moves(location):
        change = _change(pair)
        slower = (pair.ratio or 1.0) > 1.0
        verb = _verb("raise" if slower else "lower", plural)
        return f"{verb} {whose} median by {change} ({p_text(corrected_p(location))})"
    if _within(location):
        return f"{'leave' if plural else 'leaves'} {whose} median alone"
    interval = pair.ratio_ci95
    if interval is None:
        return f"{_verb('tell', plural)} nothing of {whose} median"
    low, high = (100.0 * (end - 1.0) for end in interval)
    return f"{_verb('change', plural)} {whose} median by {low:+.2g}% to {high:+.2g}%, if at all"


def _change(pair: Pair) -> str:
    """By how much a median is moved, without sign."""
    if pair.ratio is None:
        return "some"
    size = abs(pair.ratio - 1.0)
    if pair.ratio_ci95 is None:
        return format_share(size)
    ends = sorted(abs(end - 1.0) for end in pair.ratio_ci95)
    return format_share(size, (ends[0], ends[1]))


def _of_several(comparison: Comparison) -> str:
    spread, location = comparison.spread, comparison.location
    words = []
    if spread.verdict == "differs":
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
    if location is not None and moves(location):
        ranked = sorted(location.groups, key=lambda group: group.median)
        fast, slow = ranked[0], ranked[-1]
        whose = "its" if words else f"{comparison.title}'s"
        words.append(
            f"{whose} median differs by {comparison.factor} ({p_text(corrected_p(location))}): "
            f"{slow.name} is {format_share(slow.median / fast.median - 1.0)} slower than "
            f"{fast.name}"
        )
    elif location is not None and _within(location):
        words.append("its median stays the same")
    return ", ".join(words)


def level_words(factor: str, level: str, base: str) -> tuple[str, bool]:
    """A level as the subject of a sentence, and whether that is a plural."""
    if factor == "adapter":
        number, before = len(level.split(",")), len(base.split(","))
        if number != before and "any" not in level and number < len(_NUMBERS):
            return f"{_NUMBERS[number]} adapter{'s' if number > 1 else ''}", number > 1
        return f"adapter {level}" if "any" not in level else "the library's own adapter", False
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
            return "being alone", False
        names = [TITLES.get(name, name) for name in level.split(", ")]
        return f"{', '.join(names)} beside it", len(names) > 1
    if factor in ("session", "node set", "time of day"):
        return level, False
    return f"{factor} {level}", False


def _verb(stem: str, plural: bool) -> str:
    return stem if plural else f"{stem}s"


def p_text(p: float) -> str:
    """``p = 0.003``, ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.095 else f"p = {p:.1g}"


def _evidence(comparison: Comparison) -> Evidence:
    spread = comparison.spread
    pair = spread.pairs[0] if len(spread.pairs) == 1 else None
    return Evidence(
        label=f"{comparison.name}: greatest CoV over the least",
        metric="spread_ratio",
        unit="",
        value=spread.effect or 1.0,
        ci95=_upwards(pair),
        limit=None,
        limit_source=None,
        share=None,
        share_ci95=None,
        cells=list(comparison.cells),
        note=sentence(comparison),
    )


def _upwards(pair: Pair | None) -> tuple[float, float] | None:
    """The interval of the greater CoV over the lesser."""
    if pair is None or pair.ratio is None or pair.ratio_ci95 is None:
        return None
    low, high = pair.ratio_ci95
    return (low, high) if pair.ratio >= 1.0 else (1.0 / high, 1.0 / low)
