"""Asking mounted file systems whether they answer and how much space is left.

statvfs(3) of a mount whose server is gone may not return, so each mount is asked by a process of
its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

from assay.check.facts.groups.mounts import automatic_mounts, lasting_mounts
from assay.check.model import Fact
from assay.system.files import Tree

#: What the facts of free space look at, before the folder.
SPACE_IN = "free space in "
_MOST = 64


def file_system_questions(tree: Tree, scratch: str = "") -> dict[str, Callable[[], Iterator[Fact]]]:
    """By the name of a mount, the function that asks its file system. Empty for a copy of another
    machine's files.
    """
    if not tree.live:
        return {}
    found: dict[str, Callable[[], Iterator[Fact]]] = {}
    for mount in lasting_mounts(tree)[:_MOST]:
        point = mount.point
        found[f"mount.{point}"] = partial(
            _ask, point, f"mount.{point}", mount.local, point == scratch
        )
    for mount in automatic_mounts(tree)[: _MOST - len(found)]:
        found[f"mount.{mount.point}"] = partial(_ask_quietly, mount.point)
    if scratch:
        found["scratch"] = partial(_ask, scratch, "scratch", True, False)
    return found


def answers_fact(name: str, answers: bool | str | None) -> Fact:
    """Whether a mount's file system answers; text is the error that it answers with."""
    return Fact(name=f"{name}.answers", value=answers, rule="not below", look_at="check its server")


def disk_name(name: str) -> str:
    """What the names of facts on a mount's space begin with."""
    return "disk." + name.removeprefix("mount.") if name.startswith("mount.") else name


def unknown_space(name: str) -> Iterator[Fact]:
    """That a mount's space could not be read."""
    disk = disk_name(name)
    for what in ("size", "free", "inodes"):
        yield Fact(name=f"{disk}.{what}*", value=None)


def _ask(point: str, name: str, space: bool, elsewhere: bool) -> Iterator[Fact]:
    try:
        found = os.statvfs(point)
    except PermissionError:
        # Only root may look there.
        yield answers_fact(name, None)
        yield from unknown_space(name)
        return
    except OSError as error:
        # A stale handle or a failed disk. No healthy node answers so.
        yield answers_fact(name, error.strerror or "error")
        return
    yield answers_fact(name, True)
    if elsewhere:
        yield from unknown_space(name)  # the facts of scratch tell it
        return
    if not space:
        return
    disk, look_at = disk_name(name), f"{SPACE_IN}{point}"
    # What ordinary users may still write; the rest is reserved for root.
    size = found.f_blocks * found.f_frsize
    if size:
        free = found.f_bavail * found.f_frsize
        yield Fact(name=f"{disk}.size", value=float(size), unit="B", look_at="check disk")
        yield Fact(
            name=f"{disk}.free", value=float(free), unit="B", rule="not below", look_at=look_at
        )
    if found.f_files:
        yield Fact(
            name=f"{disk}.inodes",
            value=float(found.f_favail),
            rule="not below",
            look_at=look_at,
        )


def _ask_quietly(point: str) -> Iterator[Fact]:
    """No fact of a mount that comes and goes, unless it fails or hangs."""
    for fact in _ask(point, f"mount.{point}", False, False):
        if fact.value is not True:
            yield fact
