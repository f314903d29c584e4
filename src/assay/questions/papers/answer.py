"""The answer of a run that repeats a paper: which of its conclusions hold here."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import QUESTIONS, Answer, Confidence, Evidence, unmeasured_answer
from assay.questions.common.confidence import judge, lowest_of
from assay.questions.papers.findings import ExhibitFound, PaperFindings, QuantityFound
from assay.questions.papers.quantities import PaperValue
from assay.questions.papers.statements import StatementFound
from assay.questions.papers.words import statements_of
from assay.units import counted, listed

NAME = "papers"
# Confidence is low if more than this share of the measured numbers has no 95% interval.
_MANY = 0.5
_IS = {True: "is", False: "are"}
# Minimum number of launches for a distribution-free 95% interval of a median.
_LAUNCHES = 6


def answer(found: PaperFindings | None) -> Answer:
    """The verdict on the paper's conclusions."""
    if found is None:
        return unmeasured_answer(NAME, "Not asked: the run's suite doesn't repeat a paper.")
    statements = [each for _, each in statements_of(found)]
    if all(exhibit.missing for exhibit in found.exhibits):
        return unmeasured_answer(NAME, f"Nothing of {found.paper} was measured in this run.")
    confidence, why = _confidence(found)
    return Answer(
        question=NAME,
        title=QUESTIONS[NAME],
        status="answered",
        verdict=_verdict(found, statements),
        confidence=confidence,
        confidence_why=why,
        evidence=[
            row
            for exhibit in found.exhibits
            for quantity in exhibit.quantities
            if (row := _evidence(exhibit, quantity)) is not None
        ],
        advice=_advice(found, statements),
        caveats=_left_out(found),
        method=[
            f"{found.paper}, {found.title}, asked: {found.asks}",
            found.scaled,
            "Figures and tables have the paper's numbers; the code is assay's, not the paper's.",
            "A conclusion holds if the whole 95% interval of the number here meets the bound. It "
            "is undecided if the interval spans the bound, or if there are too few launches.",
        ],
        limits=[
            "A ratio of a number here to a published number is the ratio of the machines times the "
            "ratio of the codes, which differ. It compares only the machines if the run measured "
            "the code factor (`--beside`).",
            *(
                f"{exhibit.number}: {exhibit.also}"
                for exhibit in found.exhibits
                if exhibit.also and not exhibit.quantities
            ),
        ],
    )


def _verdict(found: PaperFindings, statements: Sequence[StatementFound]) -> str:
    by = {
        outcome: [each for each in statements if each.outcome == outcome]
        for outcome in ("holds", "does not hold", "undecided", "not measured")
    }
    tested = len(statements) - len(by["not measured"])
    if not tested:
        return f"None of the conclusions of {found.paper} can be tested on this machine."
    holds = "holds" if len(by["holds"]) == 1 else "hold"
    parts = [f"{len(by['holds'])} of {counted(tested, 'conclusion')} of {found.paper} {holds} here"]
    if by["does not hold"]:
        parts.append(
            f"{len(by['does not hold'])} {'does' if len(by['does not hold']) == 1 else 'do'} not"
        )
    if by["undecided"]:
        parts.append(f"{len(by['undecided'])} {_IS[len(by['undecided']) == 1]} undecided")
    text = ", ".join(parts)
    if by["not measured"]:
        text += f"; {len(by['not measured'])} can't be tested on this machine"
    return text + "."


def _left_out(found: PaperFindings) -> list[str]:
    """Exhibits of the paper that were not measured: a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for exhibit in found.exhibits:
        if exhibit.missing:
            reasons.setdefault(exhibit.missing, []).append(exhibit.number)
    return [
        f"{listed(numbers)} {_IS[len(numbers) == 1]} left out: {reason}."
        for reason, numbers in reasons.items()
    ]


def _advice(found: PaperFindings, statements: Sequence[StatementFound]) -> list[str]:
    """How to decide conclusions that are undecided because launches are too few."""
    undecided = sum(each.outcome == "undecided" for each in statements)
    if not undecided:
        return []
    if not any(map(_too_few, _measured(found))):
        return [
            f"To decide {counted(undecided, 'conclusion')}, narrow the intervals: measure on a "
            f"quiet machine, or make more launches (`assay run {found.suite} --launches N`, with "
            "enough `--budget`)."
        ]
    return [
        f"To decide {counted(undecided, 'conclusion')}, measure at least {_LAUNCHES} launches of "
        f"each cell: `assay run {found.suite} --launches {_LAUNCHES}`, with enough `--budget`."
    ]


def _confidence(found: PaperFindings) -> tuple[Confidence, str]:
    """The lower of the confidences in the conclusions and in the numbers that decide them."""
    of_conclusions = _of_conclusions(found)
    if not found.deciding:
        return of_conclusions
    of_numbers = judge(found.deciding, [], complete=True)
    return lowest_of([of_conclusions, of_numbers])


def _of_conclusions(found: PaperFindings) -> tuple[Confidence, str]:
    values = _measured(found)
    bare = sum(map(_too_few, values))
    tested = [each for _, each in statements_of(found) if each.outcome != "not measured"]
    undecided = sum(each.outcome == "undecided" for each in tested)
    if values and bare > _MANY * len(values):
        return "low", (
            f"{bare} of {counted(len(values), 'number')} had too few launches for a 95% interval."
        )
    reasons = []
    if bare:
        reasons.append(
            f"{bare} of {counted(len(values), 'number')} had too few launches for a 95% interval"
        )
    if undecided:
        reasons.append(f"{counted(undecided, 'conclusion')} {_IS[undecided == 1]} undecided")
    if reasons:
        text = " and ".join(reasons)
        return "medium", text[:1].upper() + text[1:] + "."
    return (
        "high",
        "The 95% intervals of all numbers that decide exclude their bounds.",
    )


def _measured(found: PaperFindings) -> list[PaperValue]:
    """The numbers of this machine that were measured, not surveyed."""
    return [
        quantity.here
        for exhibit in found.exhibits
        for quantity in exhibit.quantities
        if quantity.here is not None and quantity.here.launches is not None
    ]


def _too_few(value: PaperValue) -> bool:
    """Whether launches were too few for an interval. Means and orders have no interval in any
    case.
    """
    return value.ci95 is None and (value.launches or 0) < _LAUNCHES


def _evidence(exhibit: ExhibitFound, quantity: QuantityFound) -> Evidence | None:
    """A share and its limit, so that ``common.gate`` finds impossible shares."""
    share, whole = quantity.here, quantity.whole
    if share is None or whole is None:
        return None
    return Evidence(
        label=f"{exhibit.number}: {quantity.title}",
        metric=quantity.name,
        unit=whole.unit,
        value=whole.value,
        ci95=whole.ci95,
        limit=quantity.limit,
        limit_source=f"{quantity.bound}, {share.where}",
        share=share.value,
        share_ci95=share.ci95,
        cells=list(whole.cells),
        note=whole.where,
        bound=quantity.bound,
    )
