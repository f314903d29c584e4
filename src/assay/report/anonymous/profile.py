"""Anonymous profiles: replaces names in a profile and in its trace, consistently in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

import msgspec

from assay.report.anonymous.collect import names_of_arguments
from assay.report.anonymous.names import FoundNames, Names, owner_of
from assay.report.anonymous.runs import arguments
from assay.trace.matching import MatchedTrace
from assay.trace.model import (
    ProfiledRun,
    ProgramProfile,
    ProgramSummary,
    RankProfile,
    SourcePlace,
)


def profile_without_names(
    profile: ProgramProfile | None, trace: MatchedTrace | None, folder: Path | None = None
) -> tuple[ProgramProfile | None, MatchedTrace | None]:
    """The profile and the trace with the names of hosts, users and folders replaced.

    Names of the program's functions and files stay. ``profile`` is None if the program was killed
    and left only a trace. ``folder`` holds the profile; its owner is also a private name.
    """
    names = Names()
    names.add(_found(profile, trace, folder))
    hidden = None
    if profile is not None:
        hidden = ProgramProfile(
            run=_run(profile.run, names),
            ranks=[_rank(rank, names) for rank in profile.ranks],
            absent=profile.absent,
            cut=[_file(path, names) for path in profile.cut],
            number=profile.number,
            others=[_program(one, names) for one in profile.others],
        )
    if trace is None:
        return hidden, None
    plain = trace.trace
    run = _run(plain.run, names)
    ranks = tuple(replace(rank, host=names.host(rank.host)) for rank in plain.ranks)
    sites = tuple(_place(place, names) for place in plain.sites)
    changed = replace(plain, run=run, ranks=ranks, sites=sites)
    return hidden, replace(trace, flat=replace(trace.flat, trace=changed))


def _found(
    profile: ProgramProfile | None, trace: MatchedTrace | None, folder: Path | None
) -> FoundNames:
    found = FoundNames()
    run = _run_of(profile, trace)
    for host in (
        *(() if profile is None else (rank.header.host for rank in profile.ranks)),
        *(() if trace is None else trace.trace.hosts),
    ):
        found.hosts(host)
    names_of_arguments(run.command, found)
    for command in _commands(profile):
        names_of_arguments(command.split(" "), found)
        found.text(command)
    for text in (run.folder, run.library, run.mpi, *run.command):
        found.text(text)
    found.put("path", run.folder)
    if folder is not None:
        found.put("user", owner_of(folder) or "")
    places: Sequence[SourcePlace] = (*run.places, *(() if trace is None else trace.trace.sites))
    for path in {path for place in places for path in (place.image, place.file)}:
        if path.startswith("/"):
            found.put("path", str(PurePath(path).parent))
        found.text(path)
    return found


def _commands(profile: ProgramProfile | None) -> list[str]:
    """The command lines of all processes."""
    if profile is None:
        return []
    others = [command for one in profile.others for command in one.commands]
    return [*dict.fromkeys([*(one.header.command for one in profile.ranks), *others])]


def _run_of(profile: ProgramProfile | None, trace: MatchedTrace | None) -> ProfiledRun:
    if profile is not None:
        return profile.run
    if trace is None:
        raise ValueError("has neither a profile nor a trace")
    return trace.trace.run


def _run(run: ProfiledRun, names: Names) -> ProfiledRun:
    return msgspec.structs.replace(
        run,
        command=[names.text(word) for word in arguments(run.command, names)],
        folder=names.name("path", run.folder),
        mpi=names.text(run.mpi),
        library=_file(run.library, names),
        places=[_place(place, names) for place in run.places],
    )


def _program(one: ProgramSummary, names: Names) -> ProgramSummary:
    commands = [_command(command, names) for command in one.commands]
    return msgspec.structs.replace(one, commands=commands)


def _command(command: str, names: Names) -> str:
    """Words are separated by blanks, as the library writes them."""
    return " ".join(names.text(word) for word in arguments(command.split(" "), names))


def _rank(rank: RankProfile, names: Names) -> RankProfile:
    header = msgspec.structs.replace(
        rank.header,
        host=names.host(rank.header.host),
        world=names.text(rank.header.world),
        command=_command(rank.header.command, names),
    )
    calls = [msgspec.structs.replace(c, image=_file(c.image, names)) for c in rank.calls]
    return msgspec.structs.replace(rank, header=header, calls=calls)


def _place(place: SourcePlace, names: Names) -> SourcePlace:
    return msgspec.structs.replace(
        place,
        image=_file(place.image, names),
        # A function's name may contain slashes, in an operator or in brackets.
        function=names.text(place.function, patterns=False),
        file=_file(place.file, names),
    )


def _file(path: str, names: Names) -> str:
    """A path with its folder replaced, unless the path is relative. The file keeps its name."""
    if not path.startswith("/"):
        return names.text(path)
    found = PurePath(path)
    return f"{names.text(str(found.parent))}/{found.name}"
