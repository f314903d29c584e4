"""Runs and reports without private names.

Values known to be names are replaced as a whole: hosts of ranks, accounts, the name of the run. In
all other texts, the names that they contain are replaced. Reports and exports are then made from
these data. A finished report is searched again, since parts of it come from other files of the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from assay.model.cell import Cell
from assay.records.model import LaunchRecord, Manifest, Measurement, RunData
from assay.records.schema import MeasurementRecord, RankRecord
from assay.report.anonymous.names import Names
from assay.report.anonymous.options import argument_names
from assay.report.model import ReportModel

HOST_FIELDS = frozenset(("host", "hosts", "hostname", "lost", "node_name"))
_NAMED_FIELDS = {
    "account": "account",
    "partition": "partition",
    "reservation": "reservation",
    "user": "user",
}
# Parts of a figure that hold expressions. A slash in an expression is a division, not a path.
_EXPRESSIONS = frozenset(("spec",))


def without_names(run: RunData, names: Names) -> RunData:
    """The run with its names replaced.

    Cells whose parameters change receive new ids. ``path`` stays, since other parts of a report are
    read from it.
    """
    manifest = _manifest(run.manifest, names)
    cells = dict(zip((c.id for c in run.manifest.plan.cells), manifest.plan.cells, strict=True))
    ids = {old: cell.id for old, cell in cells.items() if old != cell.id}

    def renamed(measurement: str) -> str:
        cell, dash, replicate = measurement.rpartition("-")
        return f"{ids.get(cell, cell)}{dash}{replicate}"

    launches = []
    for launch in run.launches:
        plain = msgspec.to_builtins(launch)
        plain["command"] = arguments(plain["command"], names)
        changed = msgspec.convert(replaced(plain, names), LaunchRecord)
        launches.append(
            msgspec.structs.replace(
                changed,
                launch=launch.launch,
                blamed=renamed(launch.blamed) if launch.blamed else launch.blamed,
                left=tuple(map(renamed, launch.left)),
            )
        )
    by_launch: dict[str, tuple[RankRecord, ...]] = {}
    measurements = []
    for measurement in run.measurements:
        if measurement.launch not in by_launch:
            by_launch[measurement.launch] = tuple(
                msgspec.structs.replace(rank, host=names.host(rank.host))
                for rank in measurement.ranks
            )
        measurements.append(_measurement(measurement, names, cells, by_launch, renamed))
    return dataclasses.replace(
        run, manifest=manifest, measurements=tuple(measurements), launches=tuple(launches)
    )


def anonymous_report(report: ReportModel, names: Names) -> ReportModel:
    """The report with every private name in its texts, tables, figures and findings replaced."""
    plain = replaced(msgspec.to_builtins(report), names)
    return msgspec.convert(plain, ReportModel)


def replaced(value: Any, names: Names, field: str = "", *, patterns: bool = True) -> Any:  # noqa: ANN401
    """Plain data with names replaced in texts and in the keys of mappings.

    ``field``: the name of the value's field, by which hosts and accounts are recognised.
    """
    if isinstance(value, str):
        if field in HOST_FIELDS:
            return names.host(value)
        if field in _NAMED_FIELDS:
            return names.name(_NAMED_FIELDS[field], value)
        return names.text(value, patterns=patterns)
    if isinstance(value, Mapping):
        if "columns" in value and "rows" in value:
            return _table(value, names)
        return {
            names.text(str(key), patterns=patterns) if isinstance(key, str) else key: replaced(
                item, names, str(key), patterns=patterns and key not in _EXPRESSIONS
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [replaced(item, names, field, patterns=patterns) for item in value]
    return value


def _table(table: Mapping[str, Any], names: Names) -> dict[str, Any]:
    """The table with names replaced.

    Columns of hosts are replaced as hosts. A column of numbers may also be named after hosts, such
    as the variation between hosts.
    """
    fields = ["" if column["numeric"] else str(column["name"]) for column in table["columns"]]
    done = {key: replaced(item, names, key) for key, item in table.items() if key != "rows"}
    done["rows"] = [
        [
            {
                key: item if key == "tone" else replaced(item, names, field)
                for key, item in entry.items()
            }
            for field, entry in zip(fields, row, strict=True)
        ]
        for row in table["rows"]
    ]
    return done


def arguments(words: Sequence[str], names: Names) -> list[str]:
    """The words of a command, with the values of options for hosts and accounts replaced."""
    done = list(words)
    for place, start, kind, value in argument_names(words):
        alias = names.host(value) if kind == "host" else names.name(kind, value)
        done[place] = words[place][:start] + alias
    return done


def _manifest(manifest: Manifest, names: Names) -> Manifest:
    plain = msgspec.to_builtins(manifest)
    plain["command"] = arguments(plain["command"], names)
    run = names.run(manifest.run)
    for source in plain["imported"]:
        source["file"] = names.name("file", source["file"])
    system = plain["system"].get("name")
    changed = replaced(plain, names)
    changed["run"] = run
    if isinstance(system, str):
        changed["system"]["name"] = names.name("system", system)
    cells = changed["plan"]["cells"]
    for cell, before in zip(cells, manifest.plan.cells, strict=True):
        cell["kernel"] = before.kernel
    return msgspec.convert(changed, Manifest)


def _measurement(
    measurement: Measurement,
    names: Names,
    cells: Mapping[str, Cell],
    ranks: Mapping[str, tuple[RankRecord, ...]],
    renamed: Callable[[str], str],
) -> Measurement:
    record = measurement.record
    # Only fields with text: samples may still be in the stream.
    texts = {
        field: replaced(msgspec.to_builtins(getattr(record, field)), names, field)
        for field in ("error", "verification", "parameters", "facts", "traffic")
    }
    changed = msgspec.convert(
        {
            "record": "measurement",
            "measurement": renamed(record.measurement),
            "kernel": record.kernel,
            "status": record.status,
            "start": record.start,
            "wall": record.wall,
            **texts,
        },
        MeasurementRecord,
    )
    kept = {
        field: getattr(record, field)
        for field in MeasurementRecord.__struct_fields__
        if field not in texts and field != "measurement"
    }
    return dataclasses.replace(
        measurement,
        cell=cells.get(measurement.cell.id, measurement.cell),
        record=msgspec.structs.replace(changed, **kept),
        ranks=ranks[measurement.launch],
    )
