"""Short commands that tell what is installed.

Asking a compiler for its version costs more than everything else on a warm start together, so an
answer is kept on disk for as long as the program that gave it is the same file.
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

PROBE_TIMEOUT = 20.0  # seconds; a wrapper on a busy shared file system may take some


@dataclass(frozen=True)
class ProbeResult:
    """What a probe printed (both channels), and its exit status; None if it could not be run."""

    status: int | None
    text: str

    @property
    def ok(self) -> bool:
        """Whether it ran and succeeded."""
        return self.status == 0

    @property
    def first_line(self) -> str:
        """The first line with anything on it."""
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
    """Run a command that answers at once, or remember what it answered.

    ``environment`` is added to this process's own, ``text`` is its input. The answer is looked up
    under all of these and the state (real path, modification time, size) of the program and of the
    files it ``depends`` on, so that an upgrade asks anew. Only successes are kept on disk, and
    those only for ``keep``: what hangs on more than these files is asked once per process.
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
        asked = subprocess.Popen(
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
        said, _ = asked.communicate(text, timeout=PROBE_TIMEOUT)
    except subprocess.TimeoutExpired:
        # With all that it started: a child left over would keep the pipe, and us, waiting.
        os.killpg(asked.pid, signal.SIGKILL)
        asked.communicate()
        return ProbeResult(None, f"{command[0]} did not answer within {PROBE_TIMEOUT:g} s")
    return ProbeResult(asked.returncode, said)


def _cached_path(key: str) -> Path:
    """Where an answer is kept. Raises AssayError without a cache that can be trusted: an answer
    may name the programs that are run next.
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
    """Best effort: without a writable cache the next process asks again."""
    with contextlib.suppress(OSError, AssayError):
        path = _cached_path(key)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as f:
            f.write(answer.text)
        Path(f.name).replace(path)
