"""HPL, the High-Performance Linpack benchmark, 1.x and 2.x, and vendors' versions of it.

Source: ``HPL_pdtest.c`` and ``HPL_pdinfo.c`` of HPL. A row of the table is one result. The lines
between it and the next row have its residual checks: one in version 2, three in version 1. All must
pass.
"""

from __future__ import annotations

import re
from decimal import Decimal

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import FIELD, WHOLE, number

_HEADER = re.compile(r"\s*(HPL[\w-]*?)(?: -)? +(\d[\w.]*) +--")
# Lines after its own header within which a vendor's version prints the header of the original HPL.
_SAME_HEADER = 10
_ROW = re.compile(
    rf"([A-Z]{{1,2}}\d\w{{0,8}})\s+({WHOLE})\s+({WHOLE})\s+({WHOLE})\s+({WHOLE})"
    rf"\s+({FIELD})\s+({FIELD})(?:\s+\(\s*{FIELD}\))?\s*"
)
_LIKE_ROW = re.compile(r"[A-Z]{1,2}\d\w{0,8}\s+\d")
_CHECK = re.compile(r"\|\|A\s*x\s*-\s*b\|\|.*?=\s*(\S+)\s+\.\.\.\.\.\.\s+(PASSED|FAILED)\s*")
_LIKE_CHECK = re.compile(r"\|\|A\s*x\s*-\s*b\|\|.*\.\.\.\.\.\.")
# Lines of the header that apply to all rows; the variant has the values that vary from row to row.
_SETTING = re.compile(r"(SWAP|L1|U|EQUIL|ALIGN)\s*:\s*(\S.{0,60})")
_GFLOPS = Decimal(10) ** 9


class HplImporter(TextImporter):
    """See the module."""

    SIGNATURE = r"HPL\S*(?: -)? +\d[\w.]* +--|T/V +N +NB +P +Q +Time"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._tool, self._code = "HPL", "hpl"
        self._version: str | None = None
        self._settings: dict[str, FoundValue] = {}
        self._vendor_line = -_SAME_HEADER
        self._row: tuple[dict[str, FoundValue], list[Series]] | None = None
        self._passed: list[bool] = []
        self._residual: FoundValue | None = None

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if row := _ROW.fullmatch(text):
            self.leave()
            self._begin(row, line.number)
        elif _LIKE_ROW.match(text):
            self.leave()
            self.out.skip(line.number, "This row of HPL's table is damaged.")
        elif check := _CHECK.fullmatch(text):
            self._verify(check, line.number)
        elif _LIKE_CHECK.match(text):
            self.out.skip(
                line.number, "This residual check of HPL is damaged; its row is left out."
            )
            self._row = None
        elif header := _HEADER.match(text):
            self.leave()
            self._header(header[1], header[2], line.number)
        elif setting := _SETTING.fullmatch(text):
            self.leave()
            self._settings[setting[1].lower()] = words(setting[2], line.number)
        elif text.startswith("HPL ERROR"):
            self.out.skip(line.number, f"HPL reports: {text[:120]}")

    def _header(self, name: str, version: str, line: int) -> None:
        """Set tool, code and version. A vendor's HPL is a code that prints both headers."""
        self._settings = {}
        if name != "HPLinpack":
            self._tool, self._code, self._version = name, name.lower(), version
            self._vendor_line = line
        elif line - self._vendor_line >= _SAME_HEADER:
            self._tool, self._code, self._version = "HPL", "hpl", version

    def _begin(self, row: re.Match[str], line: int) -> None:
        variant, n, nb, p, q, time, rate = row.groups()
        seconds, flops = number(time, line), number(rate, line, _GFLOPS)
        if seconds is None or flops is None:
            self.out.skip(line, f"Time '{time}' and rate '{rate}' are not both numbers.")
            return
        parameters = {"variant": words(variant, line)}
        for name, printed in (("n", n), ("nb", nb), ("p", p), ("q", q)):
            parameters[name] = FoundValue(int(printed), printed, line)
        parameters |= self._settings
        self._row = (
            parameters,
            [
                Series("time", "s", [seconds]),
                Series("rate", "flop/s", [flops]),
            ],
        )

    def _verify(self, check: re.Match[str], line: int) -> None:
        if self._row is None:
            self.out.skip(line, "This residual check of HPL belongs to no row.")
            return
        passed = check[2] == "PASSED"
        self._passed.append(passed)
        if not passed or self._residual is None:
            self._residual = number(check[1], line)

    def leave(self) -> None:
        """Process the end of a row and its checks."""
        if self._row is not None:
            parameters, series = self._row
            self.out.result(
                Result(
                    code=self._code,
                    tool=self._tool,
                    version=self._version,
                    parameters=parameters,
                    series=series,
                    verified=all(self._passed) if self._passed else None,
                    check="scaled residual" if self._passed else "",
                    checked=self._residual,
                )
            )
        self._row, self._passed, self._residual = None, [], None


IMPORTER = HplImporter
