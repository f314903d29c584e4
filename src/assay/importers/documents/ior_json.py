"""IOR's JSON (``summaryFormat=JSON``), versions 3.2 to 4.

Source: ``ior-output.c``. A test has its options and a list of results; the results of one iteration
are a list of their own. Results of an operation are samples of one result, as in the text output.
Sizes come from ``Parameters``, where they are exact, rather than from ``Options``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series
from assay.importers.numbers import MIB, scaled
from assay.importers.text.ior import setting

_METRICS: dict[str, tuple[str, str, int]] = {
    "bwMiB": ("bandwidth", "B/s", MIB),
    "iops": ("rate", "op/s", 1),
    "latency": ("time.latency", "s", 1),
    "openTime": ("time.open", "s", 1),
    "wrRdTime": ("time.transfer", "s", 1),
    "closeTime": ("time.close", "s", 1),
    "totalTime": ("time", "s", 1),
}
# Entries of ``Parameters`` that change what is measured if they are not 0.
_MODES = {
    "useO_DIRECT": "direct",
    "collective": "collective",
    "fsync": "fsync",
    "fsyncPerWrite": "fsync_per_write",
    "reorderTasks": "reorder_tasks",
    "reorderTasksRandom": "reorder_tasks_random",
    "randomOffset": "random_offset",
    "useSharedFilePointer": "shared_file_pointer",
    "useStridedDatatype": "strided_datatype",
    "useFileView": "file_view",
    "interTestDelay": "delay",
    "deadlineForStonewalling": "stonewalling_time",
    "stoneWallingWearOut": "stonewalling_wear_out",
    "memoryPerTask": "memory_per_task",
    "memoryPerNode": "memory_per_node",
}
_SIZES = {"transferSize": "transfer_bytes", "blockSize": "block_bytes"}


class IorJsonImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it has tests with options of IOR and results."""
        tests = document.get("tests") if isinstance(document, dict) else None
        return (
            isinstance(tests, list)
            and bool(tests)
            and all(isinstance(test, dict) and "Options" in test for test in tests)
        )

    def read(self, document: object, out: Output) -> None:
        """One result per operation of each test."""
        assert isinstance(document, dict)
        version = document.get("Version")
        command = document.get("Command line")
        given = None
        if isinstance(command, Text):
            given = setting("Command line", str(command), command.line)
        for test in document["tests"]:
            name = str(version) if isinstance(version, Text) else None
            self._test(test, name, {} if given is None else dict([given]), out)

    def _test(
        self,
        test: Mapping[str, object],
        version: str | None,
        given: Mapping[str, FoundValue],
        out: Output,
    ) -> None:
        options = test["Options"]
        parameters = {**given, **dict(_parameters(options if isinstance(options, dict) else {}))}
        exact = test.get("Parameters")
        for name, parameter in _SIZES.items():
            size = exact.get(name) if isinstance(exact, dict) else None
            if isinstance(size, FoundValue):
                parameters[parameter] = size
        for name, parameter in _MODES.items():
            mode = exact.get(name) if isinstance(exact, dict) else None
            if isinstance(mode, FoundValue) and mode.value:
                parameters[parameter] = mode
        # One version writes the results within the options.
        results = test.get("Results", options.get("Results") if isinstance(options, dict) else None)
        operations: dict[str, dict[str, list[FoundValue]]] = {}
        names: dict[str, FoundValue] = {}
        for result in _results(results):
            access = result.get("access")
            if not isinstance(access, Text):
                continue
            # There is no printed form: a string may be written with escapes.
            names.setdefault(str(access), FoundValue(str(access), "", access.line))
            samples = operations.setdefault(str(access), {})
            for key, value in result.items():
                if key in _METRICS:
                    _add(samples, key, value, out)
        for name, samples in operations.items():
            series = [Series(m, u, samples[m]) for m, u, _ in _METRICS.values() if m in samples]
            if series:
                out.result(
                    Result(
                        code="ior",
                        tool="IOR",
                        version=version,
                        parameters={"op": names[name]} | parameters,
                        series=series,
                    )
                )


def _parameters(options: Mapping[str, object]) -> Iterator[tuple[str, FoundValue]]:
    for name, value in options.items():
        if isinstance(value, FoundValue):
            found = setting(name, value.printed, value.line)
        elif isinstance(value, Text):
            found = setting(name, str(value), value.line)
        else:
            continue
        if found is not None:
            parameter, given = found
            yield parameter, replace(given, printed="") if isinstance(given.value, str) else given


def _results(listed: object) -> Iterator[Mapping[str, object]]:
    """The results of all iterations of a test."""
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            yield item
        else:
            yield from _results(item)


def _add(samples: dict[str, list[FoundValue]], key: str, value: object, out: Output) -> None:
    metric, _, factor = _METRICS[key]
    if isinstance(value, Unusable):
        out.skip(value.line, f"'{value.printed}' is not a number.")
    elif isinstance(value, Text):
        # IOR writes infinite numbers as strings.
        out.skip(value.line, f"'{value}' is not a number.")
    elif isinstance(value, FoundValue) and float(value.value) >= 0:
        found = scaled(value, factor)
        if found is not None:
            samples.setdefault(metric, []).append(found)


IMPORTER = IorJsonImporter()
