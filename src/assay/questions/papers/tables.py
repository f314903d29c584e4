"""Tables of a paper: conclusions, measured beside published numbers, and the other numbers."""

from __future__ import annotations

import dataclasses

from assay.questions.common.tables import NOTHING, Entry, Table, TableBuilder, Tone
from assay.questions.papers.findings import Beside, ExhibitFound, PaperFindings, QuantityFound
from assay.questions.papers.statements import StatementFound
from assay.questions.papers.words import (
    changes_text,
    here_text,
    published_text,
    ratio_text,
    statements_of,
)
from assay.units import counted

_TONES: dict[str, Tone] = {
    "holds": "good",
    "does not hold": "warn",
    "undecided": "",
    "not measured": "quiet",
}


def tables(found: PaperFindings | None) -> list[Table]:
    """Conclusions, then a table for each exhibit with numbers, then numbers that are not
    compared.
    """
    if found is None:
        return []
    return [
        _conclusions(found),
        *(_exhibit(found, each) for each in found.exhibits if _has_numbers(each)),
        _not_compared(found),
    ]


def _has_numbers(exhibit: ExhibitFound) -> bool:
    """Whether there is a number of the exhibit, measured or published."""
    return any(each.here is not None or each.published for each in exhibit.quantities)


def _conclusions(found: PaperFindings) -> Table:
    rows = statements_of(found)
    build: TableBuilder[tuple[ExhibitFound, StatementFound]] = TableBuilder(rows)
    build.text("exhibit", "Exhibit", lambda row: row[0].number)
    build.column("outcome", "Holds here?", _outcome)
    build.text("says", f"Conclusion of {found.paper}", lambda row: row[1].says)
    build.text("number", "Number", lambda row: row[1].here, tone="quiet")
    table = build.table(
        "papers-conclusions",
        f"Conclusions of {found.paper}, tested here",
        caption=changes_text(found),
    )
    return dataclasses.replace(table, leading=True)


def _outcome(row: tuple[ExhibitFound, StatementFound]) -> Entry:
    return Entry(row[1].outcome, tone=_TONES[row[1].outcome])


def _exhibit(found: PaperFindings, exhibit: ExhibitFound) -> Table:
    rows: list[tuple[QuantityFound, Beside | None]] = []
    for quantity in exhibit.quantities:
        rows += [(quantity, each) for each in quantity.published] or [(quantity, None)]
    codes = {row[0].code for row in rows if row[0].code}
    # One code for all rows is named once; different codes are named beside each row.
    notes = [f"Code here: {each}." for each in codes] if len(codes) == 1 else []
    build: TableBuilder[tuple[QuantityFound, Beside | None]] = TableBuilder(rows)

    def noted(text: str, note: str) -> str:
        """A text with the number of its note."""
        if note not in notes:
            notes.append(note)
        return f"{text} ({notes.index(note) + 1})"

    def what(row: tuple[QuantityFound, Beside | None]) -> Entry:
        return Entry(noted(row[0].title, row[0].note) if row[0].note else row[0].title)

    def code(row: tuple[QuantityFound, Beside | None]) -> str:
        return noted("assay", f"Code here: {row[0].code}.") if row[0].code else ""

    build.column("what", "Quantity", what)
    build.numbers("here", "Here, median [95% interval]", _here)
    if len(codes) > 1:
        build.text("code", "Code here", code, tone="quiet")
    build.numbers("published", "Published", _published)
    build.text("machine", "Machine", lambda row: _machine(row[1]))
    build.text("their_code", "Code there", lambda row: row[1].code if row[1] else "", tone="quiet")
    build.numbers("ratio", "Here / published", lambda row: _ratio(row[1]))
    if any(beside and beside.per_core for _, beside in rows):
        build.numbers(
            "per_core", "per core", lambda row: _number(row[1].per_core if row[1] else None)
        )
    if any(beside and beside.per_node for _, beside in rows):
        build.numbers(
            "per_node", "per node", lambda row: _number(row[1].per_node if row[1] else None)
        )
    if any(beside and beside.machines for _, beside in rows):
        build.numbers("machines", "without code factor", lambda row: _machines(row[1]))
    table = build.table(
        f"papers-{_id(exhibit.number)}",
        f"{exhibit.number}: {exhibit.title}, measured and published",
        caption=" ".join(
            filter(
                None,
                [f"Left out: {exhibit.missing}." if exhibit.missing else "", exhibit.also],
            )
        ),
        folded=True,
    )
    return dataclasses.replace(table, notes=notes)


def _here(row: tuple[QuantityFound, Beside | None]) -> Entry:
    here = row[0].here
    if here is None:
        return Entry("not measured", tone="quiet")
    return Entry(here_text(row[0]), here.value)


def _published(row: tuple[QuantityFound, Beside | None]) -> Entry:
    quantity, beside = row
    if beside is None:
        return NOTHING
    unit = quantity.here.unit if quantity.here else quantity.unit or _unit_of(beside)
    return Entry(published_text(beside, unit), beside.value)


def _unit_of(beside: Beside) -> str:
    from assay.reference.papers.loading import figure_by_id

    return figure_by_id(beside.figure).si_unit


def _machine(beside: Beside | None) -> str:
    if beside is None:
        return ""
    return ", ".join(filter(None, [beside.cluster, beside.size, beside.conditions]))


def _ratio(beside: Beside | None) -> Entry:
    if beside is None or beside.ratio is None:
        return NOTHING
    if beside.upper is not None and beside.value <= beside.upper and beside.ratio == 1.0:
        return Entry("within", 1.0)
    return Entry(ratio_text(beside.ratio, beside.ratio_ci95), beside.ratio)


def _machines(beside: Beside | None) -> Entry:
    if beside is None or beside.machines is None:
        return NOTHING
    return Entry(ratio_text(beside.machines, beside.machines_ci95), beside.machines)


def _number(value: float | None) -> Entry:
    return NOTHING if value is None else Entry(ratio_text(value), value)


def _not_compared(found: PaperFindings) -> Table:
    build = TableBuilder(found.apart)
    build.text("kind", "Kind", lambda row: row.kind)
    build.text("reason", "Why there is no comparison", lambda row: row.reason)
    build.counts("count", "Numbers", lambda row: len(row.figures))
    build.text("figures", "Published numbers", lambda row: ", ".join(row.figures), tone="quiet")
    total = sum(len(each.figures) for each in found.apart)
    return build.table(
        "papers-not-compared",
        f"{counted(total, 'published number')} without a comparison",
        caption="`assay references ID` shows each number with the words around it in the paper.",
        folded=True,
    )


def _id(number: str) -> str:
    return number.lower().replace(" ", "-").replace(".", "-").replace(",", "")
