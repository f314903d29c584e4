"""Whether the hosts of a launch can be reached, and see what it needs."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError

# Seconds for a host to answer; a login over a slow name service takes several.
_PATIENCE = 30.0
_AT_ONCE = 32
_MISSING = "assay:missing:"


def check_hosts(remote_shell: str, hosts: Sequence[str], executable: Path, job: Path) -> None:
    """Raises AssayError unless each host can be reached, run the executable and read the job.

    The job file is new and lies in the run directory, so who can read it shares that directory.
    """
    # A remote shell begins in a folder of its own.
    program, order, folder = (
        shlex.quote(str(path.absolute())) for path in (executable, job, job.parent)
    )
    missing = f"echo {_MISSING}"
    seen = f"test -x {program} || {missing}{program}; test -r {order} || {missing}{folder}"
    for first in range(0, len(hosts), _AT_ONCE):
        asked = [(host, _ask(remote_shell, host, seen)) for host in hosts[first : first + _AT_ONCE]]
        try:
            for host, process in asked:
                _judge(remote_shell, host, process)
        finally:
            for _, process in asked:
                # Closed, not read to their ends: what a shell has started may hold them open.
                process.kill()
                for pipe in (process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()
                process.wait()


def _ask(remote_shell: str, host: str, command: str) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            [remote_shell, host, command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        raise AssayError(
            f"The remote shell '{remote_shell}' can't be started: {error.strerror or error}.",
            mend="Correct remote_shell in [cluster] of assay.toml.",
        ) from None


def _judge(remote_shell: str, host: str, process: subprocess.Popen[str]) -> None:
    try:
        said, complaint = process.communicate(timeout=_PATIENCE)
        answered = process.returncode == 0
    except subprocess.TimeoutExpired:
        said, complaint, answered = "", f"It gave no answer within {_PATIENCE:g} s.", False
    if not answered:
        raise AssayError(
            f"The host '{host}' can't be reached by `{remote_shell}`.",
            detail=complaint.strip(),
            mend=f"See that `{remote_shell} {host} true` works without a password, or correct "
            "[cluster] in assay.toml.",
        )
    # A login script may have greeted, too.
    lines = [line for line in said.splitlines() if line.startswith(_MISSING)]
    if lines:
        raise AssayError(
            f"The host '{host}' does not see '{lines[0].removeprefix(_MISSING)}'.",
            mend="Keep runs and assay's cache (ASSAY_CACHE) in a file system that all hosts share "
            "under the same path.",
        )
