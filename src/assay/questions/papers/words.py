"""Published and measured numbers of a paper as text."""

from __future__ import annotations

import re

from assay.questions.common.selection import quantity_text
from assay.questions.papers.findings import Beside, ExhibitFound, PaperFindings, QuantityFound
from assay.questions.papers.statements import StatementFound, number_text, value_text
from assay.units import Interval

_BOUNDS = {
    "": "",
    "about": "about ",
    "at most": "at most ",
    "at least": "at least ",
    "more than": "more than ",
    "less than": "less than ",
}


# The summary states intervals whose ends differ by more than this factor.
_WIDE = 1.5
_CLASS = re.compile(r"class [A-Z]")


def published_text(beside: Beside, unit: str) -> str:
    """``about 230 MB/s``, ``17.0% to 45.0%``: a published number in the unit of the measured
    one.
    """
    words = [number_text(beside.value, unit)]
    if beside.upper is not None:
        words.append(number_text(beside.upper, unit))
    return _BOUNDS[beside.bound] + " to ".join(words)


def here_text(found: QuantityFound) -> str:
    """The number on this machine, or "not measured"."""
    return "not measured" if found.here is None else value_text(found.here)


def ratio_text(value: float | None, interval: Interval | None = None) -> str:
    """A ratio with its interval; ``—`` for None."""
    return "—" if value is None else quantity_text(value, "", interval)


def statements_of(found: PaperFindings) -> list[tuple[ExhibitFound, StatementFound]]:
    """All conclusions, each with its exhibit."""
    return [(exhibit, each) for exhibit in found.exhibits for each in exhibit.statements]


def changes_text(found: PaperFindings) -> str:
    """The paragraph on changes since the paper; empty without comparable numbers."""
    sentences = []
    for exhibit in found.exhibits:
        for quantity in exhibit.quantities:
            sentence = _change(quantity)
            if sentence:
                sentences.append(sentence)
    if not sentences:
        return ""
    return (
        f"Since {found.year}: {'; '.join(sentences)}. These are ratios of machines times codes"
        f"{_codes(found)}; they compare only the machines if a code factor was measured."
    )


def _codes(found: PaperFindings) -> str:
    """The authors' programs behind the numbers of the summary: `` (here assay's own, there
    HPL)``.
    """
    codes = [
        of.code
        for exhibit in found.exhibits
        for quantity in exhibit.quantities
        if (of := _of(quantity)) is not None and of.code
    ]
    return f" (here assay's own, there {'; '.join(dict.fromkeys(codes))})" if codes else ""


def _of(quantity: QuantityFound) -> Beside | None:
    """The published number with which the summary compares; None without a ratio."""
    if not quantity.since or quantity.here is None:
        return None
    return next((each for each in quantity.published if each.ratio is not None), None)


def _change(quantity: QuantityFound) -> str:
    """``STREAM on a node is 25.3× that of Seth (12.6× per core)``."""
    of = _of(quantity)
    if of is None or quantity.here is None:
        return ""
    more = [
        f"{ratio_text(value)} per {what}"
        for value, what in ((of.per_core, "core"), (of.per_node, "node"))
        if value is not None
    ]
    if of.machines is not None:
        more.append(f"{ratio_text(of.machines)} without the code factor")
    whose = f"that of {of.cluster}" if of.cluster else "the published number"
    whose += f" with {of.conditions}" if of.conditions else ""
    here, there = _CLASS.search(quantity.here.where), _CLASS.search(of.size)
    if here and there:
        whose += f" in {there[0]} (here {here[0]})"
    wide = of.ratio_ci95 is not None and of.ratio_ci95[1] > _WIDE * of.ratio_ci95[0]
    text = f"{quantity.since} is {ratio_text(of.ratio, of.ratio_ci95 if wide else None)} {whose}"
    return f"{text} ({', '.join(more)})" if more else text
