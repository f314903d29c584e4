"""A file system that never answers, as one of a dead file server: ``hung_mount.py MOUNT_POINT``.

It is a FUSE mount whose daemon reads each request and answers only the first, the handshake. The
kernel doesn't let processes that wait for such an answer end, not even after SIGKILL; they end when
this program does. Prints a line once it is mounted.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

# linux/fuse.h: length, operation, unique, node, uid, gid, pid, padding.
_HEAD = struct.Struct("<IIQQIIII")
_INIT = 26
# fuse_out_header, then fuse_init_out of version 7.31 with its padding.
_OUT = struct.Struct("<IiQ")
_INIT_OUT = struct.Struct("<IIIIHHIIHHI28x")


def hang(point: str) -> None:
    """Mount and read requests until this process is ended."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"server:/hung", os.fsencode(point), b"fuse", 0, options.encode()) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), point)
    print("mounted", flush=True)
    while True:
        request = os.read(device, 1 << 17)
        _, operation, unique, *_ = _HEAD.unpack_from(request)
        if operation == _INIT:
            body = _INIT_OUT.pack(7, 31, 0, 0, 12, 9, 4096, 1, 0, 0, 0)
            os.write(device, _OUT.pack(_OUT.size + len(body), 0, unique) + body)


if __name__ == "__main__":
    hang(sys.argv[1])
