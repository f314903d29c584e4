"""Checks whether a run may be continued: only this user and root may be able to write its files.

A plan names commands, a request the jobs to submit, and both are executed; streams and records are
appended to. So any user who can write a run, or replace a folder above it, could let another user
run commands or write files. Reading such a run is harmless, and is always possible.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.ownership import (
    TRUSTED_GROUPS,
    foreign_link,
    untrusted_above,
    why_untrusted,
    why_untrusted_link,
)

_MEMBERS = "members"
# Folders of a run that assay, kernels and schedulers write to.
_FOLDERS = ("raw", "jobs", _MEMBERS, f"{_MEMBERS}/packs")


class NotTrusted(AssayError):
    """Another user may have written a run, or can replace it."""


def check_trusted_run(run: Path) -> None:
    """Raises NotTrusted unless only this user and root can write or replace a run.

    The check covers owner and mode of the run, of its files and folders, and of every folder above
    it up to the root. Nothing in the run may be a link. For a member of a group of runs, the group
    is checked, too. A link to the run must belong to this user or root. Files that don't exist yet
    are not checked.
    """
    if run.parent.name == _MEMBERS:
        check_trusted_run(run.parent.parent)
    above = untrusted_above(run)
    if above is not None:
        raise _refused(run, *above)
    try:
        why = why_untrusted(run)
    except FileNotFoundError:
        return
    except OSError as error:
        why = f"can't be examined ({error.strerror})"
    if why is not None:
        raise _refused(run, run, why)
    for path in _parts(run):
        try:
            inside = why_untrusted_link(path)
        except OSError:  # removed meanwhile
            continue
        if inside is not None:
            raise _refused(run, path, inside)
    for folder in _FOLDERS:
        link = _link_in(run / folder)
        if link is not None:
            raise _refused(run, link, "is a link")


def check_place(folder: Path) -> None:
    """Raises NotTrusted if a link of another user leads to the folder of a new run."""
    link = foreign_link(folder)
    if link is not None:
        raise NotTrusted(
            f"This {link[1]}, and determines where the run would be written.",
            where=str(link[0]),
            fix="Name another folder with --runs DIR.",
        )


def is_own(run: Path) -> bool:
    """Whether a run's folder, and a link to it, are this user's."""
    try:
        return {run.lstat().st_uid, run.stat().st_uid} == {os.geteuid()}
    except OSError:
        return False


def _parts(run: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(run) as entries:
        yield from sorted(Path(entry.path) for entry in entries)
    packs = run / _MEMBERS / "packs"
    if packs.is_dir():
        yield packs


def _link_in(folder: Path) -> Path | None:
    """A link among the entries of a folder."""
    try:
        with os.scandir(folder) as entries:
            return next((Path(each.path) for each in entries if each.is_symlink()), None)
    except OSError:  # there is no such folder
        return None


def _refused(run: Path, path: Path, why: str) -> NotTrusted:
    if why == "is a link":
        fix = "Remove the link, and check who can write there."
    elif (path == run or run in path.parents) and why.startswith("may be"):
        fix = f"If no other user has changed it: chmod -R go-w {shlex.quote(str(run))}"
    elif path == run or run in path.parents:
        fix = f"`assay report {shlex.quote(str(run))}` shows it; to measure, start your own run."
    else:
        fix = (
            "The run can be read (`assay report`). To measure, keep runs where only you can write "
            "(--runs DIR), or remove others' write permission to this folder (chmod go-w). If you "
            "trust all members of a group "
            f"that shares it, set {TRUSTED_GROUPS} to the group's name."
        )
    return NotTrusted(
        f"This {why}, and continuing a run executes commands from its files.",
        where=str(path),
        fix=fix,
    )
