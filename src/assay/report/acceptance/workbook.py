"""The worksheet as a workbook: the report's numbers, and formulas that compute the totals again."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from dataclasses import astuple
from typing import Any

from assay.report.acceptance.worksheet_rows import COLUMNS, Value, rows_of, totals_of
from assay.subjects.acceptance.model import AcceptanceFindings

_SHEET = "Worksheet"
_TONES = {"accepted": "#00634a", "rejected": "#a4300f", "undecided": "#7a4a00"}
# Columns with wide texts, in characters.
_WIDTHS = {"name": 34, "cell": 40, "promise": 28, "metric": 18}
_SHARES = ("margin", "worse_by")


class _Exact(float):
    """A number that is written with all its digits: XlsxWriter formats numbers with sixteen, and a
    double may need seventeen."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def worksheet_xlsx(found: AcceptanceFindings) -> bytes:
    """The workbook. Texts are never formulas, whatever they begin with."""
    import xlsxwriter

    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True, "strings_to_formulas": False})
    # The time of the judgement, so that the same findings are the same file.
    book.set_properties(
        {
            "title": f"Acceptance: {found.title}",
            "comments": f"{found.file}, SHA-256 {found.digest}",
            "created": datetime.datetime.fromtimestamp(found.utc, datetime.UTC).replace(
                tzinfo=None
            ),
        }
    )
    sheet = book.add_worksheet(_SHEET)
    _rows(book, sheet, found)
    _totals(book, book.add_worksheet("Totals"), found)
    book.close()
    return stream.getvalue()


def _rows(book: Any, sheet: Any, found: AcceptanceFindings) -> None:  # noqa: ANN401 - untyped
    head = book.add_format({"bold": True, "text_wrap": True, "bottom": 1, "valign": "top"})
    share = book.add_format({"num_format": "0.0%"})
    tones = {name: book.add_format({"font_color": tone}) for name, tone in _TONES.items()}
    for place, name in enumerate(COLUMNS):
        sheet.write_string(0, place, name.replace("_", " "), head)
        sheet.set_column(place, place, _WIDTHS.get(name, 12))
    for number, row in enumerate(rows_of(found), start=1):
        for place, (name, value) in enumerate(zip(COLUMNS, astuple(row), strict=True)):
            form = tones[row.verdict] if name == "verdict" else share if name in _SHARES else None
            _write(sheet, number, place, value, form)
    sheet.freeze_panes(1, COLUMNS.index("cell"))
    sheet.autofilter(0, 0, max(len(found.promises), 1), len(COLUMNS) - 1)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.repeat_rows(0)


def _write(sheet: Any, row: int, column: int, value: Value, form: Any) -> None:  # noqa: ANN401
    if value == "":
        return
    if isinstance(value, str):
        sheet.write_string(row, column, value, form)
    elif value is not None:
        sheet.write_number(row, column, _Exact(value), form)


def _totals(book: Any, sheet: Any, found: AcceptanceFindings) -> None:  # noqa: ANN401 - untyped
    """The report's totals, and beside them a formula over the rows."""
    head = book.add_format({"bold": True, "bottom": 1})
    for place, name in enumerate(("total", "report", "low", "high", "computed from the rows")):
        sheet.write_string(0, place, name, head)
        sheet.set_column(place, place, 24 if place in (0, 4) else 16)
    formulas = dict(_formulas(found))
    for number, total in enumerate(totals_of(found), start=1):
        for place, value in enumerate(astuple(total)):
            _write(sheet, number, place, value, None)
        kind = total.name.partition(" ")[0]
        if kind in formulas and isinstance(total.value, float):
            sheet.write_formula(number, 4, formulas[kind], None, _Exact(total.value))
    notes = [
        f"Contract: {found.title}; {found.file}; SHA-256 {found.digest}",
        "Values are in the units that the column 'unit' states (SI); shares are numbers such as "
        "0.02.",
    ]
    for number, note in enumerate(notes, start=len(totals_of(found)) + 2):
        sheet.write_string(number, 0, note)


def _formulas(found: AcceptanceFindings) -> Iterator[tuple[str, str]]:
    """Formulas of the totals over the rows of the first sheet."""
    commitments = len(found.commitments)
    if found.mean is not None and found.score is not None:
        weights, factors, speedups = (
            _range(name, commitments) for name in ("weight", "factor", "speedup")
        )
        terms = f"{factors}*{speedups}"
        if found.mean == "geometric":
            mean = f"EXP(SUMPRODUCT({weights},LN({terms}))/SUM({weights}))"
        else:
            mean = f"SUMPRODUCT({weights},{terms})/SUM({weights})"
        yield "score", f"={found.scale!r}*{mean}"
    rows = len(found.promises)
    for name, cap in (("penalty", found.penalty_cap), ("bonus", found.bonus_cap)):
        total = f"SUM({_range(name, rows)})"
        yield name, f"={total}" if cap is None else f"=MIN({cap!r},{total})"


def _range(column: str, rows: int) -> str:
    from xlsxwriter.utility import xl_rowcol_to_cell

    place = COLUMNS.index(column)
    first, last = (xl_rowcol_to_cell(row, place, row_abs=True, col_abs=True) for row in (1, rows))
    return f"{_SHEET}!{first}:{last}"
