"""Writes an export in the requested format to a file or stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

from assay.errors import AssayError
from assay.report.destination import format_of, unknown_suffix
from assay.report.export.model import ExportedRun
from assay.report.export.rows import result_rows

ExportFormat = Literal[
    "csv", "parquet", "json", "openmetrics", "reframe", "reframe-perflog", "ramble"
]


# Formats by the suffixes of files; formats of frameworks have no suffix.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "csv": (".csv",),
    "parquet": (".parquet",),
    "json": (".json",),
    "openmetrics": (".prom", ".openmetrics"),
}


def export_format(named: ExportFormat | None, out: Path | None) -> ExportFormat:
    """The named format, or the format of the file's suffix; CSV on stdout and without a suffix.

    Raises AssayError if no format has the suffix.
    """
    if named is not None or out is None or not out.suffix:
        return named or "csv"
    found = format_of(out, _SUFFIXES)
    if found is None:
        raise unknown_suffix("--out", out, _SUFFIXES)
    return cast(ExportFormat, found)


def write_export(
    runs: Sequence[ExportedRun], form: ExportFormat, out: Path | None, *, samples: bool = False
) -> None:
    """Write results, or with ``samples`` all samples, to ``out`` or stdout.

    A file is written atomically. Raises AssayError if the file can't be written, or if the
    combination of options is not supported.
    """
    if samples and form not in ("csv", "parquet", "json"):
        raise AssayError(
            f"Samples can't be exported as {form}.",
            where="--samples",
            fix="Use --format csv, parquet or json.",
        )
    if form == "parquet":
        if out is None:
            raise AssayError(
                "Parquet is a binary format and needs a file.",
                where="--format parquet",
                fix="Name a file: --out results.parquet.",
            )
        _prepare(out)
        _write_parquet(runs, out, samples)
        return
    parts = _sample_text(runs, form) if samples else _result_text(runs, form)
    if out is None:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    from assay.records.files import OUT, write_atomically

    _prepare(out)
    write_atomically(out, b"".join(parts), option=OUT)


def _result_text(runs: Sequence[ExportedRun], form: ExportFormat) -> Iterator[bytes]:
    rows = list(result_rows(runs))
    if form == "openmetrics":
        from assay.report.export.openmetrics import results_openmetrics

        yield results_openmetrics(rows).encode()
    elif form == "reframe":
        from assay.report.export.frameworks import reframe_json

        yield reframe_json(rows)
    elif form == "reframe-perflog":
        from assay.report.export.frameworks import reframe_perflog

        yield reframe_perflog(rows)
    elif form == "ramble":
        from assay.report.export.frameworks import ramble_json

        yield ramble_json(rows)
    else:
        from assay.report.export.tabular import results_csv, results_json

        yield results_csv(rows) if form == "csv" else results_json(rows)


def _sample_text(runs: Sequence[ExportedRun], form: ExportFormat) -> Iterator[bytes]:
    from assay.report.export.tabular import sample_frames, samples_csv, samples_json

    return (samples_csv if form == "csv" else samples_json)(sample_frames(runs))


def _write_parquet(runs: Sequence[ExportedRun], out: Path, samples: bool) -> None:
    from assay.records.files import OUT
    from assay.records.tables import write_table
    from assay.report.export.tabular import results_frame, sample_frames, sample_schema

    if samples:
        write_table(out, sample_frames(runs), sample_schema(), option=OUT)
    else:
        write_table(out, [results_frame(list(result_rows(runs)))], option=OUT)


def _prepare(out: Path) -> None:
    from assay.records.files import OUT, cannot_write

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out.parent, error, OUT) from None
