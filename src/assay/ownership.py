"""Checks whether another user than this one and root can have written or can replace a file."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path


def why_untrusted(path: Path) -> str | None:
    """Why another user may have written a file or folder; None if only this user or root can.

    The answer continues a sentence: "belongs to 'x'", "may be written by everybody". A link and its
    target are both checked. Raises OSError if the path doesn't exist.
    """
    for status in (path.lstat(), path.stat()):
        why = _why(status)
        if why:
            return why
    return None


def untrusted_above(path: Path) -> tuple[Path, str] | None:
    """The first folder above ``path``, from the root down, in which others can replace an entry.

    A folder that all may write to is accepted if its sticky bit protects the entries, as in
    ``/tmp``. Missing folders are skipped. Links in the path and their targets are both checked.
    """
    for folder in (*reversed(path.absolute().parents), *reversed(path.resolve().parents)):
        try:
            states = (folder.lstat(), folder.stat())
        except OSError:
            continue
        why = next(filter(None, (_why(status, sticky=True) for status in states)), None)
        if why:
            return folder, why
    return None


def _why(status: os.stat_result, *, sticky: bool = False) -> str | None:
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to {_user(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode):  # a link has no permissions of its own
        return None
    if sticky and status.st_mode & stat.S_ISVTX:
        return None
    if status.st_mode & stat.S_IWOTH:
        return "may be written by everybody"
    if status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid):
        return f"may be written by the group {_group(status.st_gid)}"
    return None


def _own_group(group: int) -> bool:
    """Whether it is this user's private group, the one with the user's name."""
    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # no entry in the databases: containers
        return os.geteuid() == 0 == group


def _user(number: int) -> str:
    try:
        return f"'{pwd.getpwuid(number).pw_name}'"
    except KeyError:
        return f"the user with the number {number}"


def _group(number: int) -> str:
    try:
        return f"'{grp.getgrgid(number).gr_name}'"
    except KeyError:
        return f"with the number {number}"
