"""Which file systems are mounted where, and whether they can be written to.

Only mounts that a node keeps are facts. Those of containers, jobs, sessions and automounters come
and go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from assay.check.model import Fact
from assay.system.files import Tree

#: File systems on disks of the node, whose free space is its own.
LOCAL = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs")
_PSEUDO = {
    *("proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "securityfs", "debugfs"),
    *("tracefs", "pstore", "bpf", "configfs", "mqueue", "hugetlbfs", "fusectl", "binfmt_misc"),
    *("nsfs", "autofs", "rpc_pipefs", "efivarfs", "selinuxfs", "squashfs", "overlay", "ramfs"),
    *("fuse.gvfsd-fuse", "fuse.portal", "fuse.lxcfs", "fuse.snapfuse", "iso9660", "nfsd"),
}
_PASSING = re.compile(
    r"/(proc|sys|dev|run|snap|media)(/|$)|/var/lib/(docker|containers|kubelet|lxc|lxd)(/|$)|"
    r"/var/(spool|lib)/(slurm|slurmd|pbs|torque)(/|$)|/(tmp|var/tmp)/.+|.*/\.|/boot/efi$"
)
_MOST = 200


class Mount(NamedTuple):
    """A mounted file system."""

    point: str
    kind: str
    writable: bool
    #: Whether an automounter made it.
    automatic: bool

    @property
    def local(self) -> bool:
        """Whether its free space belongs to this node only."""
        return self.kind in LOCAL or self.kind == "tmpfs"


def facts(tree: Tree) -> Iterator[Fact]:
    """File system and state of each lasting mount."""
    if not _table(tree):
        # Some file system is always mounted: without this table, nothing is known about any.
        yield from (Fact(name=f"{prefix}*", value=None) for prefix in ("mount.", "disk."))
    for mount in lasting_mounts(tree):
        name = f"mount.{mount.point}"
        yield Fact(name=f"{name}.type", value=mount.kind, look_at="check mount")
        yield Fact(
            name=f"{name}.writable",
            value=mount.writable,
            rule="not below",
            look_at="check disk" if mount.kind in LOCAL else "check mount",
        )


def lasting_mounts(tree: Tree) -> list[Mount]:
    """The mounts that a node keeps, by mount point; of several at one point the uppermost."""
    return [mount for mount in _mounts(tree) if not mount.automatic]


def automatic_mounts(tree: Tree) -> list[Mount]:
    """The mounts that an automounter made and will remove when no process uses them."""
    return [mount for mount in _mounts(tree) if mount.automatic]


def _table(tree: Tree) -> str:
    return tree.text("/proc/self/mounts") or tree.text("/proc/mounts") or ""


def _mounts(tree: Tree) -> list[Mount]:
    found: dict[str, Mount] = {}
    automatic: set[str] = set()
    for line in _table(tree).splitlines():
        words = line.split(" ")
        if len(words) < 4:
            continue
        point, kind = unescaped(words[1]), words[2]
        if kind == "autofs":
            automatic.add(point.rstrip("/"))
        if kind in _PSEUDO or kind.startswith("fuse.sshfs") or _PASSING.match(point):
            continue
        folders = point.split("/")
        above = {"/".join(folders[:depth]) for depth in range(2, len(folders) + 1)}
        writable = "ro" not in words[3].split(",")
        found[point] = Mount(point, kind, writable, bool(above & automatic))
    return list(found.values())[:_MOST]


def unescaped(point: str) -> str:
    """A mount point as it is: the kernel writes spaces and the like as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8) & 0xFF), point)
