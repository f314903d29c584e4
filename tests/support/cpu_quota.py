"""A control group with a CPU quota, and how a process enters it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from waiting import wait_for

_OLD, _NEW = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
_PERIOD = 100_000  # microseconds


@dataclass(frozen=True)
class QuotaGroup:
    """``folder``: of the group."""

    folder: Path

    def entering(self) -> list[str]:
        """The words before a command that put it into the group."""
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs; exec "$0" "$@"']

    def entering_on(self, host: str) -> list[str]:
        """The same on one host of a lab, whose own /sys has no control groups: they are mounted."""
        if self.folder.parent == _NEW:
            mount = f"mount -t cgroup2 none {_NEW}"
        else:
            mount = f"mount -t tmpfs none {_NEW}; mkdir {_OLD}; mount -t cgroup -o cpu none {_OLD}"
        enter = f"{mount}; echo $$ > {self.folder}/cgroup.procs"
        return ["sh", "-c", f'if [ "$(uname -n)" = {host} ]; then {enter}; fi; exec "$0" "$@"']


@contextlib.contextmanager
def cpu_quota(cpus: float = 0.1) -> Iterator[QuotaGroup]:
    """A control group with a quota in CPUs; skips the test where none can be made.

    A rank that shares its CPU with other work was never held back with a quota of half a CPU.
    """
    base = _OLD if _OLD.exists() else _NEW
    group = base / f"assay-tests-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error.strerror}")
    try:
        try:
            if base is _OLD:
                (group / "cpu.cfs_period_us").write_text(f"{_PERIOD}")
                (group / "cpu.cfs_quota_us").write_text(f"{cpus * _PERIOD:.0f}")
            else:
                (group / "cpu.max").write_text(f"{cpus * _PERIOD:.0f} {_PERIOD}")
        except OSError as error:
            pytest.skip(f"no quota can be set: {error.strerror}")
        yield QuotaGroup(group)
    finally:
        wait_for(lambda: _removed(group))


def _removed(group: Path) -> bool:
    """Whether the group could be removed; its last process may still be leaving."""
    try:
        group.rmdir()
    except OSError:
        return False
    return True
