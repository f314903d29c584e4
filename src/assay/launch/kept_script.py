"""Small scripts for launches, stored in the cache under a digest of their text."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from assay.cache import cache_folder, check_trusted
from assay.records.files import write_atomically


def kept_script(kind: str, name: str, script: str) -> Path:
    """The path of an executable file ``name`` that contains ``script``, below ``kind`` in the
    cache.

    An existing file that differs from the script is replaced. Raises AssayError if the cache can't
    be written or others may write to it.
    """
    content = script.encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = cache_folder(kind, digest) / name
    check_trusted(path)
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            path.chmod(0o755)
            return path
    write_atomically(path, content, mode=0o755)
    return path
