"""Builds that are killed go on where they were, and builds of the site are used by everybody."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import prepared_assay
import slow_kernels
from assay.locking import excludes_others
from waiting import wait_for

FILES = 6


class Builder:
    """``assay kernels --build`` with a cache of its own and compilers that take a while."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kernels = path / "kernels"
        kernels.write_text("#!/bin/sh\necho the kernels\n")
        self.tools = path / "tools"
        variables = slow_kernels.put_tools(self.tools, kernels, FILES, 0.05)
        self.environment = {
            **{k: v for k, v in os.environ.items() if k != "ASSAY_SHARED_CACHE"},
            **variables,
            "ASSAY_CACHE": str(path / "cache"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        (path / "assay.toml").write_text("")
        self.command = [
            *(sys.executable, slow_kernels.__file__, "kernels", "--build"),
            *("--config", "assay.toml"),
        ]

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.command, *words],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def build(self, *words: str) -> subprocess.CompletedProcess[str]:
        return prepared_assay.run(
            [*self.command, *words],
            cwd=self.path,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def compiled(self) -> list[int]:
        return slow_kernels.compiled(self.tools)

    def noted(self) -> int:
        """How many files the journal names; on a busy machine it lags behind the compiler."""
        found = [*(self.path / "cache/builds").glob(".partial-*/journal.jsonl")]
        return found[0].read_bytes().count(b"\n") if found else 0

    def interrupted(self, after: int = 3, number: int = signal.SIGKILL) -> Path:
        """End a build after some files; returns the folder that is kept."""
        self.environment["ASSAY_TEST_SECONDS"] = "0.4"
        command = self.start()
        wait_for(lambda: len(self.compiled()) > after and self.noted() >= after, 30)
        command.send_signal(number)
        command.communicate(timeout=30)
        self.environment["ASSAY_TEST_SECONDS"] = "0.05"
        (folder,) = (self.path / "cache/builds").glob(".partial-*")
        return folder


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def objects(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "work").glob("*.o"))


def test_an_interrupted_build_goes_on(builder: Builder) -> None:
    folder = builder.interrupted(number=signal.SIGINT)
    before = objects(folder)
    assert 2 <= len(before) < FILES
    first = builder.compiled()
    done = builder.build("--json")
    assert done.returncode == 0, done.stderr
    executable = Path(json.loads(done.stdout)["executable"])
    assert "the kernels" in executable.read_text()
    again = builder.compiled()[len(first) :]
    assert {f"{number}.cpp.o" for number in again}.isdisjoint(before)
    assert len(again) == FILES - len(before)
    assert not folder.exists()
    # A person sees how far it is, of the whole.
    assert f"of {FILES + 1} steps" in done.stderr


def test_of_a_killed_build_only_what_its_journal_names_is_kept(builder: Builder) -> None:
    folder = builder.interrupted(number=signal.SIGINT)
    work, journal = folder / "work", folder / "journal.jsonl"
    kept = len(objects(folder))
    (work / "1.cpp.o").write_text("")  # the node failed before it was written
    (work / "9.cpp.o").write_text("object 9")  # of nobody
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + b"".join(lines[2:]) + b'{"file": "3.c')
    first = builder.compiled()
    done = builder.build()
    assert done.returncode == 0, done.stderr
    again = builder.compiled()[len(first) :]
    assert {1, 2} <= set(again)
    assert len(again) == FILES - kept + 2


def test_a_damaged_folder_is_begun_anew(builder: Builder) -> None:
    folder = builder.interrupted(number=signal.SIGINT)
    next((folder / "native/harness").glob("*.hpp")).write_text("other sources")
    first = builder.compiled()
    assert builder.build().returncode == 0
    assert builder.compiled()[len(first) :] == list(range(1, FILES + 1))


def test_a_failure_of_a_continued_build_is_tried_once_from_the_beginning(builder: Builder) -> None:
    builder.interrupted(number=signal.SIGINT)
    first = builder.compiled()
    fail = builder.tools / "compiled.fail"
    fail.write_text(str(FILES))
    done = builder.build()
    assert done.returncode == 2
    assert f"{FILES}.cpp:1:1: error: no such thing" in done.stderr
    again = builder.compiled()[len(first) :]
    assert again[-FILES:] == list(range(1, FILES + 1))
    assert len(again) < 2 * FILES
    assert list((builder.path / "cache/builds").iterdir()) == []
    fail.unlink()
    assert builder.build().returncode == 0


def test_a_killed_builders_compilers_are_waited_for(builder: Builder) -> None:
    """They outlive it for a moment, and write into the folder that is continued."""
    builder.interrupted(number=signal.SIGKILL)
    both = [builder.start(), builder.start()]
    for command in both:
        _, said = command.communicate(timeout=60)
        assert command.returncode == 0, said
    numbers = builder.compiled()
    assert set(numbers) == set(range(1, FILES + 1))
    assert len(numbers) <= FILES + 1  # the one that was being compiled, and no other


def test_without_locks_between_nodes_nobody_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    path = tmp_path / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    for line, certain in (
        ("server:/x {} nfs4 rw,relatime,vers=4.2 0 0", True),
        ("server:/x {} nfs rw,local_lock=flock 0 0", False),
        ("server:/x {} nfs rw,local_lock=none 0 0", True),
        ("server:/x {} nfs rw,nolock 0 0", False),
        ("mgs:/x {} lustre rw,flock,lazystatfs 0 0", True),
        ("mgs:/x {} lustre rw,localflock 0 0", False),
        ("mgs:/x {} lustre rw 0 0", False),
        ("beegfs_nodev {} beegfs rw 0 0", False),
        ("gpfs1 {} gpfs rw 0 0", True),
        ("x /elsewhere nfs rw,nolock 0 0", True),
    ):
        mounts.write_text(f"/dev/sda / ext4 rw 0 0\n{line.format(tmp_path)}\n")
        assert excludes_others(descriptor, path, mounts) is certain, line

    def lockless(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", lockless)
    assert not excludes_others(descriptor, path, mounts)
    os.close(descriptor)


# ---- builds of the site --------------------------------------------------------------------------


@pytest.fixture
def shared(builder: Builder) -> Path:
    """The folder of the site, with a build that everybody may read."""
    folder = builder.path / "opt/builds"
    (builder.path / "assay.toml").write_text('[cache]\nshared = "opt/builds"\n')
    mask = os.umask(0o077)
    try:
        done = builder.build("--shared", "--json")
    finally:
        os.umask(mask)
    assert done.returncode == 0, done.stderr
    executable = Path(json.loads(done.stdout)["executable"])
    assert executable.parents[1] == folder
    for path in (folder, executable.parent, *executable.parent.iterdir()):
        runs = path.is_dir() or path == executable
        assert path.stat().st_mode & 0o777 == (0o755 if runs else 0o644), path
    builder.environment["ASSAY_CACHE"] = str(builder.path / "of another user")
    return folder


def test_the_builds_of_the_site_are_looked_up_first(builder: Builder, shared: Path) -> None:
    before = builder.compiled()
    done = builder.build("--json")
    assert done.returncode == 0, done.stderr
    assert Path(json.loads(done.stdout)["executable"]).parents[1] == shared
    assert builder.compiled() == before
    assert not (builder.path / "of another user/builds").exists()
    # The variable takes precedence; empty, it switches the site's builds off.
    builder.environment["ASSAY_SHARED_CACHE"] = ""
    assert builder.build().returncode == 0
    assert len(builder.compiled()) == 2 * len(before)


def test_a_damaged_build_of_the_site_is_not_used(builder: Builder, shared: Path) -> None:
    before = builder.compiled()
    next(shared.glob("*/assay-kernels")).write_text("planted")
    assert builder.build().returncode == 0
    assert len(builder.compiled()) == 2 * len(before)
    again = builder.build("--shared", "--json")
    assert "the kernels" in Path(json.loads(again.stdout)["executable"]).read_text()


def test_a_missing_folder_of_the_site_is_no_obstacle(builder: Builder) -> None:
    (builder.path / "assay.toml").write_text('[cache]\nshared = "/not/mounted/here"\n')
    assert builder.build().returncode == 0


Change = Callable[[Path], None]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda folder: folder.chmod(0o777), "may be written by all users"),
        (lambda folder: folder.parent.chmod(0o777), "may be written by all users"),
        (
            lambda folder: next(folder.glob("*/assay-kernels")).chmod(0o777),
            "may be written by all users",
        ),
        pytest.param(
            lambda folder: os.chown(folder, 12345, 0),
            "belongs to the user with the number 12345",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away"),
        ),
    ],
)
@pytest.mark.long
def test_builds_that_others_may_write_are_refused(
    builder: Builder, shared: Path, change: Change, complaint: str
) -> None:
    change(shared)
    done = builder.build()
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "ASSAY_SHARED_CACHE" in done.stderr


def test_without_a_folder_nothing_is_shared(builder: Builder) -> None:
    done = builder.build("--shared")
    assert done.returncode == 2
    assert "No folder of shared builds is named." in done.stderr
