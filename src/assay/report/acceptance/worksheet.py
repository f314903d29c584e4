"""The filled-in worksheet of an acceptance, as CSV or as a workbook (XLSX)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.records.files import write_atomically
from assay.report import make_folder
from assay.report.acceptance.worksheet_rows import COLUMNS, Value, rows_of, totals_of
from assay.report.destination import Destination, format_of, unknown_suffix
from assay.subjects.acceptance.model import AcceptanceFindings

if TYPE_CHECKING:
    from rich.console import Console

_OPTION = "--worksheet"
_SUFFIXES: Mapping[str, tuple[str, ...]] = {"xlsx": (".xlsx",), "csv": (".csv",)}
# A text that begins with one of these would be a formula in a spreadsheet (OWASP, CSV injection).
_FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n")


def checked_worksheet(path: Path | None, *, plan: bool) -> Destination | None:
    """The file and its format. Raises AssayError for an unknown suffix, a folder, or a plan."""
    if path is None:
        return None
    if plan:
        raise AssayError(
            "A plan has no worksheet: nothing is measured yet.",
            where=_OPTION,
            fix="Leave out --plan, or --worksheet.",
        )
    if path.is_dir():
        raise AssayError(
            "The worksheet needs a file, but this is a folder.",
            where=f"{_OPTION} {path}",
            fix=f"Name a file, such as {path / 'acceptance.xlsx'}.",
        )
    found = format_of(path, _SUFFIXES)
    if found is None and path.suffix:
        raise unknown_suffix(_OPTION, path, _SUFFIXES)
    if found is None:
        return Destination("xlsx", path.with_name(f"{path.name}.xlsx"))
    return Destination(found, path)


def write_worksheet(
    found: AcceptanceFindings, target: Destination | None, console: Console | None
) -> None:
    """Write the worksheet if a file is requested, and print its path.

    Raises AssayError if the file can't be written.
    """
    if target is None:
        return
    if target.form == "csv":
        content = worksheet_csv(found).encode("utf-8")
    else:
        from assay.report.acceptance.workbook import worksheet_xlsx

        content = worksheet_xlsx(found)
    make_folder(target.path.parent, _OPTION)
    write_atomically(target.path, content, option=_OPTION)
    if console is not None:
        console.print(f"worksheet: {target.path}", markup=False, soft_wrap=True)


def worksheet_csv(found: AcceptanceFindings) -> str:
    """The rows, then an empty line and the totals (RFC 4180). Numbers have all their digits.

    A text that a spreadsheet would take as a formula begins with an apostrophe.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([_field(value) for value in astuple(row)] for row in rows_of(found))
    writer.writerow([])
    writer.writerow(["total", "value", "low", "high"])
    writer.writerows([_field(value) for value in astuple(total)] for total in totals_of(found))
    return stream.getvalue()


def _field(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA_BEGINS) else value
    return repr(value)
