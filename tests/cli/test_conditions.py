"""Conditions of the operating system through every command: one sentence with a fix, no report."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.conditions import condition, condition_of, number_in
from conditions import COMMANDS, called, prepared
from unforeseen import UNFORESEEN


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("conditions") / "origin")


@pytest.fixture
def folder(origin: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(origin, tmp_path / "work"))


def check(name: str, done: subprocess.CompletedProcess[str], says: str = "") -> None:
    """One sentence and a fix on standard error if it failed; no defect, no traceback."""
    assert done.returncode in (0, 2), (name, done.returncode, done.stderr)
    assert UNFORESEEN not in done.stderr and "Traceback" not in done.stderr, (name, done.stderr)
    if done.returncode == 2:
        assert any(line.startswith("assay: ") for line in done.stderr.splitlines()), name
    if says:
        assert done.returncode == 2 and says in done.stderr, (name, done.stderr)


def test_each_error_number_has_a_sentence_and_a_fix() -> None:
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EMFILE", "ENFILE", "EAGAIN",
                 "ENOMEM", "EIO", "ESTALE", "ENAMETOOLONG", "ELOOP", "ENOTDIR", "EBUSY",
                 "ETXTBSY", "ENOEXEC", "EFBIG", "ENOENT", "EISDIR"):  # fmt: skip
        number = getattr(errno, name)
        found = condition(OSError(number, os.strerror(number), "/some/file"))
        assert found is not None, name
        assert found.where == "/some/file" and found.what.endswith(".") and found.fix.endswith(".")
        assert number == errno.ENOENT or number_in(f"x: {os.strerror(number)} (os error)") == number
    assert condition(OSError(errno.EINVAL, "Invalid argument")) is None
    assert condition(ValueError("No space left on device")) is None
    assert condition_of(errno.EINVAL) is None


def test_causes_and_texts_of_libraries_are_recognised() -> None:
    wrapped = RuntimeError("it failed")
    wrapped.__cause__ = OSError(errno.EMFILE, "Too many open files", "x")
    for error, says in (
        (wrapped, "ulimit -n"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (ImportError("libx.so: failed to map segment from shared object"), "memory"),
        (ImportError("libx.so: cannot open shared object file: Too many open files"), "ulimit -n"),
        (MemoryError(), "memory"),
    ):
        found = condition(error)
        assert found is not None and says in found.what + found.fix


@pytest.mark.parametrize(
    ("name", "before", "redirected", "says"),
    [
        ("runs", "", "> /dev/full", "standard output: The file system is full."),
        ("runs", "", ">&-", "standard output: It is closed."),
        ("history", "ulimit -n 20", "", "ulimit -n: This command may open 20 files"),
        ("system", "mkdir x && cd x && rmdir ../x", "", "The working folder was removed."),
        ("history to a file", "ulimit -f 1", "", "ulimit -f"),
    ],
)
def test_conditions_in_short(
    folder: Path, name: str, before: str, redirected: str, says: str
) -> None:
    check(name, called(folder, COMMANDS[name], before=before, redirected=redirected), says)


CONDITIONS = {
    "full output": {"redirected": "> /dev/full"},
    "closed output": {"redirected": ">&-"},
    "closed errors": {"redirected": "2>&-"},
    "few files": {"before": "ulimit -n 20"},
    "small files": {"before": "ulimit -f 1"},
    "no folder": {"before": "mkdir -p x && cd x && rmdir ../x"},
    "no home": {"environment": {"HOME": None, "ASSAY_CACHE": None, "XDG_CACHE_HOME": None}},
    "lost home": {"environment": {"HOME": "/nonexistent", "ASSAY_CACHE": None}},
    "no TMPDIR": {"environment": {"TMPDIR": "/nonexistent"}},
    "ASCII": {"environment": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}},
    "cache in a file": {"environment": {"ASSAY_CACHE": "plan.toml/cache"}},
}
# What every command says, if every command has to fail.
SAYS = {
    "closed output": "standard output: It is closed.",
    "no folder": "The working folder was removed.",
}


@pytest.mark.long
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_command_in_every_condition(folder: Path, name: str) -> None:
    for command, words in COMMANDS.items():
        done = called(folder, words, **CONDITIONS[name])  # type: ignore[arg-type]
        check(f"{command}: {name}", done, SAYS.get(name, ""))


@pytest.fixture
def small(folder: Path) -> Iterator[Path]:
    """A full file system of 1 MiB in the folder."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a file system")
    place = folder / "small"
    place.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        with (place / "filled").open("wb") as stream, contextlib.suppress(OSError):
            stream.write(bytes(2 << 20))
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.long
def test_a_full_file_system(folder: Path, small: Path) -> None:
    for name, more in (
        ("run", ("--runs", "small")),
        ("measure", ("--runs", "small", "--keep")),
        ("import", ("--runs", "small")),
        ("report to a file", ("--output", "small/r.html")),
        ("history to a file", ("-o", "small/h.html")),
        ("usage to a file", ("-o", "small/u.html")),
        ("compare to a file", ("-o", "small/c.html")),
        ("export to a file", ("--out", "small/e.parquet")),
    ):
        words = [*COMMANDS[name], *more]
        if name.endswith("a file"):  # the last of two equal options is not accepted everywhere
            flag = more[0]
            at = words.index(flag)
            del words[at : at + 2]
        done = called(folder, tuple(words))
        check(name, done)
        assert done.returncode == 2, (name, done.stdout)
        assert "full" in done.stderr or "No space left" in done.stderr, (name, done.stderr)
        assert "small" in done.stderr, (name, done.stderr)
        left = [path.name for path in small.iterdir() if path.name != "filled"]
        assert not [each for each in left if each.startswith(".")], (name, left)
    cached = {"ASSAY_CACHE": str(small / "cache")}
    for name in ("report", "history", "system", "kernels"):
        check(name, called(folder, COMMANDS[name], environment=cached))
    for words in (("history",), ("runs",)):
        done = called(folder, words, redirected="> small/out.txt")
        check(words[0], done, "standard output: The file system is full.")


def test_a_memory_of_0_is_unknown(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to put a file over /proc/meminfo")
    (folder / "meminfo").write_text("MemTotal: 0 kB\nMemAvailable: 9457664 kB\nSwapTotal: 0 kB\n")
    done = called(folder, ("system",), user="unshare -m sh -c "
                  "'mount --bind meminfo /proc/meminfo && exec \"$0\" \"$@\"'")  # fmt: skip
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no mount namespace can be made here")
    assert "unknown, 9.02 GiB available, no swap" in " ".join(done.stdout.split())
