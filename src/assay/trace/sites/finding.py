"""Names the call sites of a profile: functions from the symbol tables, lines by addr2line."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.trace.model import RankProfile, SourcePlace
from assay.trace.sites.demangle import demangled
from assay.trace.sites.elf import ElfFunctions, read_functions

# Debugging information of large programs takes seconds to read.
_PATIENCE = 120.0


def find_places(ranks: Iterable[RankProfile], folder: Path) -> list[SourcePlace]:
    """The places of all call sites that can be named. Relative images are relative to ``folder``.

    Lines of source need debugging information (``-g``) and addr2line (binutils).
    """
    found: dict[tuple[str, int], SourcePlace] = {}
    offsets: dict[str, set[int]] = defaultdict(set)
    for call in (call for rank in ranks for call in rank.calls):
        if call.python:
            found[call.image, call.offset] = python_place(call.image, call.offset, call.python)
        else:
            offsets[call.image].add(call.offset)
    places = [
        place
        for image in sorted(offsets)
        for place in _places(image, folder / image, sorted(offsets[image]))
    ]
    return [*found.values(), *places]


def python_place(file: str, line: int, function: str) -> SourcePlace:
    """A line of Python; the offset is the number of the line."""
    return SourcePlace(file, line, function, file, line)


def _places(image: str, path: Path, offsets: Sequence[int]) -> list[SourcePlace]:
    functions = read_functions(path)
    if functions is None:
        return []
    # A return address lies after its call, which may be the last instruction of its function or
    # line.
    addresses = [functions.base + max(offset - 1, 0) for offset in offsets]
    lines = _lines(path, addresses)
    return [
        _place(image, offset, address, functions, lines.get(address, ("", "", 0)))
        for offset, address in zip(offsets, addresses, strict=True)
    ]


def _place(
    image: str, offset: int, address: int, functions: ElfFunctions, known: tuple[str, str, int]
) -> SourcePlace:
    """Uses the debugging information, which includes inlined functions, else the symbol tables.
    Without debugging information, addr2line uses the symbol before the address, although the
    address may lie far after its function.
    """
    function, file, line = known
    symbol = functions.at(address)
    if not line:
        function = symbol
    return SourcePlace(image, offset, demangled(function or symbol), file, line)


def _lines(path: Path, addresses: Sequence[int]) -> dict[int, tuple[str, str, int]]:
    """Linkage name of the function, file and line of each address; empty without addr2line."""
    tool = shutil.which("addr2line")
    if tool is None:
        return {}
    try:
        done = subprocess.run(
            [tool, "-f", "-e", str(path)],
            input="".join(f"{address:#x}\n" for address in addresses),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != 2 * len(addresses):
        return {}
    return {
        address: known_line(function, where)
        for address, function, where in zip(addresses, lines[::2], lines[1::2], strict=True)
    }


def known_line(function: str, where: str) -> tuple[str, str, int]:
    """Linkage name, file and line from two lines of addr2line; "" and 0 if unknown."""
    file, _, line = where.partition(" (discriminator")[0].rpartition(":")
    number = int(line) if line.isdigit() else 0
    if file.startswith("?"):
        file, number = "", 0
    return "" if function.startswith("?") else function, file, number
