"""Writes the files that the user asked for, each by a rename, so that readers see whole files."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from assay.plain_files import open_plain

# Read by other users, such as node_exporter's.
_MODE = 0o644


def replace_file(path: Path, content: bytes) -> str:
    """Replace a file. Returns why this failed, as a clause; else "".

    The new content is first in ``.NAME.new``: a fixed name, so that killed checks leave no more
    than one such file. It doesn't end in ``.prom``, so node_exporter doesn't read it.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        descriptor = open_plain(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), _MODE)
                file.write(content)
            new.rename(path)
        except OSError:
            with contextlib.suppress(OSError):
                new.unlink()
            raise
    except OSError as error:
        return error.strerror or str(error)
    return ""
