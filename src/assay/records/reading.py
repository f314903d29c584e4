"""A run directory read back into memory. Streams are the truth; nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.plans.model import Cell
from assay.records.directory import RunDirectory
from assay.records.model import LaunchRecord, Manifest, Measurement, RunData
from assay.records.stream import Stream, read_stream


def measurement_id(cell: Cell, replicate: int) -> str:
    """The name of a measurement in jobs and streams."""
    return f"{cell.id}-{replicate}"


def measurements_of(
    streams: Iterable[tuple[str, Stream]], cells: Iterable[Cell]
) -> list[Measurement]:
    """The measurements in ``streams`` (launch name, stream) that belong to ``cells``.

    Of several records of the same replicate (a killed assay whose kernels lived on) the first
    counts. Interrupted measurements don't count: they are made again.
    """
    by_id = {cell.id: cell for cell in cells}
    found: dict[str, Measurement] = {}
    for launch, stream in streams:
        utc = stream.start.utc if stream.start else 0.0
        for record in stream.measurements:
            cell_id, _, replicate = record.measurement.rpartition("-")
            cell = by_id.get(cell_id)
            if cell is None or not replicate.isdigit() or record.status == "interrupted":
                continue
            found.setdefault(
                record.measurement,
                Measurement(
                    cell=cell,
                    replicate=int(replicate),
                    launch=launch,
                    utc=utc + record.start,
                    record=record,
                    clock=stream.start.clock if stream.start else None,
                    ranks=tuple(stream.ranks),
                ),
            )
    return list(found.values())


def read_run(path: Path) -> RunData:
    """Read a run, complete or not. Raises AssayError for what is no run or of another version."""
    run = RunDirectory(path)
    manifest = run.manifest()
    return gather(
        run,
        manifest,
        [(stream.stem, read_stream(stream)) for stream in run.streams()],
        run.launches(),
    )


def gather(
    run: RunDirectory,
    manifest: Manifest,
    streams: list[tuple[str, Stream]],
    launches: list[LaunchRecord],
) -> RunData:
    """Put together what was read."""
    return RunData(
        path=run.path,
        manifest=manifest,
        measurements=tuple(measurements_of(streams, manifest.plan.cells)),
        launches=tuple(launches),
        complete=run.complete,
    )
