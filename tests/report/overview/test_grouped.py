"""Sentences that differ in numbers alone become one, and no other sentences do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.questions.common.tables import Column, Entry, Table
from assay.report.overview.grouped import grouped, merged_notes
from assay.report.overview.presented import _few_notes, without_empty_columns

BUSY = "Other processes kept {} of 2 CPUs busy. ({})"


def test_caveats_of_cells_are_one_with_the_range_of_their_numbers():
    cells = ["EP class W", "CG class A", "STREAM op=copy", "LU class S", "FT class S"]
    sentences = [BUSY.format(busy, name) for busy, name in zip((1.3, 1.1, 1.7, 1.2, 1.5), cells,
                                                               strict=True)]  # fmt: skip
    assert grouped(sentences) == [
        "5 cells: other processes kept 1.1 to 1.7 of 2 CPUs busy. "
        "(EP class W, CG class A, STREAM op=copy and 2 more)"
    ]


def test_cells_that_are_only_counted_are_counted():
    few = "{} launches only: there is no 95% interval."
    assert grouped([few.format(2) + " (3 headline cells)", few.format(3) + " (DGEMM)"]) == [
        "4 cells: 2 to 3 launches only: there is no 95% interval. (DGEMM and 3 more)"
    ]
    assert grouped([few.format(n) + f" ({n} headline cells)" for n in (2, 3)]) == [
        "5 cells: 2 to 3 launches only: there is no 95% interval."
    ]


def test_others_stay_apart_and_in_order():
    sentences = [
        "EP class W: out of memory (4 ranks)",
        "Known to ±2.1% where ±1% was requested. (EP)",
        "A sentence of 3 words.",
        "Known to ±1.7% where ±1% was requested. (CG)",
        "A sentence of 4 words.",
    ]
    assert grouped(sentences) == [
        sentences[0],
        "2 cells: known to ±1.7 to 2.1% where ±1% was requested. (EP, CG)",
        sentences[2],
        sentences[4],
    ]
    assert grouped(sentences[:3]) == sentences[:3]


def test_negative_numbers_are_a_range_by_value():
    few = "The first quarter differs by {}%. ({})"
    assert grouped([few.format("−3", "EP"), few.format("−12", "CG")]) == [
        "2 cells: the first quarter differs by −12 to −3%. (EP, CG)"
    ]
    assert grouped([few.format("−3", "EP"), few.format("2", "CG")]) == [
        "2 cells: the first quarter differs by −3 to 2%. (EP, CG)"
    ]


@given(st.lists(st.text(max_size=30), max_size=8))
def test_every_text_is_accepted_and_none_is_lost(sentences):
    shown = grouped(sentences)
    assert len(shown) <= len(sentences)
    notes, places = merged_notes(list(dict.fromkeys(sentences)))
    assert len(places) == len(set(sentences)) and set(places) == set(range(len(notes)))


def test_notes_of_a_table_are_renumbered():
    rows = [[Entry("a"), Entry("1")], [Entry("b"), Entry("2, 3")], [Entry("c"), Entry("")]]
    columns = [Column("name", "Name"), Column("notes", "Notes")]
    table = Table("t", "T", columns, rows, notes=["Known to ±2%.", "Coarse.", "Known to ±3%."])
    few = _few_notes(table)
    assert few.notes == ["Known to ±2 to 3%.", "Coarse."]
    assert [row[1].text for row in few.rows] == ["1", "1, 2", ""]


def test_columns_without_entries_are_left_out():
    rows = [[Entry("a"), Entry(""), Entry("–", tone="quiet")], [Entry("b"), Entry(""), Entry("1")]]
    table = Table("t", "T", [Column(n, n) for n in "xyz"], rows)
    assert [column.name for column in without_empty_columns(table).columns] == ["x", "z"]
    assert without_empty_columns(Table("t", "T", [Column("x", "x")], [])).columns
