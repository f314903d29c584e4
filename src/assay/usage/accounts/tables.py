"""Tables as sacct prints them: a header of field names, then rows, in any of its layouts.

``--parsable2`` and ``--parsable`` (with a separator at the end), any ``--delimiter``, and columns
of fixed width under a line of dashes. Tables that a spreadsheet has rewritten are read, too: quoted
fields, blanks around fields, names in different case.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

# The fields that are used, as sacct writes them.
FIELDS = (
    "Account", "AllocCPUS", "AllocGRES", "AllocNodes", "AllocTRES", "CPUTime", "CPUTimeRAW",
    "Elapsed", "ElapsedRaw", "Eligible", "End", "ExitCode", "Group", "JobID", "JobIDRaw", "JobName",
    "MaxRSS", "NCPUS", "NNodes", "NodeList", "Partition", "Planned", "ReqCPUS", "ReqGRES", "ReqMem",
    "ReqTRES", "Reserved", "Start", "State", "Submit", "Suspended", "TRESUsageInTot", "Timelimit",
    "TimelimitRaw", "UID", "User", "Comment", "AdminComment", "SystemComment", "SubmitLine",
    "AveCPU", "Cluster", "ConsumedEnergy", "ConsumedEnergyRaw", "NTasks", "TotalCPU",
    "WorkDir", "Constraints", "Extra", "Licenses", "Container", "StdIn", "StdOut", "StdErr", "QOS",
)  # fmt: skip
_BY_LETTERS = {name.lower(): name for name in FIELDS}
_NAME = r'"?[A-Za-z_]\w*"?'
# The first two names, and the text between them.
_BEGIN = re.compile(rf'\W*?({_NAME})([^\w"]+)({_NAME})')
# Delimiters of files that spreadsheets write, with quotes around fields.
_OF_SPREADSHEETS = (",", ";", "\t")
DASHES = re.compile(r"\s*-+(?: +-+)*\s*")
_COLUMN = re.compile(r"-+")


@dataclass(frozen=True)
class TableLayout:
    """The layout of a table: how its rows are divided."""

    names: list[str]
    #: The delimiter; "" for columns of fixed width, which are at ``columns``.
    delimiter: str
    #: Whether fields may have blanks around them.
    padded: bool = False
    columns: tuple[tuple[int, int | None], ...] = ()

    @property
    def plain(self) -> bool:
        """Whether only the delimiter divides rows."""
        return bool(self.delimiter) and not self.padded and self.delimiter not in _OF_SPREADSHEETS

    def words(self, text: str) -> list[str] | None:
        """The fields of a row; None if it isn't a row of this table."""
        if not self.delimiter:
            return self._fixed(text)
        if self.delimiter not in text and len(self.names) > 1:
            return None
        words = text.split(self.delimiter)
        if self.delimiter in _OF_SPREADSHEETS and '"' in text:
            words = _unquoted(text, self.delimiter)
        if self.padded or text[:1] == " " or text[-1:] == " ":
            words = [word.strip() for word in words]
        missing = len(self.names) - len(words)
        if missing > 0 and not any(self.names[-missing:]):
            words += [""] * missing  # separators at the end were removed
        return words

    def _fixed(self, text: str) -> list[str] | None:
        if not text[:1].isdigit() and not text[:1].isspace():
            return None
        words = []
        for begin, end in self.columns:
            if begin and text[begin - 1 : begin].strip():
                return None  # the row was shifted
            words.append(text[begin:end].strip())
        return words


def may_be_ruled(header: str) -> bool:
    """Whether a line may be the header of columns of fixed width: only names between blanks."""
    begin = _BEGIN.match(header)
    return begin is not None and not begin[2].strip(" ") and not re.search(r"[^\w %]", header)


def layout_of(header: str, rule: str = "") -> TableLayout | None:
    """The layout of a table, from its header and the line after it; None if they aren't a
    header."""
    begin = _BEGIN.match(header)
    if begin is None:
        return None
    delimiter = begin[2].strip(" ")
    if not delimiter:
        if not DASHES.fullmatch(rule):
            return None
        spans = [found.span() for found in _COLUMN.finditer(rule)]
        names = header.split()
        if len(names) != len(spans):
            names = [header[low:high] for low, high in spans]
        # Each column reaches from the end of the previous column; the last one reaches to the end
        # of the row.
        begins = [0, *(high + 1 for _, high in spans[:-1])]
        ends = [*(high for _, high in spans[:-1]), None]
        columns = tuple(zip(begins, ends, strict=True))
        return TableLayout(_named(names), "", columns=columns)
    words = header.strip(" ").split(delimiter)
    return TableLayout(_named(words), delimiter, padded=any(word != word.strip() for word in words))


def _unquoted(text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return text.split(delimiter)


def _named(words: list[str]) -> list[str]:
    names = [word.strip().strip('"').strip() for word in words]
    return [_BY_LETTERS.get(name.lower(), name) for name in names]
