"""The programs that are compared with assay: their record, and the reasons to refuse one.

A peer is recorded by the SHA-256 of its executable, its source and the system's setting of huge
pages, so that a comparison can be repeated with the same program. Executables that contain
checkpointing code are refused, and so are executables that write files into their folder or working
folder: their time is not the benchmark's.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common import PeerError

# glibc then requests huge pages for all memory that malloc maps (glibc 2.35 and newer).
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
# Names in checkpointing libraries and in programs with checkpoints of their own.
_CHECKPOINTING = re.compile(rb"check_?point|\bckpt|dmtcp|libcriu|scr_need_|veloc_", re.I)


@dataclass(frozen=True)
class Peer:
    """An executable. ``source``: where its source is from, as given by --peer-source.

    ``huge_pages``: the system's setting of transparent huge pages. ``settings``: the environment
    with which its numbers were taken.
    """

    name: str
    sha256: str
    source: str
    huge_pages: str
    settings: Mapping[str, str] = field(default_factory=dict)


def huge_page_setting(path: Path = _SETTING) -> str:
    """``always``, ``madvise`` or ``never``; "unknown" if the system does not report it."""
    try:
        found = re.search(r"\[(\w+)\]", path.read_text())
    except OSError:
        return "unknown"
    return found[1] if found else "unknown"


def peer_of(program: Path, source: str, settings: Mapping[str, str] | None = None) -> Peer:
    """The record of an executable. Raises PeerError if it is refused, or cannot be read."""
    try:
        content = program.read_bytes()
    except OSError as error:
        raise PeerError(f"{program.name}: {error.strerror}.") from error
    found = _CHECKPOINTING.search(content)
    if found:
        word = found[0].decode(errors="replace")
        raise PeerError(f"{program.name} holds checkpointing code ('{word}'), and is refused.")
    digest = hashlib.sha256(content).hexdigest()
    return Peer(program.name, digest, source, huge_page_setting(), dict(settings or {}))


@contextmanager
def nothing_written(program: Path, *, may_write: bool = False) -> Iterator[Path]:
    """A new folder to run ``program`` in.

    Raises PeerError afterwards if the program's own folder has new or changed files or, unless
    ``may_write``, the new one has any.
    """
    before = _files(program.parent)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        yield Path(folder)
        written = [] if may_write else sorted(_files(Path(folder)))
    after = _files(program.parent)
    written += sorted(name for name, state in after.items() if before.get(name) != state)
    if written:
        raise PeerError(f"{program.name} writes files ({', '.join(written[:3])}), and is refused.")


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Time of change and size of each file, by its path below ``folder``."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            status = path.stat()
            found[str(path.relative_to(folder))] = (status.st_mtime_ns, status.st_size)
    return found
