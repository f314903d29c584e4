"""Tables on narrow terminals: words and quantities are not broken between lines."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from assay.questions.common.tables import Table
from assay.report.terminal import print_table
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.profile.traced.tables import tables
from traces import stencil


@pytest.fixture(scope="module")
def found() -> list[Table]:
    # Of a run that is long enough for all tables.
    return tables(dataclasses.replace(find_trace(stencil()), wall=2.0))


def _printed(table: Table, width: int) -> str:
    out = io.StringIO()
    print_table(table, Console(file=out, width=width), titled=True)
    return out.getvalue()


@pytest.mark.parametrize("width", [50, 60, 80, 100, 200])
def test_words_stay_whole(found: list[Table], width: int) -> None:
    """Each word of each field is printed; lines are at most as wide as the terminal."""
    for table in found:
        text = _printed(table, width)
        assert max(map(len, text.splitlines())) <= width
        printed = set(text.split())
        fields = [column.label for column in table.columns]
        fields += [entry.text for row in table.rows for entry in row]
        words = {word for field in fields for word in field.split() if len(word) <= 16}
        assert words <= printed, (table.title, width)


def test_a_table_without_room_is_a_list(found: list[Table]) -> None:
    (table,) = (one for one in found if one.id == "trace-networks")
    wide, narrow = _printed(table, 200), _printed(table, 80)
    assert "───" in wide
    assert "───" not in narrow
    for row in table.rows:
        assert re.search(rf"^Interconnect +{re.escape(row[0].text)} *$", narrow, re.MULTILINE)
    assert len(re.findall(r"^ {2}Latency ", narrow, re.MULTILINE)) == len(table.rows)
