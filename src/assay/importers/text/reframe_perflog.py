"""ReFrame's performance logs: one line per variable (up to 3), or per test with a header (4).

Source: ``core/logging.py`` and its default formats. Logs with a field separator other than "|" are
not read.
"""

from __future__ import annotations

import re

from assay.importers.model import FoundValue, Line, Output, Result, Series, TextImporter, words
from assay.importers.numbers import number, unit_of

# TIME|reframe 3.9.0|TEST on SYSTEM:PARTITION using ENVIRONMENT|jobid=1|NAME=VALUE|ref=…|UNIT
_OLD = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\dT[\d:.+-]+\]?)\|reframe (\d[^|]*)\|(.+?)(?: on (\S+?):(\S+?))?"
    r"(?: using (\S+?))?\|(?:jobid=[^|]*\|)?(?:num_tasks=(\d{1,9})\|)?(\w[\w .-]*)=([^|]*)"
    r"\|ref=[^|]*\|(?:[lu]=[^|]*\|)*([^|]*)"
)
_HEADER = re.compile(r"[\w#]+(?:\|[\w :.-]*)*\|\w+_value\|\w+_unit\b.*")
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
_RESULTS = {"pass": True, "success": True, "fail": False, "failure": False}


class ReframePerflogImporter(TextImporter):
    """See the module."""

    SIGNATURE = (
        r"\[?\d{4}-\d\d-\d\dT[\d:.+-]+\]?\|reframe \d"
        r"|[\w#]+(?:\|[\w :.-]*)*\|\w+_value\|\w+_unit\b"
    )

    def __init__(self, out: Output) -> None:
        super().__init__(out)
        self._columns: list[str] = []

    def feed(self, line: Line) -> None:
        """Process a line."""
        text = line.text.strip()
        if old := _OLD.fullmatch(text):
            self._old(old, line.number)
        elif re.match(self.SIGNATURE, text) and not _HEADER.fullmatch(text):
            self.out.skip(line.number, "This line of ReFrame's log is damaged.")
        elif _HEADER.fullmatch(text):
            self._columns = text.split("|")
        elif self._columns and "|" in text:
            self._row(text.split("|"), line.number)

    def _old(self, old: re.Match[str], line: int) -> None:
        version, test, system, partition, environment, tasks, name, printed, unit = old.groups()
        parameters = {"test": words(test, line)}
        for key, value in (
            ("system", system),
            ("partition", partition),
            ("environment", environment),
        ):
            if value:
                parameters[key] = words(value, line)
        if tasks:
            parameters["ranks"] = FoundValue(int(tasks), tasks, line)
        self._put(parameters, [(name, printed, unit)], version, None, line)

    def _row(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._columns):
            self.out.skip(line, "The number of fields in this line differs from the header's.")
            return
        row = dict(zip(self._columns, fields, strict=True))
        parameters = {}
        for column, name in _PARAMETERS.items():
            value = row.get(column, "")
            if value and value not in ("null", "None") and name not in parameters:
                parameters[name] = number(value, line) or words(value, line)
        variables = [
            (column.removesuffix("_value"), value, row.get(f"{column[:-6]}_unit", ""))
            for column, value in row.items()
            if column.endswith("_value") and value not in ("", "null", "None")
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
            unit, factor = unit_of(said) or ("" if said in ("null", "None") else said.strip(), 1)
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


IMPORTER = ReframePerflogImporter
