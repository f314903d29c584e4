"""Reads the folder of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.errors import AssayError
from assay.plain_files import read_plain, reading
from assay.trace.model import (
    PROFILE_VERSION,
    RUN_SCHEMA,
    CallTotal,
    EndRecord,
    KindTotal,
    NodeRecord,
    OverflowTotal,
    PeerTotal,
    ProfiledRun,
    ProfileRecord,
    ProgramProfile,
    ProgramSummary,
    RankHeader,
    RankProfile,
)
from assay.trace.worlds import PROFILE_SUFFIX, World, chosen_world, worlds_in

RUN_FILE = "run.json"
# The file of a rank, and the name under which it is written.
RANK_FILES, CUT_FILES = "rank-*.jsonl", "rank-*.jsonl.part"
_Description = TypeVar("_Description")
_FIX = "Profile the program again with `assay profile -- COMMAND`."


def read_profile(folder: Path, number: int | None = None) -> ProgramProfile:
    """The profile in a folder. ``number``: number of the program, if the command ran several MPI
    programs; None: the program with the most time of its ranks.

    Raises AssayError if the folder isn't a profile's, if no rank wrote a file, if there is no such
    program, or if a file is damaged (with its line).
    """
    run = read_run(folder)
    worlds = [one for one in worlds_in(folder) if one.files(PROFILE_SUFFIX)]
    if not worlds:
        kept = any(folder.glob("rank-*.trace"))
        raise AssayError(
            "No process of the program wrote a profile."
            + (" Their traces are kept up to the last flush." if kept else ""),
            where=str(folder),
            fix="A profile needs a dynamically linked MPI program that ends by itself or on "
            "SIGTERM. On several hosts, the folder must be on a shared file system.",
        )
    chosen = chosen_world(worlds, number, folder)
    ranks = _ranks_of(chosen)
    return ProgramProfile(
        run=run,
        ranks=ranks,
        absent=_absent(ranks),
        # The file of a rank that has written nothing yet is empty.
        cut=sorted(path.name for path in folder.glob(CUT_FILES) if path.stat().st_size),
        number=chosen.number,
        others=[_summary(one) for one in worlds if one is not chosen],
    )


def all_ranks(folder: Path) -> list[RankProfile]:
    """The profiles of all processes of all programs in a folder. Raises AssayError if a file is
    damaged.
    """
    return [_read_rank(path) for path in sorted(folder.glob(RANK_FILES))]


def _ranks_of(world: World) -> list[RankProfile]:
    return [_read_rank(path) for path in world.files(PROFILE_SUFFIX)]


def _absent(ranks: list[RankProfile]) -> list[int]:
    known = {one.header.rank for one in ranks}
    size = max(one.header.ranks for one in ranks)
    return [rank for rank in range(size) if rank not in known]


def _summary(world: World) -> ProgramSummary:
    ranks = _ranks_of(world)
    whole = sum(one.header.covered for one in ranks)
    return ProgramSummary(
        number=world.number,
        commands=world.commands,
        spawned=world.spawned,
        size=world.size,
        absent=len(_absent(ranks)),
        wall=max(one.header.covered for one in ranks),
        mpi=sum(one.inside for one in ranks) / whole if whole > 0.0 else 0.0,
        messages=sum(peer.messages for one in ranks for peer in one.peers),
    )


def read_description(path: Path, type_: type[_Description], what: str, fix: str) -> _Description:
    """The file that describes its folder, which should be ``what``. Raises AssayError."""
    try:
        return msgspec.json.decode(read_plain(path), type=type_)
    except OSError as error:
        raise AssayError(
            f"This is not {what}: {path.name} can't be read ({error.strerror or error}).",
            where=str(path.parent),
            fix=fix,
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AssayError(f"The file is damaged: {error}.", where=str(path), fix=fix) from None


def read_run(folder: Path) -> ProfiledRun:
    """How the program was run. Raises AssayError if the folder doesn't contain a profile."""
    path = folder / RUN_FILE
    run = read_description(path, ProfiledRun, "the folder of a profile", _FIX)
    if run.schema != RUN_SCHEMA:
        raise AssayError(
            f"The profile has schema {run.schema}; this assay reads {RUN_SCHEMA}.",
            where=str(path),
            fix="Use the assay that wrote it, or profile the program again.",
        )
    return run


def cpu_waits(world: World) -> dict[int, float]:
    """Seconds without a CPU, by rank, for ranks of a world whose profile states them.

    Raises AssayError if a file is damaged.
    """
    headers = (next(_records(path), None) for path in world.files(PROFILE_SUFFIX))
    return {
        one.rank: one.cpu_wait
        for one in headers
        if isinstance(one, RankHeader) and one.rank is not None and one.cpu_wait is not None
    }


def _read_rank(path: Path) -> RankProfile:
    records = list(_records(path))
    header = records[0] if records else None
    if not isinstance(header, RankHeader) or not isinstance(records[-1], EndRecord):
        raise AssayError(
            "The file is incomplete: its first record must be 'profile' and its last 'end'.",
            where=str(path),
            fix=_FIX,
        )
    if header.version != PROFILE_VERSION:
        raise AssayError(
            f"The file has version {header.version}; this assay reads {PROFILE_VERSION}.",
            where=f"{path}:1",
            fix="Use the assay that wrote it, or profile the program again.",
        )
    overflows = [one for one in records if isinstance(one, OverflowTotal) and one.calls]
    return RankProfile(
        header=header,
        kinds=[one for one in records if isinstance(one, KindTotal)],
        calls=[one for one in records if isinstance(one, CallTotal)],
        overflow=overflows[0] if overflows else None,
        peers=[one for one in records if isinstance(one, PeerTotal)],
        node=next((one for one in records if isinstance(one, NodeRecord)), None),
    )


def _records(path: Path) -> Iterator[ProfileRecord]:
    decoder = msgspec.json.Decoder(ProfileRecord)
    try:
        with reading(path) as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record: ProfileRecord = decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise AssayError(
                        f"The record is damaged: {error}.", where=f"{path}:{number}", fix=_FIX
                    ) from None
                _check(record, f"{path}:{number}")
                yield record
    except OSError as error:
        raise AssayError(f"It can't be read: {error.strerror}.", where=str(path)) from None


def _check(record: ProfileRecord, where: str) -> None:
    """Counts and times below 0 are impossible."""
    for name in (
        "calls", "time", "bytes", "messages", "wall", "cpu_wait", "counted", "ranks", "least",
        "size_class", "device_calls", "device_bytes", "online", "cpu_time", "computing", "busy",
        "held", "speed_begin", "speed_end", "alone",
    ):  # fmt: skip
        value = getattr(record, name, None) or 0
        if value < 0:
            raise AssayError(f"'{name}' is {value}, below 0.", where=where, fix=_FIX)
