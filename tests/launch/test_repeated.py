"""Launches one after the other read the same input, and only the first one's output is shown."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.launch.repeated import copied_input

# Launches the command so often; statuses follow as words.
_LAUNCHES = textwrap.dedent(
    """\
    import subprocess, sys
    from assay.errors import AssayError
    from assay.launch.repeated import RepeatedStreams
    streams = RepeatedStreams()
    for number in range(int(sys.argv[1])):
        try:
            with streams.launch() as one:
                done = subprocess.run(["sh", "-c", sys.argv[2], "sh", str(number + 1)],
                                      stdin=one.stdin, stdout=one.output, stderr=one.output)
                one.status = done.returncode
        except AssayError as error:
            sys.exit(f"refused: {error}")
    """
)


def _launched(
    program: str, launches: int = 3, *, variables: Mapping[str, str] | None = None, **given: object
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", _LAUNCHES, str(launches), program],
        capture_output=True, check=False, timeout=60, env={**os.environ, **(variables or {})},
        **given,
    )  # type: ignore[call-overload]  # fmt: skip


# Each launch appends what it read to a file.
_READ = 'cat >>"$FILE"; echo "|" >>"$FILE"'


@pytest.mark.parametrize("size", [0, 5, 3_000_000])
@pytest.mark.parametrize("pipe", [False, True])
def test_each_launch_reads_the_same_input(tmp_path: Path, size: int, pipe: bool) -> None:
    """From a file beginning where assay found it."""
    seen, source = tmp_path / "seen", tmp_path / "source"
    data = b"x" * size
    source.write_bytes(b"before" + data)
    with source.open("rb") as file:
        os.lseek(file.fileno(), 6, os.SEEK_SET)
        given = {"input": data} if pipe else {"stdin": file}
        done = _launched(_READ, variables={"FILE": str(seen)}, **given)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert seen.read_bytes() == (data + b"|\n") * 3


@pytest.mark.parametrize("program", ['read -r line; echo "$line" >>"$FILE"', 'echo "" >>"$FILE"'])
def test_input_that_never_ends_holds_nothing_up(tmp_path: Path, program: str) -> None:
    """A program reads a line of it, or nothing."""
    seen = tmp_path / "seen"
    reading, writing = os.pipe()
    os.write(writing, b"first\nsecond\n")
    try:
        done = _launched(program, variables={"FILE": str(seen)}, stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    expected = "first\n" if "read" in program else "\n"
    assert seen.read_text() == expected * 3


def test_without_input_each_launch_finds_none(tmp_path: Path) -> None:
    """No input at all, and the null device."""
    seen = tmp_path / "seen"
    program = '{ cat || echo none; } >>"$FILE" 2>/dev/null'
    done = _launched(program, variables={"FILE": str(seen)}, stdin=subprocess.DEVNULL)
    assert (done.returncode, seen.read_text()) == (0, "")
    words = [sys.executable, "-c", _LAUNCHES, "2", program]
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *words],
        capture_output=True, check=False, timeout=60, env={**os.environ, "FILE": str(seen)},
    )  # fmt: skip
    assert (closed.returncode, closed.stderr) == (0, b"")
    assert seen.read_text() == "none\n" * 2


def test_input_without_room_for_a_copy_is_refused_at_the_second_launch() -> None:
    """The first one reads it as usual."""

    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", sys.executable, "-c", _LAUNCHES, "2",
         "cat"],
        input=b"x" * 3_000_000, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == b"x" * 3_000_000
    assert b"refused: " in done.stderr and b"there was no room for a copy" in done.stderr


def test_later_output_is_shown_only_of_a_launch_that_fails() -> None:
    """Its end, on the standard error; a process that it leaves behind doesn't hold it up."""
    done = _launched('echo "out $1"; echo "err $1" >&2', stdin=subprocess.DEVNULL)
    assert (done.stdout, done.stderr) == (b"out 1\n", b"err 1\n")
    program = (
        '[ "$1" = 1 ] || { echo gone; head -c 200000 /dev/zero | tr "\\0" -; echo; sleep 30 & }; '
        'echo "out $1"; exit $(($1 - 1))'
    )
    failed = _launched(program, 2, stdin=subprocess.DEVNULL)
    assert failed.stdout == b"out 1\n"
    assert failed.stderr.endswith(b"-\nout 2\n") and b"gone" not in failed.stderr
    assert len(failed.stderr) == 64 << 10


def test_a_job_reads_a_copy_of_a_file(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from assay.launch.repeated import copied_input as copied; "
             "from pathlib import Path; print(copied(Path('copy')))"]  # fmt: skip
    source = tmp_path / "source"
    source.write_bytes(b"one\ntwo\n")
    with source.open("rb") as file:
        done = subprocess.run(words, stdin=file, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"copy\n"
    assert (tmp_path / "copy").read_bytes() == b"one\ntwo\n"
    for given in ({"input": b"pipe"}, {"stdin": subprocess.DEVNULL}):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True, **given)  # type: ignore[call-overload]
        assert done.stdout == b"None\n"


def test_a_copy_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.launch.repeated._offset_of_file", lambda: 0)
    with pytest.raises(AssayError, match="No such file"):
        copied_input(tmp_path / "missing" / "copy")
