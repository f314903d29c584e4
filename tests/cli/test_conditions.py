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
from conditions import COMMANDS, begun, called, prepared
from unforeseen import UNFORESEEN


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("conditions") / "origin")


@pytest.fixture
def folder(origin: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(origin, tmp_path / "work"))


def check(
    name: str, done: subprocess.CompletedProcess[str], says: str = "", *, silent: bool = False
) -> None:
    """One sentence and a fix on standard error if it failed; no defect, no traceback.

    ``silent``: standard error is closed, so that only the status can tell.
    """
    assert done.returncode in (0, 2), (name, done.returncode, done.stderr)
    assert UNFORESEEN not in done.stderr and "Traceback" not in done.stderr, (name, done.stderr)
    assert done.returncode in (0, 2), (name, done.returncode)
    if done.returncode == 2 and not silent:
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
        ("runs", "", ">&-", "standard output: The stream is closed."),
        ("history", "ulimit -n 20", "", "ulimit -n: This command may open 20 files"),
        ("system", "mkdir x && cd x && rmdir ../x", "", "The working folder was removed."),
        ("history to a file", "ulimit -f 1", "", "ulimit -f"),
    ],
)
def test_conditions_in_short(
    folder: Path, name: str, before: str, redirected: str, says: str
) -> None:
    check(name, called(folder, COMMANDS[name], before=before, redirected=redirected), says)


# Commands by what a condition can meet in them: those that write runs, files, and nothing.
_RUNS = ("run", "measure", "import")
_FILES = ("report to a file", "history to a file", "usage to a file", "export to a file")
_PRINTED = ("report", "history", "compare", "runs", "system", "kernels", "references", "lab")
_FEW = ("run", "history", "system", "doctor", "lab", "design's example")
# Each condition, and the commands that it can affect in different ways.
CONDITIONS: dict[str, tuple[tuple[str, ...], dict[str, object]]] = {
    "full output": ((*_PRINTED, "measure", "usage", "design"), {"redirected": "> /dev/full"}),
    "closed output": (_FEW, {"redirected": ">&-"}),
    "closed errors": (
        (*_RUNS, "watch", "history", "history to a file", "usage", "design", "doctor"),
        {"redirected": "2>&-"},
    ),
    "all closed": (("run", "history", "system"), {"redirected": "<&- >&- 2>&-"}),
    "few files": ((*_RUNS, "watch", "profile", "history", "export", "simulate", "runs checked"),
                  {"before": "ulimit -n 20"}),
    "small files": ((*_RUNS, *_FILES, "profile", "watch"), {"before": "ulimit -f 1"}),
    "no folder": (_FEW, {"before": "mkdir -p x && cd x && rmdir ../x"}),
    "no home": (
        ("run", "report", "history", "doctor", "lab"),
        {"environment": {"HOME": None, "ASSAY_CACHE": None, "XDG_CACHE_HOME": None}},
    ),
    "lost home": (
        ("run", "report", "history", "doctor", "lab"),
        {"environment": {"HOME": "/proc/lost", "ASSAY_CACHE": None, "XDG_CACHE_HOME": None}},
    ),
    "no TMPDIR": (
        ("run", "measure", "report to a file", "watch", "import"),
        {"environment": {"TMPDIR": "/nonexistent"}},
    ),
    "ASCII": (
        (*_PRINTED, *_RUNS, "watch", "usage", "design", "simulate", "doctor"),
        {"environment": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0",
                         "PYTHONIOENCODING": "ascii"}},
    ),
    "cache in a file": (
        (*_RUNS, "report", "history", "compare", "kernels", "lab", "usage"),
        {"environment": {"ASSAY_CACHE": "plan.toml/cache"}},
    ),
    "cache is a file": (
        ("run", "report", "history", "lab", "usage"),
        {"environment": {"ASSAY_CACHE": "plan.toml"}},
    ),
    "little memory": (
        ("run", "history", "import", "export", "compare", "report to a file", "simulate", "usage"),
        {"before": f"ulimit -v {660 << 10}"},
    ),
    "some memory": (("run", "history", "export"), {"before": f"ulimit -v {900 << 10}"}),
    "too little memory": (("history", "import", "export"), {"before": f"ulimit -v {400 << 10}"}),
}  # fmt: skip
# What commands meet after they started: the first command of each starts the interpreter.
OF_COMMANDS = ("no home", "lost home", "no TMPDIR", "cache in a file", "cache is a file")
# What every command says, if every command has to fail.
SAYS = {
    "closed output": "standard output: The stream is closed.",
    "no folder": "The working folder was removed.",
    "too little memory": "ulimit -v: The address space is limited to 400 MiB",
}


@pytest.mark.long
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_command_in_every_condition(folder: Path, name: str) -> None:
    commands, condition_ = CONDITIONS[name]
    changed = condition_.get("environment") if name in OF_COMMANDS else None
    for number, command in enumerate(commands):
        if number > 0 and isinstance(changed, dict):
            done = begun(folder, COMMANDS[command], changed)
        else:
            done = called(folder, COMMANDS[command], **condition_)  # type: ignore[arg-type]
        silent = "2>&-" in str(condition_.get("redirected", ""))
        check(f"{command}: {name}", done, SAYS.get(name, ""), silent=silent)


# A user who owns nothing of the tests' folders.
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups --"


@pytest.fixture
def stranger(folder: Path) -> Iterator[Path]:
    """The folder, readable by all, for commands by the user nobody."""
    if os.geteuid() != 0:
        pytest.skip("only root can start commands as another user")
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, of util-linux")
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    tried = called(folder, ("--version",), user=NOBODY)
    if tried.returncode != 0:
        pytest.skip(f"another user can't start this interpreter: {tried.stderr.strip()[-80:]}")
    yield folder


@pytest.mark.long
def test_another_users_folders(stranger: Path) -> None:
    closed = stranger / "closed"
    closed.mkdir(mode=0o000)
    for command in ("history", "report", "runs", "kernels"):
        environment = {"HOME": "/nonexistent", "ASSAY_CACHE": str(closed)}
        check(command, called(stranger, COMMANDS[command], user=NOBODY, environment=environment))
    for command in ("measure", "import"):
        done = called(stranger, COMMANDS[command], user=NOBODY)
        check(command, done, "You don't have the required permission.")
    done = called(stranger, COMMANDS["history"], before="ulimit -u 1", user=NOBODY)
    check("few processes", done, "ulimit -u")


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
        done = begun(folder, tuple(words), {})
        check(name, done)
        assert done.returncode == 2, (name, done.stdout)
        assert "full" in done.stderr or "No space left" in done.stderr, (name, done.stderr)
        assert "small" in done.stderr, (name, done.stderr)
        left = [path.name for path in small.iterdir() if path.name != "filled"]
        assert not [each for each in left if each.startswith(".")], (name, left)
    cached = {"ASSAY_CACHE": str(small / "cache")}
    for name in ("report", "history", "system", "kernels"):
        check(name, begun(folder, COMMANDS[name], cached))
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


@pytest.mark.slow
def test_a_launcher_without_files_is_named(folder: Path) -> None:
    """The launcher needs several open files for each rank; forty ranks need more than 64."""
    words = ("measure", "network.barrier", "--ppn", "40", "--oversubscribe", "--budget", "4s",
             "--launches", "1..1", "--runs", "real")  # fmt: skip
    kept = {"ASSAY_CACHE": None}  # no second build of the kernels
    done = called(folder, words, before="ulimit -n 64", environment=kept)
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert "Too many files are open: the limit is 64 (ulimit -n). Raise the limit" in told, told
