"""Checks that the hosts of a launch can be reached and see its files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.hostnames import names_text
from assay.launch.executor import HostsLost
from assay.launch.outages import ask_hosts

# Seconds for a host to answer; a login over a slow name service takes several.
PATIENCE = 30.0
_MISSING = "assay:missing:"


def check_hosts(remote_shell: str, hosts: Sequence[str], executable: Path, job: Path) -> None:
    """Raises HostsLost unless each host can be reached, AssayError unless each can run the
    executable and read the job.

    The job file is new and in the run directory, so a host that can read it shares that directory.
    Kernels of that directory that still run on a host are killed: they are left over from a launch
    that lost contact with the host, and would disturb this one. The caller must have no launch
    under way.
    """
    # A remote shell starts in another folder, so all paths are absolute.
    program, order, folder = (
        shlex.quote(str(path.absolute())) for path in (executable, job, job.parent)
    )
    missing = f"echo {_MISSING}"
    seen = f"test -x {program} || {missing}{program}; test -r {order} || {missing}{folder}"
    command = f"{seen}; {_end_kernels_of(job.parent)}"
    replies = ask_hosts(remote_shell, hosts, command, patience=PATIENCE)
    silent = [reply for reply in replies.values() if not reply.ok]
    if silent:
        first = silent[0]
        raise HostsLost(
            tuple(reply.host for reply in silent),
            f"The host '{first.host}' can't be reached by `{remote_shell}`."
            if len(silent) == 1
            else f"{len(silent)} hosts can't be reached by `{remote_shell}`: "
            f"{names_text([reply.host for reply in silent])}.",
            detail=first.complaint,
            fix=f"Check that `{remote_shell} {first.host} true` works without a password, or "
            "correct [cluster] in assay.toml.",
        )
    for host, reply in replies.items():
        # A login script may have printed further lines.
        lines = [line for line in reply.out.splitlines() if line.startswith(_MISSING)]
        if lines:
            raise AssayError(
                f"The host '{host}' does not see '{lines[0].removeprefix(_MISSING)}'.",
                fix="Keep runs and assay's cache (ASSAY_CACHE) in a file system that all hosts "
                "share under the same path.",
            )


def _end_kernels_of(folder: Path) -> str:
    """A shell command that kills the kernels that write records to a folder."""
    names = dict.fromkeys(shlex.quote(str(path)) for path in (folder.absolute(), folder.resolve()))
    whose = " | ".join(f"{name}/*" for name in names)
    return (
        "for p in $(pgrep -x assay-kernels); do "
        r"""out=$(tr '\0' '\n' </proc/$p/cmdline | sed -n '/^--out$/{n;p;}'); """
        'case "$out" in /*) ;; *) out=$(readlink /proc/$p/cwd)/$out ;; esac; '
        f'case "$out" in {whose}) kill -9 $p ;; esac; done 2>/dev/null; :'
    )
