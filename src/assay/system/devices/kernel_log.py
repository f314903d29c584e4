"""Errors of NVIDIA's devices (XID) in the kernel's log, where this user may read it.

The driver writes ``NVRM: Xid (PCI:0000:3b:00): 79, pid=…, GPU has fallen off the bus.``
(XID Errors, NVIDIA's deployment guides).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict

from assay.system.devices.pci_devices import plain_address
from assay.system.files import Tree

_LOG = "/dev/kmsg"
_RECORD = 8192
_MOST_RECORDS = 100_000
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d{1,4})\b", re.ASCII)


def logged_xids(tree: Tree) -> dict[str, list[int]] | None:
    """The numbers by address of the device; None if the log can't be read."""
    lines = _records(tree.path(_LOG))
    if lines is None:
        return None
    found: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        if match := _XID.search(line):
            found[plain_address(match[1])].append(int(match[2]))
    return dict(found)


def _records(path: str) -> list[str] | None:
    """One record per read; at the end a read would block."""
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    found: list[str] = []
    try:
        while len(found) < _MOST_RECORDS:
            try:
                record = os.read(log, _RECORD)
            except BrokenPipeError:
                continue  # a record was overwritten while we read
            except OSError:
                break
            if not record:
                break
            found += record.decode("utf-8", "replace").splitlines()
    finally:
        os.close(log)
    return found
