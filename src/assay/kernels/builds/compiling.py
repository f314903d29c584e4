"""Running a compiler for the programs beside the kernels, and what went wrong as an error."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.errors import AssayError


class CompilerOutput(NamedTuple):
    """What a compiler wrote to its streams."""

    out: str
    err: str


def compiled(
    product: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    *,
    text: str = "",
) -> CompilerOutput:
    """Run a compiler for ``product`` (the begin of a sentence), with ``text`` as its input.

    ``environment``: variables in addition to this process's. Raises AssayError if it can't be run,
    or fails (its output is in ``detail``).
    """
    try:
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
            cwd=folder,
            check=False,
        )
    except OSError as error:
        raise AssayError(
            f"{product} can't be built: '{command[0]}' can't be run: {error.strerror}.",
            fix="Name a C++ compiler that can be run.",
        ) from None
    if done.returncode:
        raise AssayError(
            f"{product} can't be compiled with '{command[0]}'.",
            fix="A compiler of C++20 is needed (GCC 11, Clang 14 or newer). Its output follows.",
            detail=done.stderr + done.stdout,
        )
    return CompilerOutput(done.stdout, done.stderr)
