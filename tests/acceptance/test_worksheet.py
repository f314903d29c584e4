"""The filled-in worksheet has the report's numbers to the last digit."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import pytest

from acceptance_pages import SIZES, STATES, commitment, judged
from assay.cli.app import main
from assay.report.acceptance.workbook import worksheet_xlsx
from assay.report.acceptance.worksheet import worksheet_csv
from assay.report.acceptance.worksheet_rows import COLUMNS, rows_of
from assay.subjects.acceptance.model import AcceptanceFindings

_NS = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
EVIL = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", '=HYPERLINK("http://x")')


def sheets_of(content: bytes) -> list[dict[str, tuple[Any, str]]]:
    """Each sheet's cells by address: the value (numbers as written), and the formula."""
    book = zipfile.ZipFile(io.BytesIO(content))
    shared = [
        "".join(text.text or "" for text in item.iter(f"{{{_NS['m']}}}t"))
        for item in ET.fromstring(book.read("xl/sharedStrings.xml"))
    ]
    sheets = []
    for number in (1, 2):
        cells = {}
        root = ET.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
        for cell in root.iterfind(".//m:c", _NS):
            value = cell.findtext("m:v", None, _NS)
            formula = cell.findtext("m:f", "", _NS)
            if value is not None:
                text = shared[int(value)] if cell.get("t") == "s" else float(value)
                cells[cell.get("r", "")] = (text, formula)
        sheets.append(cells)
    return sheets


def rows_in(content: bytes) -> list[dict[str, Any]]:
    """The rows of the first sheet by their headings."""
    table: dict[int, dict[str, Any]] = {}
    for address, (value, formula) in sheets_of(content)[0].items():
        assert formula == ""
        column, row = re.fullmatch(r"([A-Z]+)(\d+)", address).groups()  # type: ignore[union-attr]
        table.setdefault(int(row), {})[column] = value
    heads = table.pop(1)
    return [
        {heads[column].replace(" ", "_"): value for column, value in row.items()}
        for _, row in sorted(table.items())
    ]


def found_in(state: str, folder: Path) -> AcceptanceFindings:
    return STATES[state](folder)[0]


@pytest.mark.parametrize("state", [name for name in STATES if name not in ("nodes", "many")])
def test_all_numbers_are_read_back_exactly(tmp_path: Path, state: str) -> None:
    found = found_in(state, tmp_path)
    expected = [
        {name: getattr(row, name) for name in COLUMNS if getattr(row, name) not in (None, "")}
        for row in rows_of(found)
    ]
    assert rows_in(worksheet_xlsx(found)) == expected
    lines = list(csv.reader(io.StringIO(worksheet_csv(found))))
    assert lines[0] == list(COLUMNS)
    for line, row in zip(lines[1:], expected, strict=False):
        read = {n: text for n, text in zip(COLUMNS, line, strict=True) if text}
        kinds = {n: type(row[n]) for n in row}
        assert {n: kinds[n](text) for n, text in read.items()} == row


def test_the_rows_are_the_findings(tmp_path: Path) -> None:
    found = found_in("rejected", tmp_path)
    rows = rows_of(found)
    assert [row.kind for row in rows] == ["commitment"] * 4 + ["score", "variation"]
    for row, each in zip(rows, found.commitments, strict=False):
        assert (row.measured, row.speedup, row.penalty) == (
            each.value, each.speedup, each.penalty.value,
        )  # fmt: skip
        assert each.value is not None
        assert row.reference == 1e-3
        assert row.speedup == pytest.approx(1e-3 / each.value)
    assert rows[1].verdict == "rejected"


def test_totals_are_the_reports_and_computed_again(tmp_path: Path) -> None:
    """The formulas' cells hold the report's values; here they are computed by their definition."""
    found = found_in("rejected", tmp_path)
    _, totals = sheets_of(worksheet_xlsx(found))
    assert totals["B2"][0] == "rejected"
    assert (totals["B3"][0], totals["C3"][0], totals["D3"][0]) == (found.score, *found.score_ci95)
    value, formula = totals["E3"]
    assert value == found.score
    columns = {name: _column(place) for place, name in enumerate(COLUMNS)}
    weights, speedups = (
        f"Worksheet!${columns[name]}$2:${columns[name]}$5" for name in ("weight", "speedup")
    )
    assert f"SUMPRODUCT({weights},LN(" in formula and speedups in formula
    rows = rows_of(found)[:4]
    logs = math.fsum((row.weight or 0.0) * math.log(row.speedup or 0.0) for row in rows)
    assert found.score == pytest.approx(math.exp(logs / 4.0), rel=1e-14)
    assert totals["E4"] == (found.penalty.value, f"MIN(200000.0,SUM({_rows('penalty', 7)}))")
    assert totals["B4"][0] == found.penalty.value


def _column(place: int) -> str:
    return chr(65 + place) if place < 26 else f"A{chr(65 + place - 26)}"


def _rows(name: str, last: int) -> str:
    column = _column(COLUMNS.index(name))
    return f"Worksheet!${column}$2:${column}${last}"


@pytest.mark.parametrize("name", EVIL)
def test_names_are_never_formulas(tmp_path: Path, name: str) -> None:
    quoted = name.replace('"', '\\"')
    found, _ = judged(tmp_path, commitment(SIZES[0], quoted), {})
    lines = list(csv.reader(io.StringIO(worksheet_csv(found))))
    assert lines[1][COLUMNS.index("name")] == f"'{name}"
    (row,) = rows_in(worksheet_xlsx(found))
    assert row["name"] == name
    # A negative number stays a number.
    assert not any(field.startswith(("=", "+", "@")) for line in lines for field in line)


def test_the_command_writes_what_the_json_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "[score]\n" + "".join(commitment(size) for size in SIZES[:2])
    _, runs = judged(tmp_path / "runs", text, {})
    file = tmp_path / "contract.toml"
    file.write_text(f'schema = 1\ntitle = "Test"\n{text}')
    words = ["accept", str(file), "--run", runs[0].name, "--runs", str(tmp_path / "runs")]
    for name in ("sheet.xlsx", "folder/sheet.csv"):
        with pytest.raises(SystemExit):
            main([*words, "--json", "--worksheet", str(tmp_path / name)])
        findings = json.loads(capsys.readouterr().out)
    content = (tmp_path / "sheet.xlsx").read_bytes()
    measured = [row["measured"] for row in rows_in(content)]
    assert measured == [each["value"] for each in findings["commitments"]]
    assert sheets_of(content)[1]["B3"][0] == findings["score"]
    assert repr(findings["score"]) in (tmp_path / "folder" / "sheet.csv").read_text()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--worksheet", "sheet.ods"), "The suffix .ods belongs to no format"),
        (("--worksheet", "."), "this is a folder"),
        (("--worksheet", "sheet.csv", "--plan"), "A plan has no worksheet"),
    ],
)
def test_wrong_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], what: str
) -> None:
    file = tmp_path / "contract.toml"
    file.write_text(f'schema = 1\ntitle = "Test"\n{commitment(SIZES[0])}')
    with pytest.raises(SystemExit) as ended:
        main(["accept", str(file), "--runs", str(tmp_path), *words])
    assert ended.value.code == 2
    assert what in " ".join(capsys.readouterr().err.split())
