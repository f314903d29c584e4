"""The names of all sampled places, found when the program ends: it may be recompiled later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.plain_files import read_plain
from assay.trace.samples.activities import activity_of, shown
from assay.trace.samples.files import SAMPLE_FILES, ProcessSamples, read_process
from assay.trace.samples.model import Activity, Place
from assay.trace.samples.naming import PlaceNames, mapped, name_addresses

NAMES_FILE = "samples.json"
NAMES_SCHEMA = 1
_FIX = "Remove it, so that the names are found again."


class SampleNames(msgspec.Struct, frozen=True):
    """``samples.json`` in the folder of a profile."""

    schema: int
    places: list[Place]
    #: Each stack once, as indices of ``places``, outermost first.
    stacks: list[tuple[int, ...]]
    #: The activity on each stack outside of calls to MPI.
    activities: list[Activity]
    #: By the name of a process's file: the index in ``stacks`` of each of its stacks.
    processes: dict[str, list[int]]
    #: Files in which no function has a name.
    nameless: list[str] = []


def sampled_processes(folder: Path) -> list[ProcessSamples]:
    """The samples of all processes of a profile, by begin. Raises AssayError if one is damaged."""
    found = [read_process(path) for path in sorted(folder.glob(SAMPLE_FILES))]
    return sorted(found, key=lambda one: (one.header.begin_wall, one.path.name))


def find_names(processes: Sequence[ProcessSamples]) -> SampleNames:
    """The names of all places; uses the executables and libraries, and addr2line."""
    names = name_addresses(processes)
    places: dict[Place, int] = {}
    stacks: dict[tuple[tuple[int, ...], Activity], int] = {}
    by_process = {}
    for process in processes:
        numbers = []
        for stack in process.stacks:
            every = tuple(_places(process, names, stack.map_number, stack.addresses))
            activity = activity_of(every, inside=False)
            indices = tuple(places.setdefault(one, len(places)) for one in shown(every))
            numbers.append(stacks.setdefault((indices, activity), len(stacks)))
        by_process[process.path.name] = numbers
    return SampleNames(
        schema=NAMES_SCHEMA,
        places=list(places),
        stacks=[stack for stack, _ in stacks],
        activities=[activity for _, activity in stacks],
        processes=by_process,
        nameless=sorted(names.nameless),
    )


def _places(
    process: ProcessSamples, names: PlaceNames, map_number: int, addresses: Sequence[int]
) -> Iterable[Place]:
    """Of a stack, outermost first."""
    for address in reversed(addresses):
        yield from names.places[mapped(process, map_number, address)]


def read_names(folder: Path) -> SampleNames | None:
    """The kept names; None if there are none. Raises AssayError if the file is damaged."""
    path = folder / NAMES_FILE
    try:
        found = msgspec.json.decode(read_plain(path), type=SampleNames)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AssayError(f"It can't be read: {error.strerror}.", where=str(path)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AssayError(f"The file is damaged: {error}.", where=str(path), fix=_FIX) from None
    if found.schema != NAMES_SCHEMA:
        raise AssayError(
            f"The names of samples have schema {found.schema}; this assay reads {NAMES_SCHEMA}.",
            where=str(path),
            fix=_FIX,
        )
    return found
