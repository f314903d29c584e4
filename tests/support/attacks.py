"""What another user of a shared file system can leave behind, and commands of a victim beside it.

The victim is the user of the tests; the attacker is a number, so that a file of the attacker's is
made by chown, which needs root.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

import prepared_assay

ATTACKER = 54321
ASSAY = Path(sys.executable).with_name("assay")
PLAN = """
schema = 1
title = "Two launches"
seed = 5
[replication]
precision = "5%"
budget = "100 s"
min_launches = 2
max_launches = 2
cell_budget = "20 ms"
[[measure]]
kernel = "npb.ep"
class = "S"
"""
# Modules that Python or assay imports, and what else runs at Python's start.
MODULES = ("random", "json", "sitecustomize", "usercustomize", "assay", "msgspec", "runpy", "site")


class Scratch:
    """A shared folder, in which commands run as the victim."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = path / "runs"
        self.ran = path / "ran"  # what a planted command leaves
        (path / "plan.toml").write_text(PLAN)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "ASSAY_"))},
            "ASSAY_CACHE": os.environ.get("ASSAY_CACHE", ""),
        }
        if not self.environment["ASSAY_CACHE"]:
            del self.environment["ASSAY_CACHE"]

    def assay(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """An ``assay`` command, as a user types it in this folder."""
        return self._done([ASSAY, *words], variables)

    def prepared(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The same, begun with its modules loaded: no planted module could be imported."""
        return self._done([sys.executable, "-P", "-m", "assay", *words], variables)

    def _done(
        self, command: Sequence[str | Path], variables: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return prepared_assay.run(
            list(map(str, command)),
            cwd=self.path,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, *words: str) -> Path:
        """A complete run, made by ``assay run`` of a command that appends a line to ``ran``."""
        known = set(self.names())
        done = self.assay(
            *("run", "plan.toml", "--no-report", "--app", "sh -c 'echo >>ran'", *words)
        )
        assert done.returncode == 0, done.stderr
        (name,) = set(self.names()) - known
        return self.runs / name

    def names(self) -> list[str]:
        return sorted(path.name for path in self.runs.iterdir()) if self.runs.exists() else []

    def requested(self, name: str, jobs: list[dict[str, object]], **changes: object) -> Path:
        """A run that was submitted to Slurm, with these lines of ``jobs.jsonl``."""
        run = self.runs / name
        (run / "jobs").mkdir(parents=True)
        (run / "raw").mkdir()
        request = {
            "schema": 1, "run": name, "utc": 1.0e9, "assay": "0", "tag": "a1b2c3", "command": [],
            "folder": str(self.path), "plan": "plan.toml", "texts": {"plan.toml": PLAN},
            "job": {"nodes": 1, "seconds": 60.0}, "scheduler": {"kind": "slurm"},
        }  # fmt: skip
        (run / "request.json").write_bytes(msgspec.json.encode({**request, **changes}))
        lines = [{"event": "submitted", "number": 1, "utc": 1.0e9, **job} for job in jobs]
        (run / "jobs.jsonl").write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in lines))
        return run


def unfinish(run: Path) -> None:
    """Take all launches from a run, as after a kill at its beginning: they would run again."""
    for path in (run / "seal.json", run / "launches.jsonl", *run.glob("*.parquet")):
        path.unlink()
    shutil.rmtree(run / "raw")
    (run / "raw").mkdir()


def give(*paths: Path) -> None:
    """Give files and folders, with what is in them, to the attacker."""
    for path in paths:
        inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
        for each in (path, *inside):
            os.lchown(each, ATTACKER, ATTACKER)


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """What is in a folder: permissions, owner and content by path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        plain = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(folder))] = (
            status.st_mode,
            status.st_uid,
            path.read_bytes() if plain else b"",
        )
    return found


def plant_modules(folder: Path, mark: Path) -> Iterator[Path]:
    """Python modules that leave a mark and break what imports them."""
    for name in MODULES:
        path = folder / f"{name}.py"
        path.write_text(f"open({str(mark)!r}, 'a').write({name!r})\nraise SystemExit(99)\n")
        yield path


# Slurm's commands as far as submission and cleaning need them. A job runs at once.
_SBATCH = """#!/bin/sh
script=$2
output=$(sed -n 's/^#SBATCH --output=//p' "$script")
bash "$script" >"$output" 2>&1
echo "${JOB:-123}"
"""
_RECORD = """#!/bin/sh
echo "$(basename "$0") $*" >>"$SLURM_LOG"
"""
_SQUEUE = (
    _RECORD
    + """case "$*" in
*%F\\|%j*) echo "$STAND_IN_NAMES" ;;
*) echo "$STAND_IN_STATES" ;;
esac
"""
)


def stand_in_slurm(folder: Path) -> dict[str, str]:
    """Commands in place of Slurm's; returns the variables with which they are found."""
    commands = {"sbatch": _SBATCH, "squeue": _SQUEUE, "scancel": _RECORD, "sacct": _RECORD}
    folder.mkdir(parents=True)
    for name, text in commands.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_LOG": str(folder / "log")}


_OPENED, _IS_FOLDER, _NO_WAIT = 0x20, 0x40000000, 0o4000  # inotify(7)


@contextlib.contextmanager
def opened_in(folder: Path) -> Iterator[Callable[[], list[str]]]:
    """What any process opens in a folder and those below it, by name, meanwhile (inotify(7))."""
    library = ctypes.CDLL(None, use_errno=True)
    watch = library.inotify_init1(_NO_WAIT)
    assert watch >= 0
    for each in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        assert library.inotify_add_watch(watch, os.fsencode(each), _OPENED) >= 0

    def names() -> list[str]:
        found = []
        with contextlib.suppress(BlockingIOError):
            while events := os.read(watch, 1 << 16):
                while events:
                    _, mask, _, length = struct.unpack_from("iIII", events)
                    name = events[16 : 16 + length].rstrip(b"\0").decode()
                    found.append(f"{name or folder.name}{'/' if mask & _IS_FOLDER else ''}")
                    events = events[16 + length :]
        return found

    try:
        yield names
    finally:
        os.close(watch)
