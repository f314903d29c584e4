"""Google Benchmark's JSON (``--benchmark_format=json`` or ``--benchmark_out``).

Source: ``json_reporter.cc``. Repetitions of a benchmark share a process and are samples of one
result. Aggregates are used where repetitions are not reported. Times are per iteration; user
counters have no unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series, slug
from assay.importers.numbers import scaled, unit_of

_FIELDS = frozenset(
    (
        "name",
        "family_index",
        "per_family_instance_index",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "time_unit",
        "aggregate_name",
        "aggregate_unit",
        "error_occurred",
        "error_message",
        "skipped",
        "skip_message",
        "label",
    )
)
# Entries of the context that are not settings.
_CONTEXT = frozenset(
    (
        "date",
        "host_name",
        "executable",
        "num_cpus",
        "mhz_per_cpu",
        "caches",
        "load_avg",
        "library_version",
        "json_schema_version",
    )
)
_TIMES = {"real_time": "time", "cpu_time": "time.cpu"}
_RATES = {"bytes_per_second": ("bandwidth", "B/s"), "items_per_second": ("rate", "op/s")}


class GoogleBenchmarkImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it has a context and benchmarks."""
        return (
            isinstance(document, dict)
            and isinstance(document.get("context"), dict)
            and isinstance(document.get("benchmarks"), list)
        )

    def read(self, document: object, out: Output) -> None:
        """One result per benchmark."""
        assert isinstance(document, dict)
        context = document["context"]
        said = context.get("library_version")
        version = said.removeprefix("v") if isinstance(said, Text) and said else None
        program = context.get("executable")
        common = {}
        if isinstance(program, Text):
            common["program"] = FoundValue(str(program).rpartition("/")[2], "", program.line)
        for name, value in context.items():
            # This includes the keys that a program or --benchmark_context adds.
            if isinstance(value, Text) and value and name not in _CONTEXT:
                common[slug(name)] = FoundValue(str(value), "", value.line)
        entries = [e for e in document["benchmarks"] if isinstance(e, dict)]
        measured = {_name(e) for e in entries if e.get("run_type", "iteration") == "iteration"}
        groups: dict[str, list[dict[str, object]]] = {}
        for entry in entries:
            name = _name(entry)
            aggregate = entry.get("run_type", "iteration") != "iteration"
            if name and not (aggregate and name in measured):
                groups.setdefault(name, []).append(entry)
        for name, group in groups.items():
            self._benchmark(name, group, common, version, out)

    def _benchmark(
        self,
        name: str,
        entries: list[dict[str, object]],
        common: Mapping[str, FoundValue],
        version: str | None,
        out: Output,
    ) -> None:
        found: dict[str, tuple[str, list[FoundValue]]] = {}
        error: str | None = None
        for entry in entries:
            if entry.get("error_occurred") is True or entry.get("skipped") is True:
                said = entry.get("error_message") or entry.get("skip_message") or ""
                error = f"The benchmark reported an error: {said}".rstrip(": ") + "."
                continue
            for metric, unit, value in self._numbers(entry, out):
                found.setdefault(metric, (unit, []))[1].append(value)
        first = entries[0].get("run_name") or entries[0]["name"]
        assert isinstance(first, Text)
        parameters = {**common, "benchmark": FoundValue(name, "", first.line)}
        label = entries[0].get("label")
        if isinstance(label, Text) and label:
            parameters["label"] = FoundValue(str(label), "", label.line)
        threads = entries[0].get("threads")
        if isinstance(threads, FoundValue):
            parameters["threads"] = threads
        if found:
            out.result(
                Result(
                    code="google-benchmark",
                    tool="Google Benchmark",
                    version=version,
                    parameters=parameters,
                    series=[Series(m, unit, values) for m, (unit, values) in found.items()],
                    error=error,
                )
            )
        elif error is not None:
            out.skip(first.line, f"{name}: {error}")

    def _numbers(
        self, entry: Mapping[str, object], out: Output
    ) -> list[tuple[str, str, FoundValue]]:
        unit = unit_of(str(entry.get("time_unit", "")))
        aggregate = entry.get("aggregate_name")
        ending = f".{aggregate}" if aggregate else ""
        relative = entry.get("aggregate_unit") == "percentage"
        numbers = []
        for name, value in entry.items():
            if isinstance(value, Unusable):
                out.skip(value.line, f"'{value.printed}' is not a number.")
            if name in _FIELDS or not isinstance(value, FoundValue):
                continue
            factor: Decimal | int = 1
            if name in _TIMES:
                if unit is None and not relative:
                    out.skip(value.line, f"The unit '{entry.get('time_unit')}' is unknown.")
                    continue
                metric, si = _TIMES[name], "s"
                factor = unit[1] if unit is not None else 1
            elif name in _RATES:
                metric, si = _RATES[name]
            else:
                metric, si = f"counter.{name}", ""
            if relative:
                si, factor = "1", 1
            found = scaled(value, factor)
            if found is not None:
                numbers.append((metric + ending, si, found))
        return numbers


def _name(entry: Mapping[str, object]) -> str:
    """The name that repetitions and aggregates of a benchmark share."""
    name = entry.get("run_name", entry.get("name"))
    return str(name) if isinstance(name, Text) else ""


IMPORTER = GoogleBenchmarkImporter()
