"""The cache of builds: a folder per content, with a seal that shows whether it is complete."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from assay.cache import cache_folder, cannot_write_cache, check_trusted
from assay.errors import AssayError
from assay.locking import excludes_others, take_lock

BUILD_LOG = "build.log"
# The content from which the key of a build is made.
CONTENT = "build.json"
# The file with the digest of each other file of a build, by name.
SEAL = "seal.json"
UNFINISHED = ".building-"
# The folder of an interrupted build that the next builder continues (``partial.py``).
PARTIAL = ".partial-"
# The same folder while no build uses it: files compiled for a build of some kernels.
OBJECTS = ".objects-"
# Seconds after which the folder of a killed builder is removed, and seconds after which the folder
# of an interrupted build is removed: a job that continues it may wait in a queue for days.
_STALE, _FORGOTTEN = 24 * 3600.0, 30 * 24 * 3600.0
# Seconds to wait for another process that builds the same content, and the longest pause between
# two attempts: all nodes of a cluster may wait for one lock of a file server.
_PATIENCE, _SLOWEST = 3600.0, 2.0


def key_of(content: Mapping[str, object]) -> str:
    """The name of the folder for a build of this content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def copy_sources(sources: Path, to: Path) -> Path:
    """A copy without hidden files; raises AssayError if it can't be made."""
    try:
        return Path(shutil.copytree(sources, to, ignore=shutil.ignore_patterns(".*")))
    except (OSError, shutil.Error) as error:
        raise AssayError(
            f"The native sources can't be copied: {_reason(error)}.",
            where=str(sources),
            fix="Free space for the build cache, or set ASSAY_CACHE to a folder with free space.",
        ) from None


def is_intact(folder: Path, executable: str) -> bool:
    """Whether a folder holds a build of that executable that agrees with its seal.

    Raises AssayError if other users may write to it.
    """
    if not folder.is_dir():
        return False
    check_trusted(folder)
    try:
        for path in folder.iterdir():
            check_trusted(path)
        seal = msgspec.json.decode((folder / SEAL).read_bytes(), type=dict[str, str])
        names = {path.name for path in folder.iterdir() if path.name != SEAL}
        return (
            executable in seal
            and names == set(seal)
            and all(digest_of(folder / name) == digest for name, digest in seal.items())
        )
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False


def digest_of(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def building_alone(key: str, waiting: Callable[[str], None]) -> Iterator[int | None]:
    """Let one process at a time build the content with this key, on all nodes that share the cache.

    Yields the descriptor with the lock, which compilers inherit, because they may outlive
    this process. Yields None if other processes may also build, because the locks of the file
    system don't reach other nodes.

    ``waiting`` is called once, with "HOST, process PID", if another process builds. The body runs
    without a lock on file systems that have none, and after ``_PATIENCE`` seconds: concurrent
    builds are harmless. Raises AssayError if the cache can't be written.
    """
    path = cache_folder("locks") / key
    holder: list[str] = []

    def tell() -> None:
        if not holder:
            with contextlib.suppress(OSError):
                holder.append(path.read_text("utf-8", "replace").strip())
            holder.append("another process")
            waiting(next(filter(None, holder)))

    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write_cache(path, error) from None
    try:
        alone = False
        try:
            if take_lock(descriptor, _PATIENCE, slowest=_SLOWEST, waiting=tell):
                alone = excludes_others(descriptor, path)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.uname().nodename}, process {os.getpid()}".encode(), 0)
        except OSError as error:
            raise cannot_write_cache(path, error) from None
        yield descriptor if alone else None
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def working_folder(builds: Path) -> Iterator[Path]:
    """A temporary folder in the builds' folder, removed afterwards even after an error."""
    try:
        _clear_stale(builds)
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=builds))
    except OSError as error:
        raise cannot_write_cache(builds, error) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clear_stale(builds: Path) -> None:
    for prefix, age in ((UNFINISHED, _STALE), (PARTIAL, _FORGOTTEN), (OBJECTS, _FORGOTTEN)):
        for folder in builds.glob(f"{prefix}*"):
            with contextlib.suppress(OSError):
                used = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
                if time.time() - used > age:
                    shutil.rmtree(folder, ignore_errors=True)


def install(
    files: Iterable[Path], content: Mapping[str, object], staged: Path, final: Path
) -> None:
    """Put a build in place by one rename: its files, the first of which is the executable, and
    ``build.json``. Files that don't exist are left out.

    ``staged``: a new folder on the same file system. If another process has put the build there in
    the meantime, that build stays. Raises AssayError if the cache can't be written.
    """
    built = list(files)
    executable = built[0].name
    try:
        staged.mkdir()
        for file in built:
            if file.exists():
                shutil.copy2(file, staged / file.name)
        (staged / CONTENT).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
        seal = {path.name: digest_of(path) for path in sorted(staged.iterdir())}
        (staged / SEAL).write_text(json.dumps(seal, indent=2) + "\n", "utf-8")
        staged.chmod(0o755)
        for path in staged.iterdir():
            path.chmod(0o755 if path.name == executable else 0o644)
        for path in (*staged.iterdir(), staged):
            _flush(path)
        with contextlib.suppress(FileExistsError):
            _rename(staged, final, executable)
    except OSError as error:
        raise cannot_write_cache(final.parent, error) from None


def _rename(staged: Path, final: Path, executable: str) -> None:
    """``rename``; raises FileExistsError if another process has put an intact build there.

    A build that differs from its seal is moved away first. Other failures are raised as they are.
    """
    try:
        staged.rename(final)
    except OSError as error:
        if is_intact(final, executable):
            raise FileExistsError(str(final)) from None
        if not final.exists():
            raise error
        final.rename(staged.with_name("damaged"))
        staged.rename(final)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    """The system's message; for a copy of many files, the message about the first one."""
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][-1])
    return error.strerror or str(error)
