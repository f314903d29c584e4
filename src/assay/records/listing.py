"""What can be said of a run without reading its samples."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.records.directory import RunDirectory
from assay.records.group import describe_members
from assay.records.jobs import JobBook
from assay.records.request import RunRequest
from assay.records.stream import read_stream


class RunListing(msgspec.Struct, frozen=True):
    """One line of ``assay runs``.

    ``state``: ``complete`` (sealed), ``unfinished`` (can be resumed), ``queued`` (its job has not
    begun to measure), ``damaged`` (a sealed file differs; ``problem`` names it) or ``unreadable``
    (``problem`` says why). ``members``: of a group of runs, a node each, how many of them are in
    which state: ``complete``, ``failed``, ``unfinished`` or ``missing``.
    """

    run: str
    path: str
    state: Literal["complete", "unfinished", "queued", "damaged", "unreadable"]
    utc: float | None = None
    suite: str | None = None
    system: str | None = None
    cells: int | None = None
    launches: int | None = None
    measurements: int | None = None
    problem: str | None = None
    members: dict[str, int] | None = None


def describe_run(run: RunDirectory, *, check: bool = False) -> RunListing:
    """List one run; ``check`` compares a sealed one with its checksums. Never raises AssayError."""
    try:
        request = run.request()
        if request is not None and (request.members is not None or not run.begun):
            return _requested(run, request)
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
        system=str(manifest.system.get("name") or _system_of(run)),
        cells=len(manifest.plan.cells),
        launches=len(streams),
        measurements=len({m.measurement for stream in streams for m in stream.measurements}),
        problem=f"not as sealed: {', '.join(broken)}" if broken else None,
    )


def _requested(run: RunDirectory, request: RunRequest) -> RunListing:
    """A group, or a run whose job has not made a plan."""
    jobs = JobBook(run.path).jobs()
    last = jobs[-1] if jobs else None
    over = last.ended if last else None
    problem = f"{over.state}: {over.reason}".rstrip(": ") if over else None
    listing = RunListing(
        run=run.name,
        path=str(run.path),
        state="unfinished" if over or not last else "queued",
        utc=request.utc,
        suite=request.suite,
        system=_system_of(run),
        problem=problem,
    )
    if request.members is None:
        return listing
    counts = describe_members(run.path, request.members)
    whole = counts.get("complete", 0) == request.members
    waiting = listing.state == "queued" and set(counts) <= {"missing"}
    return msgspec.structs.replace(
        listing,
        state="complete" if whole else "queued" if waiting else "unfinished",
        problem=None if whole else problem,
        members=counts,
    )


def _system_of(run: RunDirectory) -> str:
    return [*run.name.split("-"), ""][1]
