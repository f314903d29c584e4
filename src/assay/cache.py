"""The cache folder: results that assay can recompute, and programs that it runs. assay executes its
contents (builds, remote shells) or trusts them (compiler queries).

Only this user and root may therefore be able to write to it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from assay.errors import AssayError
from assay.ownership import untrusted_above, why_untrusted

_FIX = "Set ASSAY_CACHE to a folder that only you can write to."


def cache_home() -> Path:
    """``${ASSAY_CACHE:-${XDG_CACHE_HOME:-~/.cache}/assay}``, which need not exist.

    Without a home directory, it is a folder in the temporary directory.
    """
    own = os.environ.get("ASSAY_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared:
        return Path(shared).absolute() / "assay"
    try:
        return Path.home() / ".cache" / "assay"
    except RuntimeError:  # no HOME and no entry in the user database, as in containers
        return _fallback()


def cache_folder(*parts: str) -> Path:
    """A trusted folder of the cache, created if it is missing (mode 0700).

    Raises AssayError if it can't be created, or if another user owns or may write to the cache, a
    folder above it up to the root, or a folder between the cache and this one.
    """
    home = cache_home()
    folder = home
    _make(home)
    check_trusted(home)
    above = untrusted_above(home)
    if above is not None:
        raise _refused(*above)
    if home == _fallback():
        _check_private(home)
    for part in parts:
        folder = folder / part
        _make(folder)
        check_trusted(folder)
    return folder


def check_trusted(path: Path) -> None:
    """Raise AssayError unless only this user or root can have written ``path``."""
    try:
        why = why_untrusted(path)
    except OSError:
        return
    if why:
        raise _refused(path, why)


def _refused(path: Path, why: str) -> AssayError:
    return AssayError(
        f"This {why}, but assay runs programs from its cache.",
        where=str(path),
        fix=_FIX,
    )


def _fallback() -> Path:
    return Path(tempfile.gettempdir()) / f"assay-cache-{os.getuid()}"


def cannot_write_cache(folder: Path, error: OSError) -> AssayError:
    """The error for a cache that can't be written."""
    return AssayError(
        f"The build cache can't be written: {error.strerror or error}.",
        where=str(folder),
        fix="Free some space, or set ASSAY_CACHE to a writable folder.",
    )


def _make(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise cannot_write_cache(folder, error) from None


def _check_private(folder: Path) -> None:
    """Raise AssayError unless the fallback folder belongs to this user and is closed to others.

    Its name is predictable, so another user may have created it.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise _refused(folder, "is a link")
    if status.st_uid != os.geteuid():
        raise _refused(folder, "is not yours")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise _refused(folder, "is open to others")
