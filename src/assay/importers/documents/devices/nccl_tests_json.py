"""JSON of nccl-tests (``-J``, versions 1 to 3 of the file) and of rccl-tests (``-Z json``).

Source: ``src/util.cu`` of nccl-tests; ``src/common.cu`` of rccl-tests, whose file is a list with a
record per place and size. Numbers have the units of the text output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from assay.importers.collectives import GB, PROGRAM
from assay.importers.decoded import Text, Unusable
from assay.importers.model import FoundValue, Output, Result, Series, words
from assay.importers.numbers import US, number, scaled

_METRICS: dict[str, tuple[str, str, Decimal]] = {
    "time": ("time", "s", US),
    "cpu_time": ("time.cpu", "s", US),
    "alg_bw": ("bandwidth.algorithm", "B/s", GB),
    "bus_bw": ("bandwidth", "B/s", GB),
    "algBw": ("bandwidth.algorithm", "B/s", GB),
    "busBw": ("bandwidth", "B/s", GB),
}
_PER_ITERATION = {
    "min_us": "time.min",
    "max_us": "time.max",
    "p50_us": "time.p50",
    "p95_us": "time.p95",
    "p99_us": "time.p99",
}
# Entries of ``config``: parameter, and the value at which nothing is different.
_CONFIG = {
    "nthreads": ("threads", None),
    "ngpus": ("gpus_per_thread", None),
    "iterations": ("iterations", None),
    "aggregated_iterations": ("aggregated", 1),
    "graph": ("graph", 0),
}
_RECORD = {"size", "type", "inPlace", "time", "algBw", "busBw"}
_RCCL = {"ranks": "ranks", "nodes": "nodes", "ranksPerNode": "ranks_per_node"}
_RCCL |= {"gpusPerRank": "gpus_per_rank"}


class NcclTestsJsonImporter:
    """See the module."""

    def takes(self, document: object) -> bool:
        """Whether it is a report of nccl-tests or the records of rccl-tests."""
        if isinstance(document, list):
            return bool(document) and all(
                isinstance(r, dict) and r.keys() >= _RECORD for r in document
            )
        if not isinstance(document, dict) or not isinstance(document.get("results"), list):
            return False
        return "nccl_version" in document or "average_bus_bandwidth" in document

    def read(self, document: object, out: Output) -> None:
        """One result per size and place."""
        if isinstance(document, list):
            for record in document:
                self._rccl(record, out)
            return
        assert isinstance(document, dict)
        operation = _operation(document.get("args"))
        settings = dict(_settings(document))
        for row in document["results"]:
            if isinstance(row, dict):
                self._row(row, operation, settings, out)

    def _row(
        self,
        row: Mapping[str, object],
        operation: str,
        settings: Mapping[str, FoundValue],
        out: Output,
    ) -> None:
        name = row.get("experiment_name")
        if not operation and isinstance(name, Text):
            operation = _operation([name])
        parameters = dict(_parameters(row))
        if "bytes" not in parameters:
            return
        for key, place in (("out_of_place", "out-of-place"), ("in_place", "in-place")):
            body = row.get(key)
            if not isinstance(body, dict):
                continue
            series = list(_series(body, out))
            times = row.get(f"{key}_per_iter")
            for entry, metric in _PER_ITERATION.items():
                value = times.get(entry) if isinstance(times, dict) else None
                found = scaled(value, US) if isinstance(value, FoundValue) else None
                if found is not None:
                    series.append(Series(metric, "s", [found]))
            wrong = body.get("nwrong")
            _put(
                "nccl-tests",
                operation,
                parameters
                | {"place": FoundValue(place, "", parameters["bytes"].line)}
                | dict(settings),
                series=series,
                wrong=wrong if isinstance(wrong, FoundValue) else None,
                out=out,
            )

    def _rccl(self, record: Mapping[str, object], out: Output) -> None:
        name, place, wrong = record.get("name"), record["inPlace"], record.get("wrong")
        parameters = dict(_parameters(record))
        if "bytes" not in parameters or not isinstance(place, FoundValue):
            return
        text = "in-place" if place.value else "out-of-place"
        parameters["place"] = FoundValue(text, "", place.line)
        for key, parameter in _RCCL.items():
            value = record.get(key)
            if isinstance(value, FoundValue):
                parameters[parameter] = value
        if isinstance(wrong, Text):
            wrong = number(str(wrong).rstrip("*"), wrong.line)
        operation = _operation([name])
        found = wrong if isinstance(wrong, FoundValue) else None
        series = list(_series(record, out))
        _put("rccl-tests", operation, parameters, series=series, wrong=found, out=out)


def _put(
    tool: str,
    operation: str,
    parameters: Mapping[str, FoundValue],
    *,
    series: list[Series],
    wrong: FoundValue | None,
    out: Output,
) -> None:
    if not series:
        return
    out.result(
        Result(
            code=f"{tool}.{operation or 'unknown'}",
            tool=tool,
            version=None,
            parameters=parameters,
            series=series,
            verified=None if wrong is None else not wrong.value,
            check="" if wrong is None else "wrong elements",
            checked=wrong,
        )
    )


def _operation(arguments: object) -> str:
    """The operation by the name of the program, the first argument; "" if it is another name."""
    first = arguments[0] if isinstance(arguments, list) and arguments else None
    program = PROGRAM.search(str(first)) if isinstance(first, Text) else None
    return program[1] if program else ""


def _parameters(row: Mapping[str, object]) -> Iterator[tuple[str, FoundValue]]:
    size, root = row.get("size"), row.get("root")
    if isinstance(size, FoundValue) and isinstance(size.value, int):
        yield "bytes", size
    for name in ("type", "redop"):
        value = row.get(name)
        if isinstance(value, Text) and value not in ("", "none"):
            yield name, words(str(value), value.line)
    if isinstance(root, Text):
        root = number(root.strip(), root.line)
    if isinstance(root, FoundValue) and isinstance(root.value, int) and root.value >= 0:
        yield "root", root


def _series(body: Mapping[str, object], out: Output) -> Iterator[Series]:
    for key, (metric, unit, factor) in _METRICS.items():
        value = body.get(key)
        if isinstance(value, (Unusable, Text)):
            line = value.line
            out.skip(line, f"'{str(getattr(value, 'printed', value))[:40]}' is not a number.")
        elif isinstance(value, FoundValue) and float(value.value) > 0:
            found = scaled(value, factor)
            if found is not None:
                yield Series(metric, unit, [found])


def _settings(document: Mapping[str, object]) -> Iterator[tuple[str, FoundValue]]:
    version, config = document.get("nccl_version"), document.get("config")
    if isinstance(version, FoundValue):
        yield "library", FoundValue(f"NCCL {version.value}", version.printed, version.line)
    if not isinstance(config, dict):
        return
    for name, (parameter, plain) in _CONFIG.items():
        value = config.get(name)
        if isinstance(value, FoundValue) and value.value != plain:
            yield parameter, value
    devices = config.get("devices", document.get("devices"))
    listed = [d for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []
    models = _distinct(listed, "device_info")
    hosts = _distinct(listed, "hostname")
    if len(models) == 1:
        yield "gpu", words(str(models[0]), models[0].line)
    # A process names only its first device in the file.
    ranks = [d["rank"].value for d in listed if isinstance(d.get("rank"), FoundValue)]
    threads, gpus = config.get("nthreads"), config.get("ngpus")
    alone = all(isinstance(v, FoundValue) and v.value == 1 for v in (threads, gpus))
    if hosts and alone and sorted(ranks) == list(range(len(ranks))):
        yield "ranks", FoundValue(len(ranks), "", hosts[0].line)
        yield "nodes", FoundValue(len(hosts), "", hosts[0].line)
    if len(hosts) == 1:
        yield "node", words(str(hosts[0]), hosts[0].line)


def _distinct(listed: list[dict[str, object]], name: str) -> list[Text]:
    found: dict[str, Text] = {}
    for device in listed:
        value = device.get(name)
        if isinstance(value, Text):
            found.setdefault(str(value), value)
    return list(found.values())


IMPORTER = NcclTestsJsonImporter()
