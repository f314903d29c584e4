"""The name of a node's file: its host name, with characters escaped that a file name can't have."""

from __future__ import annotations

import os
import re
from pathlib import Path

SUFFIX = ".check"
_UNSAFE = re.compile(rb"[^A-Za-z0-9._-]|^\.")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")


def host_name() -> str:
    """This node's name, as the kernel has it; bytes that are not UTF-8 are ``\\xNN``."""
    return os.fsencode(os.uname().nodename).decode("utf-8", "backslashreplace")


def file_name(host: str, suffix: str = SUFFIX) -> str:
    """The name of a host's file. Different hosts have different names."""
    safe = _UNSAFE.sub(lambda found: b"%%%02X" % found[0][0], os.fsencode(host))
    return safe.decode("ascii") + suffix


def host_of(path: Path) -> str:
    """The host whose file this is, by its name."""
    stem = path.name.removesuffix(SUFFIX)
    raw = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), stem)
    return os.fsdecode(raw.encode("latin-1", "replace"))
