"""What can be said of a run without reading its samples."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.records.directory import RunDirectory
from assay.records.stream import read_stream


class RunListing(msgspec.Struct, frozen=True):
    """One line of ``assay runs``.

    ``state``: ``complete`` (sealed), ``unfinished`` (can be resumed), ``damaged`` (a sealed file
    differs; ``problem`` names it) or ``unreadable`` (``problem`` says why).
    """

    run: str
    path: str
    state: Literal["complete", "unfinished", "damaged", "unreadable"]
    utc: float | None = None
    suite: str | None = None
    system: str | None = None
    cells: int | None = None
    launches: int | None = None
    measurements: int | None = None
    problem: str | None = None


def describe_run(run: RunDirectory, *, check: bool = False) -> RunListing:
    """List one run; ``check`` compares a sealed one with its checksums. Never raises AssayError."""
    try:
        manifest = run.manifest()
        streams = [read_stream(path) for path in run.streams()]
        broken = run.broken_seal() if check and run.complete else []
    except AssayError as error:
        return RunListing(run=run.name, path=str(run.path), state="unreadable", problem=str(error))
    return RunListing(
        run=run.name,
        path=str(run.path),
        state="damaged" if broken else "complete" if run.complete else "unfinished",
        utc=manifest.utc,
        suite=manifest.plan.name,
        system=str(manifest.system.get("name") or run.name.split("-")[1]),
        cells=len(manifest.plan.cells),
        launches=len(streams),
        measurements=len({m.measurement for stream in streams for m in stream.measurements}),
        problem=f"not as sealed: {', '.join(broken)}" if broken else None,
    )
