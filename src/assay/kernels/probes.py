"""Short commands that report what is installed.

Running a compiler for its version takes longer than the rest of a warm start, so answers are cached
on disk until the program's file changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.cache import cache_folder, check_trusted
from assay.errors import AssayError

PROBE_TIMEOUT = 20.0  # seconds; a wrapper on a busy shared file system may take several


@dataclass(frozen=True)
class ProbeResult:
    """Output of a probe on both channels, and its exit status; the status is None if the probe
    didn't run or end.
    """

    status: int | None
    text: str

    @property
    def ok(self) -> bool:
        """Whether it ran and succeeded."""
        return self.status == 0

    @property
    def first_line(self) -> str:
        """The first line that isn't blank."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


_answers: dict[str, ProbeResult] = {}


def ask(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    text: str = "",
    depends: Sequence[Path] = (),
    keep: bool = True,
) -> ProbeResult:
    """Run a short command, or return its cached answer.

    ``environment`` is added to this process's own; ``text`` is the command's input. The cache key
    consists of all of these and the state (real path, modification time, size) of the program and
    of the files it ``depends`` on, so that an upgrade runs the command again. Only successful
    answers are kept on disk, and only with ``keep``; other answers are kept for the life of the
    process.
    """
    program = shutil.which(command[0])
    if program is None:
        return ProbeResult(None, f"{command[0]}: not found")
    states = [_state(path) for path in (Path(program), *depends)]
    about = [list(command), text, states, sorted((environment or {}).items()), _surroundings()]
    key = hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
    if key not in _answers:
        answer = (_recall(key) if keep else None) or _run(command, environment, text)
        if keep and answer.ok:
            _keep(key, answer)
        _answers[key] = answer
    return _answers[key]


def _state(path: Path) -> list[str | int]:
    real = path.resolve()
    try:
        status = real.stat()
    except OSError:
        return [str(real)]
    return [str(real), status.st_mtime_ns, status.st_size]


def _surroundings() -> list[str | None]:
    """The variables of this process that change what compilers and their wrappers answer."""
    names = ("MPICH_CXX", "OMPI_CXX", "I_MPI_CXX", "LIBRARY_PATH", "CPATH", "PATH")
    return [os.environ.get(name) for name in names]


def _run(command: Sequence[str], environment: Mapping[str, str] | None, text: str) -> ProbeResult:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {}), "LC_ALL": "C"},
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return ProbeResult(None, f"{command[0]}: {error.strerror}")
    try:
        output, _ = process.communicate(text, timeout=PROBE_TIMEOUT)
    except subprocess.TimeoutExpired:
        # The whole group: a remaining child would keep the pipe open and block ``communicate``.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return ProbeResult(None, f"{command[0]} did not answer within {PROBE_TIMEOUT:g} s")
    return ProbeResult(process.returncode, output)


def _cached_path(key: str) -> Path:
    """The path of a kept answer. Raises AssayError if the cache isn't trusted: an answer may name
    programs that are run next.
    """
    return cache_folder("probes") / key


def _recall(key: str) -> ProbeResult | None:
    try:
        path = _cached_path(key)
        check_trusted(path)
        return ProbeResult(0, path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, AssayError):
        return None


def _keep(key: str, answer: ProbeResult) -> None:
    """Keep an answer if the cache can be written; otherwise the next process runs the command."""
    with contextlib.suppress(OSError, AssayError):
        path = _cached_path(key)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as f:
            f.write(answer.text)
        Path(f.name).replace(path)
