"""The folder of a site: refused if it is something else, locked, and changed as a whole.

A build writes all new pages under temporary names first. Then it renames them, pages before the
pages that link to them, and removes old pages last. A build that ends early leaves the old pages,
and the next build removes its temporary files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.locking import take_lock
from assay.plain_files import new_folder, open_plain, plain_folder, read_plain
from assay.records.files import OUTPUT, cannot_write, clear_leftovers, temporary_prefix
from assay.report.site.model import SITE_SCHEMA, SiteState

DATA = ".assay-site"
_STATE = "site.msgpack"
_LOCK = "lock"
# Seconds that a build waits for another one.
PATIENCE = 600.0
# The page that links to the others is replaced last.
FIRST_PAGE = "index.html"


# Names of pages; others in a damaged state are not removed.
_PAGE = re.compile(r"(?:[a-z0-9_-][a-z0-9_.-]*/)*[a-z0-9_-][a-z0-9_.-]*")


class _Made(msgspec.Struct):
    """The fields of a state that all versions have."""

    schema: int = 0
    version: str = ""
    pages: dict[str, str] = {}


class SiteFolder:
    """A site on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / DATA

    @contextlib.contextmanager
    def opened(self, *, patience: float = PATIENCE) -> Iterator[None]:
        """Create the folder if it is missing, and lock it.

        Raises AssayError if it has other content, can't be written, or is locked for longer than
        ``patience`` seconds.
        """
        self._check()
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            descriptor = open_plain(plain_folder(self.data) / _LOCK, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise cannot_write(self.path, error, OUTPUT) from None
        try:
            if not take_lock(descriptor, patience):
                raise AssayError(
                    "Another assay builds this site.", where=str(self.path), fix="Wait for it."
                )
            clear_leftovers(self.data)
            yield
        finally:
            os.close(descriptor)

    def _check(self) -> None:
        """Raises AssayError if the folder is something else."""
        try:
            content = sorted(os.listdir(self.path))  # noqa: PTH208
        except FileNotFoundError:
            return
        except OSError as error:
            raise cannot_write(self.path, error, OUTPUT) from None
        if content and not (self.data.is_dir() and not self.data.is_symlink()):
            raise AssayError(
                "The folder is not a site of assay, so nothing in it is replaced.",
                where=str(self.path),
                fix="Name a new or an empty folder with --output DIR.",
            )

    def state(self, version: str) -> SiteState:
        """What the last build knew; nothing if there was none, or by another version."""
        try:
            content = read_plain(self.data / _STATE)
            made = msgspec.msgpack.decode(content, type=_Made)
            if made.schema == SITE_SCHEMA and made.version == version:
                return msgspec.msgpack.decode(content, type=SiteState)
        except (OSError, *UNREADABLE):
            made = _Made()
        # Its pages are replaced, or removed if they no longer exist.
        return SiteState(SITE_SCHEMA, version, pages=dict.fromkeys(made.pages, ""))

    def replace(self, pages: Mapping[str, str | None], files: Mapping[str, bytes]) -> None:
        """Write pages, and remove those that are None; then write ``files`` of the site's data.

        Raises AssayError if something can't be written; then no page has changed.
        """
        try:
            with self._staged(pages, files) as staged:
                for name in sorted(staged, key=_order):
                    staged[name].replace(self._target(name))
        except OSError as error:
            raise cannot_write(Path(error.filename or self.path), error, OUTPUT) from None
        for name in [name for name, page in pages.items() if page is None]:
            self._remove(name)

    def encoded(self, state: SiteState) -> tuple[str, bytes]:
        """Name and content of the file that ``state`` reads."""
        return _STATE, msgspec.msgpack.encode(state)

    def forget(self, files: Iterable[str]) -> None:
        """Remove files of the site's data."""
        for name in files:
            if _PAGE.fullmatch(name):
                with contextlib.suppress(OSError):
                    (self.data / name).unlink()

    @contextlib.contextmanager
    def _staged(
        self, pages: Mapping[str, str | None], files: Mapping[str, bytes]
    ) -> Iterator[dict[str, Path]]:
        """The new files under temporary names, by their paths in the site."""
        stage = new_folder(temporary_prefix("stage"), self.data)
        contents = {name: page.encode() for name, page in pages.items() if page is not None}
        contents |= {f"{DATA}/{name}": content for name, content in files.items()}
        staged = {}
        try:
            for number, (name, content) in enumerate(contents.items()):
                staged[name] = stage / str(number)
                with staged[name].open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                self._target(name).parent.mkdir(parents=True, exist_ok=True)
            yield staged
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _target(self, name: str) -> Path:
        return self.path / name

    def _remove(self, name: str) -> None:
        """Remove a page, and the folders that it leaves empty."""
        if not _PAGE.fullmatch(name):
            return
        path = self._target(name)
        with contextlib.suppress(OSError):
            path.unlink()
        for folder in path.parents:
            if folder == self.path:
                return
            with contextlib.suppress(OSError):
                folder.rmdir()


def _order(name: str) -> tuple[int, str]:
    """The page that links to all others is replaced after them, and the state last."""
    return (2 if name == f"{DATA}/{_STATE}" else int(name == FIRST_PAGE), name)


def page_digest(page: str) -> str:
    """A digest by which an unchanged page is recognised."""
    return hashlib.sha256(page.encode()).hexdigest()[:16]
