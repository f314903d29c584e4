"""A site's builds: a folder that an administrator fills and that the jobs of all users read.

assay executes programs from this folder. So it must belong to root or to this user, and no other
user may be able to write to it or to a folder above it. Nothing is written to it, except by ``assay
kernels --build --shared``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from assay.config.sections import SHARED_CACHE
from assay.errors import AssayError
from assay.kernels.builds.sealed import UNFINISHED, is_intact
from assay.ownership import untrusted_above, why_untrusted

_FIX = (
    "The administrator must make root its owner and only the owner able to write (chmod -R go-w). "
    "An empty "
    f"{SHARED_CACHE} disables it."
)


def shared_folder() -> Path | None:
    """The configured folder of the site's builds, which need not exist; None without one."""
    named = os.environ.get(SHARED_CACHE)
    return Path(named).expanduser().absolute() if named else None


def shared_builds() -> Path | None:
    """The folder of the site's builds; None if none is named, or if this host doesn't have it.

    Raises AssayError if another user may write to it, or replace it.
    """
    folder = shared_folder()
    if folder is None or not folder.is_dir():
        return None
    try:
        why = why_untrusted(folder)
    except OSError:
        return None
    above = untrusted_above(folder)
    if why:
        raise _refused(folder, why)
    if above is not None:
        raise _refused(*above)
    return folder


def shared_build(key: str, executable: str) -> Path | None:
    """The path of an executable in the site's build with this key; None if there is none.

    Raises AssayError if another user may write to it. A build that differs from its seal is not
    used.
    """
    builds = shared_builds()
    if builds is None:
        return None
    try:
        return builds / key / executable if is_intact(builds / key, executable) else None
    except AssayError as error:
        error.fix = _FIX
        raise


def publish(build: Path, executable: str) -> Path:
    """Copy a build to the site's folder, where all users can read it; returns the executable.

    ``build``: its folder. The site's folder is created if it is missing. Raises AssayError if none
    is named, it can't be written, or other users may write to it.
    """
    folder = shared_folder()
    if folder is None:
        raise AssayError(
            "No folder of shared builds is named.",
            where="--shared",
            fix=f'Name one in assay.toml, [cache] shared = "/opt/assay", or in {SHARED_CACHE}.',
        )
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            folder.chmod(0o755)
        present = shared_build(build.name, executable)
        if present is not None:
            return present
        final = folder / build.name
        with _staging(folder) as staged:
            ready = staged / build.name
            shutil.copytree(build, ready)
            for path in (ready, *ready.iterdir()):
                path.chmod(0o755 if path.is_dir() or path.name == executable else 0o644)
            if final.exists():  # damaged
                final.rename(staged / "damaged")
            ready.rename(final)
    except OSError as error:
        raise AssayError(
            f"The folder of shared builds can't be written: {error.strerror or error}.",
            where=str(folder),
            fix="Build as the user who owns it, such as root.",
        ) from None
    return final / executable


def _refused(path: Path, why: str) -> AssayError:
    return AssayError(
        f"This {why}, and assay runs programs from the site's shared builds.",
        where=str(path),
        fix=_FIX,
    )


@contextlib.contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    staged = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)
