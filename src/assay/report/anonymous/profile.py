"""Anonymous profiles: replaces names in a profile, its trace and its samples consistently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from assay.trace.samples.model import ProgramSamples


@dataclass(frozen=True)
class RecordedProgram:
    """What was recorded of a program; None: not this."""

    run: ProfiledRun
    profile: ProgramProfile | None = None
    trace: MatchedTrace | None = None
    samples: ProgramSamples | None = None


def program_without_names(program: RecordedProgram, folder: Path | None = None) -> RecordedProgram:
    """The program with the names of hosts, users and folders replaced.

    Names of the program's functions and files stay. ``folder`` holds the profile; its owner is also
    a private name.
    """
    profile, trace, samples = program.profile, program.trace, program.samples
    names = Names()
    names.add(_found(program, folder))
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
    return RecordedProgram(
        run=_run(program.run, names),
        profile=hidden,
        trace=None if trace is None else _trace(trace, names),
        samples=None if samples is None else _samples(samples, names),
    )


def _trace(trace: MatchedTrace, names: Names) -> MatchedTrace:
    plain = trace.trace
    run = _run(plain.run, names)
    ranks = tuple(replace(rank, host=names.host(rank.host)) for rank in plain.ranks)
    sites = tuple(_place(place, names) for place in plain.sites)
    changed = replace(plain, run=run, ranks=ranks, sites=sites)
    return replace(trace, flat=replace(trace.flat, trace=changed))


def _samples(samples: ProgramSamples, names: Names) -> ProgramSamples:
    return msgspec.structs.replace(
        samples,
        places=tuple(
            msgspec.structs.replace(
                place,
                function=names.text(place.function, patterns=False),
                module=names.text(place.module),
                file=_file(place.file, names) if place.file else "",
            )
            for place in samples.places
        ),
        threads=tuple(
            msgspec.structs.replace(one, host=names.host(one.host), name=names.text(one.name))
            for one in samples.threads
        ),
        doubts=tuple(names.text(doubt) for doubt in samples.doubts),
    )


def _found(program: RecordedProgram, folder: Path | None) -> FoundNames:
    profile, trace, samples, run = program.profile, program.trace, program.samples, program.run
    found = FoundNames()
    for host in (
        *(() if profile is None else (rank.header.host for rank in profile.ranks)),
        *(() if trace is None else trace.trace.hosts),
        *(() if samples is None else (thread.host for thread in samples.threads)),
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
    paths = {path for place in places for path in (place.image, place.file)}
    paths |= set() if samples is None else {place.file for place in samples.places}
    for path in paths:
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
