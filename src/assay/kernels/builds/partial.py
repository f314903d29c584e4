"""Builds that were interrupted or hold only some kernels, and that the next builder continues.

A folder per key holds a copy of the sources, CMake's folder, and a journal with a line per compiled
file. Ninja compiles the missing files. It trusts existing files. Therefore every object file that
the journal does not list with the same digest is removed before a build continues: a failed node or
a full file system leaves files that look complete. Between builds of some kernels the folder has
another name (``set_aside``), so that it is not reported as interrupted.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.cache import cache_home, cannot_write_cache, check_trusted
from assay.decoding import UNREADABLE
from assay.kernels.builds.identity import source_digest
from assay.kernels.builds.sealed import OBJECTS, PARTIAL, copy_sources, digest_of

_JOURNAL = "journal.jsonl"
_ABOUT = "about.json"
# Files that a compiler writes: objects, and precompiled headers of gcc and clang.
_COMPILED = (".o", ".gch", ".pch")
_STEP = re.compile(r"Building \w+ object (\S+)")
# CMake's findings are not reused, since a killed CMake leaves incomplete files.
_CMAKE_STATE = ("CMakeCache.txt", "build.ninja")


class CompiledFile(msgspec.Struct, frozen=True):
    """A line of the journal: a file, its SHA-256, the number of steps done after it, the total
    number of steps, and the elapsed time of the build, s.
    """

    file: str
    digest: str
    done: int
    total: int
    seconds: float


class About(msgspec.Struct, frozen=True):
    """A build's subject: the toolchain's name, and a digest of the target processor (None if the
    flags name one).
    """

    toolchain: str
    identity: str | None
    #: Digest of the sources; empty in builds of earlier versions.
    sources: str = ""

    def replaces(self, other: About) -> bool:
        """Whether it is the same build from other sources."""
        same = (self.toolchain, self.identity) == (other.toolchain, other.identity)
        return same and self.sources != other.sources


class PartialProgress(msgspec.Struct, frozen=True):
    """Progress of an interrupted build, in steps, and its time so far, s."""

    about: About
    done: int
    total: int
    seconds: float

    @property
    def share(self) -> float:
        """The completed share, below 1."""
        return min(self.done / max(self.total, 1), 0.99)


class PartialBuild:
    """A build in a folder that is kept until the build is complete.

    One process at a time may use it; ``lock``: that process's descriptor of the lock, for the
    processes that it starts. Raises AssayError if other users may write to the folder, or if it
    can't be written.
    """

    def __init__(self, folder: Path, about: About, sources: Path, lock: int | None = None) -> None:
        self.lock = lock
        self._folder = folder
        self._about = about
        self._sources = sources
        self.sources = folder / "native"
        self.work = folder / "work"
        self.files: frozenset[str] = frozenset()  # compiled earlier, relative to ``work``
        self._before = 0.0
        self._began = time.monotonic()
        self._prepare()

    @property
    def kept(self) -> int:
        """The number of files that were compiled earlier."""
        return len(self.files)

    def _prepare(self) -> None:
        try:
            with contextlib.suppress(OSError):  # there is none, or there is an interrupted build
                _aside(self._folder).rename(self._folder)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            check_trusted(self._folder)
            if not self._same_sources():
                self.restart()
                return
            journal = _journal(self._folder)
            self.files = self._keep({line.file: line.digest for line in journal})
            self._before = journal[-1].seconds if journal else 0.0
        except OSError as error:
            raise cannot_write_cache(self._folder, error) from None

    def restart(self) -> None:
        """Remove everything, and copy the sources. Raises AssayError if that fails."""
        try:
            for path in self._folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            (self._folder / _ABOUT).write_bytes(msgspec.json.encode(self._about))
        except OSError as error:
            raise cannot_write_cache(self._folder, error) from None
        copy_sources(self._sources, self.sources)
        self.files, self._before = frozenset(), 0.0

    def compiled(self, step: str, done: int, total: int) -> None:
        """Record a step that Ninja completed, and the total number; ``step``: its line."""
        named = _STEP.fullmatch(step.strip())
        if named is None or not named[1].endswith(_COMPILED):
            return
        with contextlib.suppress(OSError):  # the file is then compiled again
            digest = digest_of(self.work / named[1])
            line = CompiledFile(named[1], digest, done, total, self.seconds)
            with (self._folder / _JOURNAL).open("ab") as file:
                file.write(msgspec.json.encode(line) + b"\n")

    @property
    def seconds(self) -> float:
        """Elapsed time of the build so far, s."""
        return self._before + time.monotonic() - self._began

    def remove(self) -> None:
        """Remove the folder: the build is complete or impossible."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def set_aside(self, bin_: Path) -> None:
        """Keep the folder for a build of more kernels; folders for other sources go to ``bin_``."""
        for folder in self._folder.parent.glob(f"{OBJECTS}*"):
            about = _about(folder)
            if about is None or self._about.replaces(about):
                with contextlib.suppress(OSError):  # another process has moved it
                    folder.rename(bin_ / folder.name)
        with contextlib.suppress(OSError):
            self._folder.rename(_aside(self._folder))

    def _same_sources(self) -> bool:
        try:
            return source_digest(self.sources) == source_digest(self._sources)
        except OSError:
            return False

    def _keep(self, known: dict[str, str]) -> frozenset[str]:
        """Remove files that may be damaged; returns the remaining compiled files."""
        kept: set[str] = set()
        for path in sorted(self.work.rglob("*")) if self.work.is_dir() else []:
            if path.is_dir() and not path.is_symlink():
                continue
            if path.suffix in _COMPILED:
                name = path.relative_to(self.work).as_posix()
                whole = not path.is_symlink() and digest_of(path) == known.get(name)
                if whole:
                    kept.add(name)
                    continue
            elif path.name not in _CMAKE_STATE and path.suffix != ".so":
                continue
            path.unlink()
        return frozenset(kept)


def interrupted_builds() -> dict[str, PartialProgress]:
    """The interrupted builds in the cache, by key."""
    found = {}
    for folder in (cache_home() / "builds").glob(f"{PARTIAL}*"):
        journal = _journal(folder)
        about = _about(folder)
        if about is not None:
            last = journal[-1] if journal else CompiledFile("", "", 0, 0, 0.0)
            key = folder.name.removeprefix(PARTIAL)
            found[key] = PartialProgress(about, last.done, last.total, last.seconds)
    return found


def _aside(folder: Path) -> Path:
    return folder.with_name(folder.name.replace(PARTIAL, OBJECTS))


def _about(folder: Path) -> About | None:
    try:
        return msgspec.json.decode((folder / _ABOUT).read_bytes(), type=About)
    except (OSError, *UNREADABLE):
        return None


def _journal(folder: Path) -> list[CompiledFile]:
    """The complete lines of a journal."""
    return list(_lines(folder / _JOURNAL))


def _lines(path: Path) -> Iterator[CompiledFile]:
    try:
        content = path.read_bytes()
    except OSError:
        return
    for line in content.split(b"\n"):
        with contextlib.suppress(*UNREADABLE):
            yield msgspec.json.decode(line, type=CompiledFile)
