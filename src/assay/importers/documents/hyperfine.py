"""hyperfine's JSON (``--export-json``).

Source: ``benchmark_result.rs``. Each run of a command is a separate process and therefore a
separate result; hyperfine's statistics are used only where the runs are missing. The file has no
version.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series

_STATISTICS = {
    "median": "time",
    "mean": "time.mean",
    "stddev": "time.stddev",
    "min": "time.min",
    "max": "time.max",
    "user": "time.user",
    "system": "time.system",
}


class HyperfineImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it has results with a command and a mean."""
        results = document.get("results") if isinstance(document, dict) else None
        return (
            isinstance(results, list)
            and bool(results)
            and all(isinstance(r, dict) and "command" in r and "mean" in r for r in results)
        )

    def read(self, document: object, out: Output) -> None:
        """One result per run of a command."""
        assert isinstance(document, dict)
        for result in document["results"]:
            self._command(result, out)

    def _command(self, said: Mapping[str, object], out: Output) -> None:
        command = said["command"]
        if not isinstance(command, Text):
            return
        parameters = {"command": FoundValue(str(command), "", command.line)}
        given = said.get("parameters")
        for name, value in given.items() if isinstance(given, dict) else ():
            if isinstance(value, Text):
                parameters[name] = FoundValue(str(value), str(value), value.line)
        times, codes = said.get("times"), said.get("exit_codes")
        if isinstance(times, list) and times:
            statuses = codes if isinstance(codes, list) and len(codes) == len(times) else []
            for place, time in enumerate(times):
                status = statuses[place] if statuses else None
                self._put(parameters, {"time": time}, status, out)
            return
        self._put(parameters, {m: said.get(name) for name, m in _STATISTICS.items()}, None, out)

    def _put(
        self,
        parameters: dict[str, FoundValue],
        values: Mapping[str, object],
        status: object,
        out: Output,
    ) -> None:
        series = []
        for metric, value in values.items():
            if isinstance(value, Unusable):
                out.skip(value.line, f"'{value.printed}' is not a number.")
            elif isinstance(value, FoundValue):
                series.append(Series(metric, "s", [value]))
        failed = isinstance(status, FoundValue) and status.value != 0
        if series:
            out.result(
                Result(
                    code="hyperfine",
                    tool="hyperfine",
                    version=None,
                    parameters=parameters,
                    series=series,
                    error=f"The command ended with exit status {status.value}."
                    if failed and isinstance(status, FoundValue)
                    else None,
                )
            )


IMPORTER = HyperfineImporter()
