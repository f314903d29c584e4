"""The answer counts conclusions in plain English, and only numbers of too few launches as such."""

from __future__ import annotations

import pytest

from assay.questions.papers.answer import answer
from assay.questions.papers.findings import Beside, ExhibitFound, PaperFindings, QuantityFound
from assay.questions.papers.quantities import PaperValue
from assay.questions.papers.statements import Outcome, StatementFound
from assay.questions.papers.words import changes_text


def value(
    interval: tuple[float, float] | None, launches: int = 12, where: str = "EP class B, 2 ranks"
) -> PaperValue:
    return PaperValue(1.9, interval, "", "", ("c",), ("npb.ep",), launches=launches, where=where)


def found(
    *outcomes: Outcome, values: tuple[PaperValue, ...] = (), since: str = "", size: str = ""
) -> PaperFindings:
    beside = Beside(
        "f", "Seaborg", 1.0, None, "", size, "", "NPB", 1.9, values[0].ci95, None, None, None, None
    ) if values else None  # fmt: skip
    quantities = tuple(
        QuantityFound(f"q{n}", "Q", each, "assay's npb.ep", (beside,) if beside else (), since, "")
        for n, each in enumerate(values)
    )
    statements = tuple(StatementFound("…", "", each, "", ()) for each in outcomes)
    return PaperFindings(
        suite="s-2004", paper="P (2004)", title="T", year=2004, asks="", scaled="", apart=(),
        exhibits=(ExhibitFound("Table 1", "E", "", "", quantities, (), statements),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        (["holds"], "1 of 1 conclusion of P (2004) holds here."),
        (["holds", "does not hold"], "1 of 2 conclusions of P (2004) holds here, 1 does not."),
        (
            ["holds", "holds", "undecided", "not measured"],
            "2 of 3 conclusions of P (2004) hold here, 1 is undecided; "
            "1 can't be tested on this machine.",
        ),
    ],
)
def test_the_verdict(outcomes: list[Outcome], verdict: str) -> None:
    assert answer(found(*outcomes)).verdict == verdict


def test_a_mean_of_many_launches_is_not_one_of_too_few() -> None:
    whole, mean, few = value((1.8, 2.0)), value(None), value(None, 3)
    reply = answer(found("holds", values=(whole, mean, mean)))
    assert reply.confidence == "high"
    assert not reply.advice
    reply = answer(found("holds", "undecided", values=(whole, mean, few)))
    assert reply.confidence == "medium"
    assert "1 of 3 numbers had too few launches" in reply.confidence_why
    assert "measure at least 6 launches" in reply.advice[0]
    reply = answer(found("undecided", values=(whole, mean)))
    assert reply.confidence_why == "1 conclusion is undecided."
    assert "narrow the intervals" in reply.advice[0]


def test_the_summary_names_classes_codes_and_wide_intervals() -> None:
    text = changes_text(found(values=(value((0.2, 19.5)),), since="the variation", size="class C"))
    assert "is 1.9× [0.2, 19.5] that of Seaborg in class C (here class B)" in text
    assert "machines times codes (here assay's own, there NPB)" in text
    text = changes_text(found(values=(value((1.85, 1.95)),), since="the variation"))
    assert "the variation is 1.90× that of Seaborg." in text
