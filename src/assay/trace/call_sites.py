"""Names the call sites of a profile from the program's debugging information, by addr2line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from assay.trace.model import RankProfile, SourcePlace

# Debugging information of large programs takes seconds to read.
_PATIENCE = 120.0


def find_places(ranks: Iterable[RankProfile], folder: Path) -> list[SourcePlace]:
    """The places of all call sites that can be named; relative images are those of ``folder``.

    Empty without addr2line (binutils).
    """
    sites = {(call.image, call.offset) for rank in ranks for call in rank.calls}
    tool = shutil.which("addr2line")
    if tool is None:
        return []
    found = []
    for image in sorted({image for image, _ in sites}):
        offsets = sorted(offset for name, offset in sites if name == image)
        found += _places(tool, image, folder / image, offsets)
    return found


def _places(tool: str, image: str, path: Path, offsets: list[int]) -> list[SourcePlace]:
    # A return address lies behind its call, which may be the last of its line.
    addresses = "".join(f"{max(offset - 1, 0):#x}\n" for offset in offsets)
    try:
        done = subprocess.run(
            [tool, "-f", "-C", "-e", str(path)],
            input=addresses,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != 2 * len(offsets):
        return []
    return [
        _place(image, offset, function, where)
        for offset, function, where in zip(offsets, lines[::2], lines[1::2], strict=True)
    ]


def _place(image: str, offset: int, function: str, where: str) -> SourcePlace:
    file, _, line = where.partition(" (discriminator")[0].rpartition(":")
    known = not file.startswith("?")
    return SourcePlace(
        image,
        offset,
        "" if function.startswith("?") else function,
        file if known else "",
        int(line) if known and line.isdigit() else 0,
    )
