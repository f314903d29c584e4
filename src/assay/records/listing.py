"""Listings of runs, without reading their samples."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.records.directory import Damaged, RunDirectory
from assay.records.group import describe_members
from assay.records.jobs import JobBook
from assay.records.model import system_in_name, system_name
from assay.records.request import RunRequest
from assay.records.stream import read_stream
from assay.records.summary import RunSummary


class RunListing(msgspec.Struct, frozen=True):
    """One line of ``assay runs``."""

    run: str
    path: str
    #: ``complete`` (sealed), ``unfinished`` (can be resumed), ``queued`` (its job has not begun to
    #: measure), ``damaged`` (a file was changed; ``problem`` names it) or ``unreadable``
    #: (``problem`` says why).
    state: Literal["complete", "unfinished", "queued", "damaged", "unreadable"]
    utc: float | None = None
    suite: str | None = None
    system: str | None = None
    cells: int | None = None
    launches: int | None = None
    measurements: int | None = None
    problem: str | None = None
    #: For a group of runs, the number of members in each state: ``complete``, ``failed``,
    #: ``unfinished`` or ``missing``.
    members: dict[str, int] | None = None
    #: Whether its numbers come from other tools.
    imported: bool = False


def describe_run(run: RunDirectory, *, check: bool = False) -> RunListing:
    """List one run; ``check`` compares a sealed run with its checksums.

    Raises no error for a damaged run, since that would prevent listing the others. For a sealed run
    only the seal is read; for other runs, manifest and streams.
    """
    run.clear_leftovers()
    try:
        request = run.request()
        if request is not None and (request.members is not None or not run.begun):
            return _requested(run, request)
        summary = None if check else run.summary()
        return _sealed(run, summary) if summary else _read_through(run, check)
    except Damaged as error:
        return _unlisted(run, "damaged", str(error))
    except AssayError as error:
        return _unlisted(run, "unreadable", str(error))
    except Exception as error:
        return _unlisted(run, "damaged", f"not understood: {type(error).__name__}: {error}")


def _unlisted(
    run: RunDirectory, state: Literal["damaged", "unreadable"], problem: str
) -> RunListing:
    return RunListing(run=run.name, path=str(run.path), state=state, problem=problem)


def _sealed(run: RunDirectory, summary: RunSummary) -> RunListing:
    return RunListing(
        run=run.name,
        path=str(run.path),
        state="complete",
        utc=summary.utc,
        suite=summary.suite,
        system=summary.system,
        cells=summary.cells,
        launches=summary.launches,
        measurements=summary.measurements,
        imported=summary.imported,
    )


def _read_through(run: RunDirectory, check: bool) -> RunListing:
    manifest = run.manifest()
    broken = run.broken_seal() if check and run.complete else []
    problem = f"not as sealed: {', '.join(broken)}" if broken else None
    launches = 0
    lost: list[str] = []
    measured: set[str] = set()
    for path in run.streams():
        launches += 1
        stream = read_stream(path, samples=False)
        measured |= {m.measurement for m in stream.measurements}
        lost += [f"{path.name}:{line}" for line in stream.damaged]
    if lost and not problem:
        problem = f"no records: {', '.join(lost[:4])}{', …' if len(lost) > 4 else ''}"
    return RunListing(
        run=run.name,
        path=str(run.path),
        state="damaged" if problem else "complete" if run.complete else "unfinished",
        utc=manifest.utc,
        suite=manifest.plan.name,
        system=system_name(manifest),
        cells=len(manifest.plan.cells),
        launches=launches,
        measurements=len(measured),
        problem=problem,
        imported=bool(manifest.imported),
    )


def _requested(run: RunDirectory, request: RunRequest) -> RunListing:
    """The listing of a group, or of a run whose job has not made a plan yet."""
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
        system=system_in_name(run.name, request.suite),
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
