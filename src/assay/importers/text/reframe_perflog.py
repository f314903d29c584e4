"""ReFrame's performance logs: one line per variable (up to 3), or per test with a header (4).

Source: ``core/logging.py`` and its options ``format`` and ``format_perfvars``. A site chooses the
fields, their order and, in version 4, their separator. Every line must have certain fields: in the
old form the version, ``NAME=VALUE`` and ``ref=``; in the new form a column ``NAME_value``.
"""

from __future__ import annotations

import re

from assay.importers.model import (
    FoundValue,
    Line,
    Output,
    Result,
    Series,
    TextImporter,
    slug,
    words,
)
from assay.importers.numbers import is_number, number, unit_of

_VERSION = re.compile(r"reframe (\d[\w.+-]*)")
# TEST on SYSTEM:PARTITION using ENVIRONMENT
_CASE = re.compile(r"(.+?) on (\S+?):(\S+?)(?: using (\S+))?")
_PAIR = re.compile(r"([A-Za-z][\w .-]*?)\s*=\s*(.*)")
_THRESHOLD = re.compile(r"(?:ref|l|u|lower|upper|thres\w*)\s*=.*|\(?l=.*")
_SEPARATORS = "|,;\t"
_NAME = r"[\w :.#%()-]*"
_HEADERS = "|".join(
    rf"[\w#]+(?:{each}{_NAME})*{each}\w+_value(?:{each}{_NAME})*\s*$"
    for each in map(re.escape, _SEPARATORS)
)
_HEADER = re.compile(_HEADERS)
# The old form: with its version, or with a variable and its reference.
_OLD = (
    r"(?:[^|]{1,200}\|){0,9}?reframe \d[^|]{0,40}\|"
    r"|(?:[^|]{1,200}\|){1,12}?[A-Za-z][^|=]*=[^|]*\|ref="
)
_LIKE_OLD = re.compile(_OLD)
_PARAMETERS = {
    "name": "test",
    "display_name": "test",
    "system": "system",
    "partition": "partition",
    "environ": "environment",
    "num_tasks": "ranks",
    "num_tasks_per_node": "ranks_per_node",
    "num_cpus_per_task": "cpus_per_rank",
}
# Fields of the old form that are parameters under another name.
_PAIRS = {"num_tasks": "ranks", "environ": "environment"}
# Columns that don't describe what was measured; all others are settings of the test.
_ASIDE = re.compile(
    r"result|version|info|descr|.*(?:time|date|_stamp).*|.*job_?id|job_nodelist|.*hostname|.*node_?list"
    r"|.*user\w*|.*_(?:value|unit|ref|lower|upper|lower_thres|upper_thres)|hashcode|unique_name"
    r"|short_name|.*prefix|.*dir|.*path|tags|maintainers|failing_?reason|fail_\w+|level\w*|\W*"
)
_RESULTS = {"pass": True, "success": True, "fail": False, "failure": False}
_NOTHING = ("", "null", "None", "N/A")


class ReframePerflogImporter(TextImporter):
    """See the module."""

    SIGNATURE = rf"{_OLD}|{_HEADERS}"

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._columns: list[str] = []
        self._separator = "|"

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if _HEADER.fullmatch(text):
            self._separator = next(each for each in _SEPARATORS if each in text)
            self._columns = [column.strip() for column in text.split(self._separator)]
        elif _LIKE_OLD.match(text):
            self._old([field.strip() for field in text.split("|")], line.number)
        elif self._columns and self._separator in text:
            self._row(text.split(self._separator), line.number)

    def _old(self, fields: list[str], line: int) -> None:
        """A line of the old form: fields in any order; some of them are known."""
        version, parameters = None, {}
        variable: tuple[str, str] | None = None
        unit, after = "", False
        for field in fields:
            if found := _VERSION.fullmatch(field):
                version = found[1]
            elif _THRESHOLD.fullmatch(field):
                after = variable is not None
            elif pair := _PAIR.fullmatch(field):
                name, value = pair[1].strip(), pair[2].strip()
                if name in _PAIRS:
                    parameters[_PAIRS[name]] = number(value, line) or words(value, line)
                elif variable is None and not _ASIDE.fullmatch(name.lower()):
                    variable = name, value
            elif case := _CASE.fullmatch(field):
                for key, value in zip(
                    ("test", "system", "partition", "environment"), case.groups(), strict=True
                ):
                    if value:
                        parameters[key] = words(value, line)
            elif after and not unit:
                unit = field
            elif "test" not in parameters and variable is None and not _is_time(field):
                parameters["test"] = words(field, line)
        if variable is None:
            self.out.skip(
                line,
                "This line of ReFrame's log has no performance variable: a field NAME=VALUE, as "
                "%(check_perf_var)s=%(check_perf_value)s in its format.",
            )
            return
        self._put(parameters, [(*variable, unit)], version, None, line)

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._columns):
            self.out.skip(line, "The number of fields in this line differs from the header's.")
            return
        row = {
            name: value.strip() for name, value in zip(self._columns, fields, strict=True) if name
        }
        parameters: dict[str, FoundValue] = {}
        for column, value in row.items():
            name = _PARAMETERS.get(column)
            if name is None and _ASIDE.fullmatch(column.lower()):
                continue
            name = name or slug(column)
            if name and value not in _NOTHING and name not in parameters:
                parameters[name] = number(value, line) or words(value, line)
        variables = [
            (column.removesuffix("_value"), value, row.get(f"{column[:-6]}_unit", ""))
            for column, value in row.items()
            if column.endswith("_value") and value not in _NOTHING
        ]
        self._put(parameters, variables, row.get("version"), row.get("result"), line)

    def _put(
        self,
        parameters: dict[str, FoundValue],
        variables: list[tuple[str, str, str]],
        version: str | None,
        result: str | None,
        line: int,
    ) -> None:
        series = []
        for name, printed, said in variables:
            unit, factor = unit_of(said) or ("" if said in _NOTHING else said.strip(), 1)
            found = number(printed, line, factor)
            if found is None:
                self.out.skip(line, f"'{printed}' is not a number.")
            else:
                series.append(Series(name, unit, [found]))
        if series:
            verified = _RESULTS.get(result or "")
            self.out.result(
                Result(
                    code="reframe",
                    tool="ReFrame",
                    version=version,
                    parameters=parameters,
                    series=series,
                    verified=verified,
                    check="result of the test" if verified is not None else "",
                )
            )

    def leave(self) -> None:
        """Lines after another tool's output belong to no header."""
        self._columns = []


def _is_time(field: str) -> bool:
    """Whether a field is a time or a number, and therefore not a name."""
    return is_number(field) or re.match(r"\[?\d{4}-\d\d-\d\d", field) is not None


IMPORTER = ReframePerflogImporter
