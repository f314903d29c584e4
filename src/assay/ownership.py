"""Checks whether a user other than this user and root can have written or can replace a file.

It checks the owner, the permissions of the group and of other users, and POSIX access control lists
(acl(5)), which affect the group's permissions. The system's databases list the members of groups.
Access control lists of NFSv4 and the exports of a file server are not visible.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

# Comma-separated names of groups whose members the user trusts completely.
TRUSTED_GROUPS = "ASSAY_TRUSTED_GROUPS"
# The kernel's layout of acl(5): a version, then tag, permissions and id of each entry.
_ACL = "system.posix_acl_access"
_ACL_VERSION = (2).to_bytes(4, "little")
_USER, _OWN_GROUP, _GROUP = 0x02, 0x04, 0x08
_WRITE = 0o2
# Links that the kernel follows in a path (path_resolution(7)).
_LINKS = 40


def why_untrusted(path: Path) -> str | None:
    """Why another user may have written a file or folder; None if only this user or root can.

    The answer continues a sentence: "belongs to 'x'", "may be written by all users". A link and its
    target are both checked. Raises OSError if the path doesn't exist.
    """
    return _why(path, path.lstat()) or _why(path, path.stat())


def why_untrusted_link(path: Path) -> str | None:
    """Like ``why_untrusted``, for the path itself: a link is never followed, and is itself a
    reason.

    Raises OSError if the path doesn't exist.
    """
    status = path.lstat()
    return "is a link" if stat.S_ISLNK(status.st_mode) else _why(path, status)


def untrusted_above(path: Path) -> tuple[Path, str] | None:
    """The first folder above ``path``, from the root down, in which others can replace an entry.

    A folder that all users may write to is accepted if its sticky bit protects the entries, as in
    ``/tmp``. Missing folders are skipped. Links in the path, and the paths to their targets, are
    also checked.
    """
    whole = path.absolute()
    for place in _way(whole):
        if place == whole:
            continue
        try:
            why = _why(place, place.lstat(), sticky=True)
        except OSError:
            continue
        if why:
            return place, why
    return None


def foreign_link(path: Path) -> tuple[Path, str] | None:
    """The first link in ``path``, including ``path`` itself, that another user made; None if there
    is none.

    The owner of a link decides where a file is created.
    """
    for place in _way(path.absolute()):
        try:
            status = place.lstat()
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode) and status.st_uid not in (os.geteuid(), 0):
            return place, f"is a link that {_belongs(status.st_uid)}"
    return None


def _way(path: Path) -> Iterator[Path]:
    """The folders and links that the system passes to resolve an absolute path, and the path."""
    left = _LINKS

    def follow(path: Path) -> Iterator[Path]:
        nonlocal left
        for place in (*reversed(path.parents), path):
            yield place
            with contextlib.suppress(OSError):
                target = place.readlink()
                left -= 1
                if left > 0:
                    yield from follow(place.parent / target)

    return follow(path)


def _why(path: Path, status: os.stat_result, *, sticky: bool = False) -> str | None:
    if status.st_uid not in (os.geteuid(), 0):
        return _belongs(status.st_uid)
    if stat.S_ISLNK(status.st_mode):  # a link doesn't have its own permissions
        return None
    if sticky and status.st_mode & stat.S_ISVTX:
        return None
    if status.st_mode & stat.S_IWOTH:
        return "may be written by all users"
    if not status.st_mode & stat.S_IWGRP:
        return None
    # With an access control list, these bits are its mask: the maximum that an entry can permit.
    writers = _acl_writers(path)
    users, listed = writers if writers is not None else ([], [None])
    groups = [status.st_gid if group is None else group for group in listed]
    for user in users:
        if user not in (os.geteuid(), 0):
            return f"may be written by {_user(user)} (an access control list)"
    return next(filter(None, map(_why_group, groups)), None)


def _acl_writers(path: Path) -> tuple[list[int], list[int | None]] | None:
    """The named users and the groups that may write a file by its access control list.

    A group of None is the file's own group. Returns None if the file has no access control list.
    """
    try:
        content = os.getxattr(path, _ACL)
    except OSError:
        return None
    entries = content[4 : 4 + (len(content) - 4) // 8 * 8]
    if content[:4] != _ACL_VERSION:
        return None
    users: list[int] = []
    groups: list[int | None] = []
    for tag, permissions, number in struct.iter_unpack("<HHI", entries):
        if not permissions & _WRITE:
            continue
        if tag == _USER:
            users.append(number)
        elif tag == _GROUP:
            groups.append(number)
        elif tag == _OWN_GROUP:
            groups.append(None)
    return users, groups


def _why_group(group: int) -> str | None:
    """Why a group has members other than this user; None if it has none."""
    trusted = os.environ.get(TRUSTED_GROUPS, "").split(",")
    if _group(group).strip("'") in filter(None, map(str.strip, trusted)):
        return None
    others = _others_in(group, os.geteuid())
    if others is None:
        return None
    return f"may be written by the group {_group(group)}{others}"


@lru_cache(maxsize=64)
def _others_in(group: int, user: int) -> str | None:
    """None if only ``user`` is in the group; otherwise words on its members, empty for any other
    group.

    The group must be the user's private group, which has the user's name. Only the user and root
    may be in it, as members or with the group as their primary group. Databases that can't list all
    users (LDAP without enumeration) don't show primary groups. The group must then be the user's
    primary group and have the user's number, as private groups in such databases do.
    """
    try:
        found, me = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:  # no entry in the databases, as in containers
        return None if user == 0 == group else ""
    if found.gr_name != me.pw_name:
        return ""
    known = pwd.getpwall()
    numbers = {each.pw_name: each.pw_uid for each in known}
    members = {name for name in found.gr_mem if _number(name, numbers) not in (user, 0)}
    members |= {
        each.pw_name for each in known if each.pw_gid == group and each.pw_uid not in (user, 0)
    }
    if members:
        first = sorted(members)
        return f", which has other members ({', '.join(first[:3])}{', …' if first[3:] else ''})"
    enumerated = user in numbers.values()
    if enumerated or group == me.pw_gid == user:
        return None
    return ", whose members can't be listed"


def _number(name: str, known: dict[str, int]) -> int | None:
    if name in known:
        return known[name]
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def _belongs(user: int) -> str:
    return f"belongs to {_user(user)}"


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
