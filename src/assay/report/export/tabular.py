"""Tables of results and of samples as CSV, Parquet and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assay.records.model import system_name
from assay.records.tables import sample_columns, sample_parts
from assay.report.export.model import EXPORT_SCHEMA, ExportedRun, ResultDocument, ResultRow
from assay.version import VERSION

if TYPE_CHECKING:
    import polars as pl

_INTEGERS = (
    "nodes",
    "ppn",
    "threads",
    "ranks",
    "node_set",
    "devices",
    "n",
    "samples",
    "lost_launches",
)
_BOOLEANS = ("complete", "imported", "verified", "headline")
_FLOATS = (
    *("utc", "median", "low", "high", "min", "max", "p05", "p95", "cov", "cov_samples"),
)  # fmt: skip


def results_json(rows: Iterable[ResultRow]) -> bytes:
    """The results as one JSON document."""
    document = ResultDocument(EXPORT_SCHEMA, "results", VERSION, list(rows))
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def results_csv(rows: Iterable[ResultRow]) -> bytes:
    """The results as CSV (RFC 4180): a heading, then a line per row. Unknown values are empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(ResultRow.__struct_fields__)
    for row in rows:
        writer.writerow([_csv_field(value) for value in _flat(row).values()])
    return stream.getvalue().encode()


def results_frame(rows: Sequence[ResultRow]) -> pl.DataFrame:
    """The results as a table. Column types do not depend on the rows."""
    import polars as pl

    return pl.DataFrame([_flat(row) for row in rows], schema=result_columns())


def result_columns() -> dict[str, Any]:
    """The columns of a table of results with their types."""
    import polars as pl

    kinds: dict[str, Any] = dict.fromkeys(ResultRow.__struct_fields__, pl.String)
    kinds |= dict.fromkeys(_INTEGERS, pl.Int64) | dict.fromkeys(_BOOLEANS, pl.Boolean)
    return kinds | dict.fromkeys(_FLOATS, pl.Float64)


def _flat(row: ResultRow) -> dict[str, object]:
    """The row with nested values as text: parameters as JSON, lists joined."""
    plain = {name: getattr(row, name) for name in ResultRow.__struct_fields__}
    plain["parameters"] = parameters_json(row.parameters)
    plain["hosts"] = "; ".join(row.hosts)
    plain["caveats"] = " ".join(row.caveats)
    return plain


def parameters_json(parameters: dict[str, Any]) -> str:
    """Parameters as a JSON object with sorted names, as in the tables of a run."""
    return msgspec.json.encode(parameters, order="deterministic").decode()


def _csv_field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else repr(value) if isinstance(value, float) else value


def sample_schema() -> dict[str, Any]:
    """The columns of a table of samples: names of run and cell, then the columns of the run's
    samples.
    """
    import polars as pl

    about = {
        **dict.fromkeys(("run", "system"), pl.String),
        "imported": pl.Boolean,
        "toolchain": pl.String,
        **dict.fromkeys(("nodes", "ppn", "threads"), pl.Int64),
        "parameters": pl.String,
    }
    return {**about, **sample_columns()}


def sample_frames(runs: Iterable[ExportedRun]) -> Iterator[pl.DataFrame]:
    """All samples of the runs, in parts of limited size."""
    import polars as pl

    schema = sample_schema()
    for run in runs:
        manifest = run.data.manifest
        known = not manifest.imported
        about = pl.DataFrame(
            [
                {
                    "cell": summary.id,
                    "run": manifest.run,
                    "system": system_name(manifest, run.group or ""),
                    "imported": not known,
                    "toolchain": summary.cell.toolchain,
                    "nodes": summary.cell.placement.nodes if known else None,
                    "ppn": summary.cell.placement.ppn if known else None,
                    "threads": summary.cell.placement.threads if known else None,
                    "parameters": parameters_json(dict(summary.parameters)),
                }
                for summary in run.cells
            ],
            schema={name: kind for name, kind in schema.items() if name not in _OWN},
        )
        for part in sample_parts(run.data):
            yield part.join(about, on="cell", how="left", maintain_order="left").select(
                list(schema)
            )


_OWN = frozenset(
    ("kernel", "measurement", "metric", "unit", "rank", "peer", "index", "time", "value", "warmup")
)


def samples_csv(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """The samples as CSV, part by part."""
    import polars as pl

    head = pl.DataFrame(schema=sample_schema())
    yield head.write_csv(line_terminator="\r\n").encode()
    for part in parts:
        yield part.write_csv(include_header=False, line_terminator="\r\n").encode()


def samples_json(parts: Iterable[pl.DataFrame]) -> Iterator[bytes]:
    """The samples as one JSON document, part by part. Each sample has its own line."""
    head = {"schema": EXPORT_SCHEMA, "kind": "samples", "assay": VERSION}
    yield msgspec.json.encode(head)[:-1] + b',"samples":['
    between = b"\n"
    for part in parts:
        for row in part.iter_rows(named=True):
            yield between + msgspec.json.encode(
                {**row, "parameters": msgspec.Raw(row["parameters"].encode())}
            )
            between = b",\n"
    yield b"\n]}\n"
