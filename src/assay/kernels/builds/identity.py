"""What a build depends on besides its toolchain: the native sources and the processor."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

# Folders of the native sources that are not part of the executable.
_APART = {"check", "heartbeat", "scheduler", "third_party", "trace"}


def source_digest(sources: Path) -> str:
    """SHA-256 over names and contents of the sources of the executable, without hidden files."""
    digest = hashlib.sha256()
    files = [path for path in sources.rglob("*") if path.is_file()]
    for path in sorted(files):
        name = path.relative_to(sources)
        if name.parts[0] not in _APART and not any(part.startswith(".") for part in name.parts):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{name.as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def cpu_identity(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """What ``-march=native`` depends on: the first processor's model and instruction sets."""
    try:
        first = cpuinfo.read_text("utf-8", "replace").split("\n\n")[0]
    except OSError:
        return os.uname().machine
    kept = (
        r"(?m)^(vendor_id|cpu family|model|model name|flags|CPU [^\t:]+|Features|cpu)\s*:\s*(.*)$"
    )
    return "\n".join([os.uname().machine, *(f"{k}: {v}" for k, v in re.findall(kept, first))])


def cpu_kind() -> str:
    """A digest of ``cpu_identity``: hosts with equal digests can share a build for "native"."""
    return digest(cpu_identity())


def digest(identity: str) -> str:
    """A short digest of a processor's ``cpu_identity``."""
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def processor_name() -> str:
    """The model of this machine's processor, empty if unknown."""
    named = re.search(r"(?m)^model name: (.*)$", cpu_identity())
    return named[1] if named else ""
