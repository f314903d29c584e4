"""Functions and lines of addresses, with functions that the compiler inlined: by addr2line
(binutils) or llvm-symbolizer."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from assay.trace.sites.finding import known_line

# Debugging information of large programs takes seconds to read.
_PATIENCE = 120.0
_TOOLS: tuple[tuple[str, ...], ...] = (
    ("addr2line", "-a", "-f", "-i"),
    ("llvm-symbolizer", "--output-style=GNU", "--no-demangle", "-a", "-f", "-i"),
)
_ADDRESS = re.compile(r"0x[0-9a-f]+")
# Linkage name of the function, file and line; "" and 0 if unknown.
Line = tuple[str, str, int]


def inlined_lines(path: Path, addresses: Sequence[int]) -> dict[int, list[Line]]:
    """The functions at each address, innermost first: all but the last are inlined. Empty without
    a tool, or if it fails."""
    for name, *options in _TOOLS:
        tool = shutil.which(name)
        if tool is None:
            continue
        try:
            done = subprocess.run(
                [tool, *options, "-e", str(path)],
                input="".join(f"{address:#x}\n" for address in addresses),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        found = _read(done.stdout)
        if done.returncode == 0 and found:
            return found
    return {}


def _read(text: str) -> dict[int, list[Line]]:
    """From an address, and pairs of lines: a function and its "FILE:LINE"."""
    found: dict[int, list[Line]] = {}
    chain: list[Line] = []
    lines = iter(text.splitlines())
    for line in lines:
        if _ADDRESS.fullmatch(line):
            chain = found.setdefault(int(line, 16), [])
        else:
            chain.append(known_line(line, next(lines, "")))
    return found
