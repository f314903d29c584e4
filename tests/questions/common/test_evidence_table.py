"""The table of evidence: limits with their sources, and long notes that rows share."""

from __future__ import annotations

from assay.questions.common.answer import Evidence
from assay.questions.common.tables import evidence_table

LONG = "with 2 processors in 2005: Xeon 1.8 to 2, Opteron 1 to 1.01 (Luecke, Li & Cuma, 4.2)"


def row(note: str, limit: float | None = None) -> Evidence:
    return Evidence(
        label="read", metric="ratio", unit="", value=1.5, ci95=None, limit=limit,
        limit_source="perfect scaling" if limit else None, share=None, share_ci95=None, cells=[],
        note=note,
    )  # fmt: skip


def notes(table) -> list[str]:
    return [entries[-1].text for entries in table.rows]


def test_a_long_note_of_several_rows_is_one_footnote_after_the_sources():
    table = evidence_table("q", [row(f"at stride 4; {LONG}", 2.0), row(LONG), row("2 ranks")])
    assert table.notes == ["perfect scaling", LONG]
    assert notes(table) == ["at stride 4 (2)", "(2)", "2 ranks"]
    assert table.title == "Measured against its limit"


def test_short_notes_and_those_of_one_row_stay():
    table = evidence_table("q", [row("2 ranks"), row("2 ranks"), row(LONG)])
    assert (table.notes, notes(table)) == ([], ["2 ranks", "2 ranks", LONG])
    assert table.title == "Measured"
