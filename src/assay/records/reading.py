"""Reading a run directory into memory. Streams are the source of all results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.model.cell import Cell
from assay.records.directory import RunDirectory
from assay.records.model import Measurement, RunData
from assay.records.stream import Stream, read_stream

# Maximum bytes of streams whose samples are held in memory, where they take about four times as
# much space.
IN_MEMORY = 64 << 20


def measurement_id(cell: Cell, replicate: int) -> str:
    """The name of a measurement in jobs and streams."""
    return f"{cell.id}-{replicate}"


def is_number(text: str) -> bool:
    """Whether a text is a replicate number, as at the end of an id: at most 18 decimal digits."""
    return text.isascii() and text.isdigit() and len(text) <= 18


def measurements_of(
    streams: Iterable[tuple[str, Stream]], cells: Iterable[Cell]
) -> Iterator[Measurement]:
    """The measurements in ``streams`` (launch name, stream) that belong to ``cells``.

    If a replicate has several records, as from kernels that survived a killed assay, the first
    counts. Interrupted measurements are omitted, since they are repeated. Streams are read one
    after the other and not kept.
    """
    by_id = {cell.id: cell for cell in cells}
    found: set[str] = set()
    for launch, stream in streams:
        utc = stream.start.utc if stream.start else 0.0
        clock = stream.start.clock if stream.start else None
        ranks = tuple(stream.ranks)
        for record in stream.measurements:
            cell_id, _, replicate = record.measurement.rpartition("-")
            cell = by_id.get(cell_id)
            if cell is None or not is_number(replicate) or record.status == "interrupted":
                continue
            if record.measurement in found:
                continue
            found.add(record.measurement)
            yield Measurement(
                cell=cell,
                replicate=int(replicate),
                launch=launch,
                utc=utc + record.start,
                record=record,
                clock=clock,
                ranks=ranks,
            )


def fit_memory(streams: Iterable[Path]) -> bool:
    """Whether the samples of these streams may be held in memory together."""
    return sum(path.stat().st_size for path in streams if path.exists()) <= IN_MEMORY


def read_streams(run: RunDirectory, *, samples: bool | None = None) -> Iterator[tuple[str, Stream]]:
    """The run's streams one by one, with the names of their launches.

    ``samples``: whether samples are held in memory, by default if the streams have at most
    ``IN_MEMORY`` bytes; otherwise memory grows only with the number of measurements.
    """
    paths = run.streams()
    if samples is None:
        samples = fit_memory(paths)
    for path in paths:
        yield path.stem, read_stream(path, samples=samples)


def read_run(path: Path, *, samples: bool | None = None) -> RunData:
    """Read a complete or incomplete run; ``samples`` as in ``read_streams``.

    Raises AssayError if it is not a run, is damaged or has another version.
    """
    run = RunDirectory(path)
    manifest = run.manifest()
    damaged: list[str] = []

    def streams() -> Iterator[tuple[str, Stream]]:
        for launch, stream in read_streams(run, samples=samples):
            damaged.extend(f"{run.raw.name}/{launch}.jsonl:{line}" for line in stream.damaged)
            yield launch, stream

    return RunData(
        path=run.path,
        manifest=manifest,
        measurements=tuple(measurements_of(streams(), manifest.plan.cells)),
        launches=tuple(run.launches()),
        complete=run.complete,
        damaged=tuple(damaged),
    )
