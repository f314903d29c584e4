"""Reading /proc and /sys below a root. Nothing raises: what can't be read or parsed is None."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOST_BYTES = 8 << 20
_PIECE = 1 << 16
_MOST_CPUS = 1 << 16
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?", re.ASCII)


class Tree:
    """The files below ``root``, which may be a copy of another machine's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._prefix = "" if root == Path("/") else str(root)

    @property
    def live(self) -> bool:
        """Whether this is the running machine, so that system calls give facts, too."""
        return self.root == Path("/")

    def path(self, name: str) -> str:
        """The path of a file below the root; ".." is removed from its name."""
        if ".." in name:
            name = "/".join(part for part in name.split("/") if part != "..")
        return f"{self._prefix}/{name.lstrip('/')}"

    def text(self, name: str) -> str | None:
        """The file's text, up to 8 MiB of it; None if there is no such file or it can't be read."""
        try:
            # Non-blocking: opening a pipe would wait for its writer.
            file = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            # In small pieces: files of /proc/sys refuse reads of megabytes.
            pieces: list[bytes] = []
            while (piece := os.read(file, _PIECE)) and len(pieces) * _PIECE < _MOST_BYTES:
                pieces.append(piece)
            return b"".join(pieces).decode("utf-8", "replace")
        except OSError:
            return None
        finally:
            os.close(file)

    def word(self, name: str) -> str | None:
        """The first line of the file, stripped; None if empty."""
        text = self.text(name)
        lines = text.replace("\0", " ").strip().splitlines() if text else []
        return lines[0].strip() or None if lines else None

    def integer(self, name: str) -> int | None:
        """The integer in the file."""
        return to_integer(self.word(name))

    def cpus(self, name: str) -> list[int] | None:
        """The CPUs in the file, a list in the kernel's notation."""
        return to_cpus(self.word(name))

    def names(self, name: str) -> list[str]:
        """The names in a folder, in natural order; empty if there is no such folder."""
        try:
            found = [entry.name for entry in Path(self.path(name)).iterdir()]
        except (OSError, ValueError):
            return []
        return sorted(found, key=_natural)

    def exists(self, name: str) -> bool:
        """Whether a file, folder or link with that name exists."""
        try:
            return os.path.lexists(self.path(name))
        except (OSError, ValueError):
            return False

    def link(self, name: str) -> str | None:
        """The target of a symbolic link, as text; None if it is not a link."""
        try:
            return str(Path(self.path(name)).readlink())
        except (OSError, ValueError):
            return None


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A key that puts cpu10 after cpu9."""
    parts = re.findall(r"\d{1,18}|\D+|\d+", name, re.ASCII)
    return tuple((0, int(p)) if p.isascii() and p.isdigit() else (1, p) for p in parts)


def to_integer(text: str | None) -> int | None:
    """An integer in decimal or, after 0x, in hexadecimal digits."""
    if text is None:
        return None
    text = text.strip()
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,15}", text):
        return int(text, 16)
    return int(text) if _INTEGER.fullmatch(text) else None


def to_number(text: str | None) -> float | None:
    """A decimal number without an exponent."""
    return float(text) if text is not None and _NUMBER.fullmatch(text.strip()) else None


def to_cpus(text: str | None) -> list[int] | None:
    """The kernel's list notation: ``0-3,8`` is [0, 1, 2, 3, 8]; None if invalid."""
    if text is None:
        return None
    found: set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip(), re.ASCII)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < _MOST_CPUS:
            return None
        found.update(range(first, last + 1))
    return sorted(found)


def from_cpus(cpus: list[int]) -> str:
    """The kernel's list notation of these CPUs: [0, 1, 2, 3, 8] is ``0-3,8``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1][-1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def chosen(text: str | None) -> str | None:
    """The word in brackets of the kernel's choice notation: ``always [madvise] never``."""
    match = re.search(r"\[([\w+-]+)\]", text or "")
    return match[1] if match else None


def fields(text: str | None) -> dict[str, str]:
    """``Key: value`` lines as a mapping; of a repeated key the first line counts."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip():
            found.setdefault(key.strip(), value.strip())
    return found
