"""The places of sampled addresses, found after the run (docs/formats/samples.md)."""

from __future__ import annotations

import re
import socket
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path

from assay.plain_files import read_plain
from assay.trace.samples.families import ancestors
from assay.trace.samples.files import PYTHON_MARK, ProcessSamples
from assay.trace.samples.inlined import Line, inlined_lines
from assay.trace.samples.mapped import RUN_TIME_CODE, MappedAddress
from assay.trace.samples.model import Place
from assay.trace.sites.demangle import all_demangled
from assay.trace.sites.elf import read_functions

PYTHON = "python"
# An entry of Python's perf trampoline (from 3.12 on, "Python support for the Linux perf profiler"
# in its documentation).
_PYTHON_ENTRY = re.compile(r"py::(?P<function>.*?):(?P<file>.*)")


@dataclass
class PlaceNames:
    """The places of addresses; outermost first, since a function may have inlined others."""

    places: dict[MappedAddress, tuple[Place, ...]] = field(default_factory=dict)
    #: Paths of files without names of functions: stripped, unreadable, or gone.
    nameless: set[str] = field(default_factory=set)


def name_addresses(processes: Iterable[ProcessSamples]) -> PlaceNames:
    """The places of all addresses in the stacks of these processes."""
    processes = list(processes)
    families = ancestors(processes)
    found = PlaceNames()
    offsets: dict[str, set[int]] = defaultdict(set)
    for process in processes:
        compiled = [
            _compiled_code(one.compiled or _names_left(one))
            for one in (process, *families[process.path.name])
        ]
        for stack in process.stacks:
            for address in stack.addresses:
                where = mapped(process, stack.map_number, address)
                if address >= PYTHON_MARK:
                    found.places[where] = _python_place(process, address)
                elif where.path == RUN_TIME_CODE:
                    # An address that is neither mapped nor named comes from a wrong step.
                    known = _is_mapped(process, address)
                    found.places[where] = _compiled_place(compiled, address, known=known)
                else:
                    offsets[where.path].add(where.offset)
    for path in sorted(offsets):
        _name_file(path, offsets[path], found)
    return found


def mapped(process: ProcessSamples, map_number: int, address: int) -> MappedAddress:
    """Where an address of a stack is. Maps are written after some delay, so a later one is used if
    the stack's own map lacks the address, and then an earlier one. What no map has was compiled at
    run time, and removed again."""
    if address >= PYTHON_MARK:
        return MappedAddress(PYTHON, address, process.path.name)
    maps = process.maps
    for number in (*range(map_number, len(maps)), *range(map_number - 1, -1, -1)):
        where: MappedAddress | None = maps[number].find(address)
        if where is not None and where.path != RUN_TIME_CODE:
            return where
    return MappedAddress(RUN_TIME_CODE, address, process.path.name)


def _python_place(process: ProcessSamples, address: int) -> tuple[Place, ...]:
    """A function of Python before 3.12; none if its record was lost with a killed process."""
    one = process.python.get(address - PYTHON_MARK)
    return () if one is None else (Place(one.function, PYTHON, one.file),)


def _is_mapped(process: ProcessSamples, address: int) -> bool:
    return any(one.find(address) is not None for one in process.maps)


def _name_file(path: str, offsets: set[int], to: PlaceNames) -> None:
    module = Path(path).name
    functions = read_functions(Path(path)) if path.startswith("/") else None
    if functions is None:
        to.nameless.add(path)
        for offset in offsets:
            to.places[MappedAddress(path, offset)] = (Place("", module, address=offset),)
        return
    addresses = {offset: functions.address_of(offset) for offset in offsets}
    lines: Mapping[int, list[Line]] = {}
    if functions.has_lines:
        lines = inlined_lines(Path(path), sorted({one for one in addresses.values() if one >= 0}))
    if not functions.names:
        to.nameless.add(path)
    symbols = {address: functions.at(address) for address in addresses.values()}
    inside = (function for chain in lines.values() for function, _, _ in chain)
    readable = all_demangled([*symbols.values(), *inside])
    for offset, address in addresses.items():
        chain = [one for one in lines.get(address, []) if one[2]]
        if chain:
            # The last one is the function itself; its symbol has the whole linkage name.
            outer = (symbols[address] or chain[-1][0], *chain[-1][1:])
            places = tuple(
                Place(readable[function], module, file, line, inlined=number > 0)
                for number, (function, file, line) in enumerate((outer, *chain[-2::-1]))
            )
        else:
            name = readable[symbols[address]]
            places = (Place(name, module, address=0 if name else max(address, 0)),)
        to.places[MappedAddress(path, offset)] = places


# Code that was compiled at run time: begins, ends and names, in order of begin.
_Compiled = tuple[list[int], list[int], list[str]]


def _names_left(process: ProcessSamples) -> str:
    """The names that a process left on this host when it was killed, in the file for perf."""
    path = Path(f"/tmp/perf-{process.header.process}.map")
    if process.end is not None or process.header.host != socket.gethostname():
        return ""
    try:
        return read_plain(path).decode("utf-8", "replace") if path.owner() == getuser() else ""
    except (OSError, KeyError):
        return ""


def _compiled_code(text: str) -> _Compiled:
    rows = []
    for line in text.splitlines():
        words = line.split(None, 2)
        try:
            rows.append((int(words[0], 16), int(words[1], 16), words[2]))
        except (ValueError, IndexError):
            continue
    rows.sort()
    return [row[0] for row in rows], [row[0] + row[1] for row in rows], [row[2] for row in rows]


def _compiled_place(codes: Sequence[_Compiled], address: int, *, known: bool) -> tuple[Place, ...]:
    """The place of code without a file; none if it is neither named nor ``known``. ``codes``: of
    the process, and then of the processes that forked it."""
    for begins, ends, names in codes:
        place = bisect_right(begins, address) - 1
        if place < 0 or address >= ends[place]:
            continue
        entry = _PYTHON_ENTRY.fullmatch(names[place])
        if entry is not None:
            return (Place(entry["function"], PYTHON, entry["file"]),)
        return (Place(names[place], RUN_TIME_CODE),)
    return (Place("", RUN_TIME_CODE, address=address),) if known else ()
