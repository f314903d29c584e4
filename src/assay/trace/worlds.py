"""The MPI programs of one profiled command. The command may start several, and they may start more.

Each program has its own ``MPI_COMM_WORLD``, so that their ranks have the same numbers. The
launcher's name of the launch, the size of the world, and whether another program spawned it show
which processes belong together. If these are equal, the first process of each rank belongs to the
program that began first, and so on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.trace.trace_files import TraceHeader, read_rank_file

PROFILE_SUFFIX, TRACE_SUFFIX = ".jsonl", ".trace"
_FILES = "rank-*"


class DamagedTrace(Exception):
    """The trace of a process without a profile can't be read."""

    def __init__(self, why: AssayError) -> None:
        super().__init__(str(why))
        self.why = why


class ProcessHeader(msgspec.Struct, frozen=True, tag="profile"):
    """The first record of a process's profile, as far as it describes its world; times in s."""

    rank: int | None
    ranks: int
    begin_wall: float
    wall: float
    world: str = ""
    spawned: bool = False
    command: str = ""


@dataclass(frozen=True)
class WorldProcess:
    """A process, identified by the path of its files without suffixes. ``wall``: 0 if unknown."""

    stem: Path
    header: ProcessHeader


@dataclass(frozen=True)
class World:
    """The processes of an ``MPI_COMM_WORLD``, in the order of their ranks."""

    #: Number, from 1 in the order in which the worlds began.
    number: int
    processes: tuple[WorldProcess, ...]

    @property
    def commands(self) -> list[str]:
        """The different command lines of its processes."""
        return list(dict.fromkeys(one.header.command for one in self.processes))

    @property
    def size(self) -> int:
        """The number of its ranks, including ranks without a file."""
        return max(len(self.processes), *(one.header.ranks for one in self.processes))

    @property
    def spawned(self) -> bool:
        """Whether another program started it (MPI_Comm_spawn)."""
        return self.processes[0].header.spawned

    @property
    def wall(self) -> float:
        """The longest wall time of a process, s."""
        return max(one.header.wall for one in self.processes)

    def files(self, suffix: str) -> list[Path]:
        """The files of its processes with this suffix."""
        paths = (one.stem.with_name(one.stem.name + suffix) for one in self.processes)
        return [path for path in paths if path.exists()]


def worlds_in(folder: Path, *, traces: bool = False) -> list[World]:
    """All worlds whose processes wrote files to the folder of a profile, in order of their begin.

    Raises AssayError if the first record of a profile is damaged. A process without a profile whose
    trace has a damaged first record is left out; with ``traces`` it is an error, too.
    """
    stems = sorted(
        {path.with_suffix("") for suffix in (PROFILE_SUFFIX, TRACE_SUFFIX)
         for path in folder.glob(_FILES + suffix)}
    )  # fmt: skip
    found = []
    for stem in stems:
        try:
            found.append(WorldProcess(stem, _header(stem)))
        except DamagedTrace as error:
            if traces:
                raise error.why from None
    return grouped(found)


def main_world(worlds: Sequence[World]) -> World:
    """The world that a report covers: among worlds that no other program spawned, the one with the
    most time of its ranks; the first one among equal ones.
    """
    return max(worlds, key=lambda one: (not one.spawned, _rank_seconds(one), -one.number))


def chosen_world(worlds: Sequence[World], number: int | None, folder: Path) -> World:
    """The world with this number; for None, the main one. Raises AssayError if there is none."""
    if number is None:
        return main_world(worlds)
    found = next((one for one in worlds if one.number == number), None)
    if found is None:
        raise AssayError(
            f"There is no program {number}: the command ran {len(worlds)} MPI "
            f"program{'s' * (len(worlds) != 1)}.",
            where=str(folder),
            fix=f"Name one from 1 to {len(worlds)}, or leave --program out.",
        )
    return found


def grouped(processes: Sequence[WorldProcess]) -> list[World]:
    """The worlds of these processes, in order of their begin."""
    alike: dict[tuple[str, int, bool], dict[int | None, list[WorldProcess]]] = {}
    for one in sorted(processes, key=lambda each: each.header.begin_wall):
        key = (one.header.world, one.header.ranks, one.header.spawned)
        alike.setdefault(key, defaultdict(list))[one.header.rank].append(one)
    found: list[list[WorldProcess]] = []
    for by_rank in alike.values():
        # Processes without a world (sessions) have no ranks that distinguish them.
        alone = by_rank.pop(None, [])
        if alone:
            found.append(alone)
        every = [by_rank[rank] for rank in sorted(by_rank, key=_first)]
        found += [
            [of_rank[place] for of_rank in every if place < len(of_rank)]
            for place in range(max(map(len, every), default=0))
        ]
    found.sort(key=lambda world: min(one.header.begin_wall for one in world))
    return [World(number, tuple(world)) for number, world in enumerate(found, 1)]


def _first(rank: int | None) -> int:
    return -1 if rank is None else rank


def _rank_seconds(world: World) -> float:
    return sum(one.header.wall for one in world.processes)


def _header(stem: Path) -> ProcessHeader:
    """The world comes from the process's profile; without one (it was killed), from its trace."""
    path = stem.with_name(stem.name + PROFILE_SUFFIX)
    try:
        with path.open("rb") as lines:
            return msgspec.json.decode(next(lines, b""), type=ProcessHeader)
    except FileNotFoundError:
        try:
            trace = read_rank_file(stem.with_name(stem.name + TRACE_SUFFIX), events=False)
        except AssayError as error:
            raise DamagedTrace(error) from None
        return _of_trace(trace.header)
    except OSError as error:
        raise AssayError(f"It can't be read: {error.strerror}.", where=str(path)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AssayError(
            f"The record is damaged: {error}.",
            where=f"{path}:1",
            fix="Profile the program again with `assay profile -- COMMAND`.",
        ) from None


def _of_trace(header: TraceHeader) -> ProcessHeader:
    return ProcessHeader(
        rank=None if header.rank < 0 else header.rank,
        ranks=header.ranks,
        begin_wall=1e-9 * header.begin_wall,
        wall=0.0,
        world=header.world,
        spawned=header.spawned,
        command=header.command,
    )
