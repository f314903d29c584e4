"""A file system that never answers, and further real mounts, in a mount namespace of their own.

Run as ``python hanging_mount.py SCRIPT``: ``SCRIPT`` is executed with the mounts below /srv: a file
system in user space whose process never reads its requests (/srv/home), one that is mounted
read-only (/srv/fixed) and one of one MiB (/srv/scratch). Other processes of this machine see none
of them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_MS_RDONLY, _MS_REC, _MS_PRIVATE = 1, 0x4000, 1 << 18


def _check(result: int, what: str) -> None:
    if result != 0:
        print(f"{what}: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)


def main(script: str) -> None:
    """Mount all in a new namespace, and run the script in this process."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
        Path(target).mkdir(exist_ok=True)
        words = (source, target, kind)
        encoded = [None if word is None else word.encode() for word in words]
        _check(libc.mount(*encoded, flags, data.encode() or None), f"mount {target}")

    _check(libc.unshare(_CLONE_NEWNS), "unshare")
    mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    mount("tmpfs", "/srv", "tmpfs", 0, "size=1m")
    mount("tmpfs", "/srv/fixed", "tmpfs", _MS_RDONLY, "size=1m")
    mount("tmpfs", "/srv/scratch", "tmpfs", 0, "size=1m")
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        print(f"/dev/fuse: {error.strerror}")
        sys.exit(77)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    mount("assay-test", "/srv/home", "fuse", 0, options)
    exec(compile(script, "script", "exec"), {"__name__": "script"})


if __name__ == "__main__":
    main(sys.argv[1])
