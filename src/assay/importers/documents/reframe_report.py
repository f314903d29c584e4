"""ReFrame's run report in JSON, data versions 1 to 4.

Source: ``schemas/runreport.json`` and ``frontend/statistics.py``. Up to version 3 performance
variables are objects (``perfvars``); later they are ``SYSTEM:PARTITION:NAME`` with value,
reference, thresholds and unit (``perfvalues``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series
from assay.importers.numbers import scaled, unit_of

_PARAMETERS = {"system": "system", "partition": "partition", "environ": "environment"}


class ReframeReportImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it has a session and runs."""
        return (
            isinstance(document, dict)
            and isinstance(document.get("session_info"), dict)
            and isinstance(document.get("runs"), list)
        )

    def read(self, document: object, out: Output) -> None:
        """One result per test case with performance variables."""
        assert isinstance(document, dict)
        version = document["session_info"].get("version")
        for run in document["runs"]:
            cases = run.get("testcases") if isinstance(run, dict) else None
            for case in cases if isinstance(cases, list) else []:
                if isinstance(case, dict):
                    self._case(case, str(version) if isinstance(version, Text) else None, out)

    def _case(self, case: Mapping[str, object], version: str | None, out: Output) -> None:
        test = case.get("name", case.get("unique_name"))
        if not isinstance(test, Text):
            return
        parameters = {"test": FoundValue(str(test), "", test.line)}
        for field, name in _PARAMETERS.items():
            value = case.get(field)
            if isinstance(value, Text):
                parameters[name] = FoundValue(str(value), "", value.line)
        series = []
        for metric, value, unit in _variables(case):
            if isinstance(value, Unusable):
                out.skip(value.line, f"'{value.printed}' is not a number.")
            elif isinstance(value, FoundValue):
                si, factor = unit_of(unit) or (unit, 1)
                found = scaled(value, factor)
                if found is not None:
                    series.append(Series(metric, si, [found]))
        if series:
            result = case.get("result")
            passed = {"success": True, "pass": True, "failure": False, "fail": False}
            out.result(
                Result(
                    code="reframe",
                    tool="ReFrame",
                    version=version,
                    parameters=parameters,
                    series=series,
                    verified=passed.get(str(result)),
                    check="result of the test" if str(result) in passed else "",
                )
            )


def _variables(case: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    """Name, value and unit of each performance variable."""
    listed = case.get("perfvars")
    for variable in listed if isinstance(listed, list) else []:
        if isinstance(variable, dict) and isinstance(variable.get("name"), str):
            yield variable["name"], variable.get("value"), str(variable.get("unit") or "")
    values = case.get("perfvalues")
    for key, entry in values.items() if isinstance(values, dict) else ():
        if isinstance(entry, list) and len(entry) >= 5:
            yield key.rpartition(":")[2], entry[0], str(entry[4] or "")


IMPORTER = ReframeReportImporter()
