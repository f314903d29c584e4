"""Remote commands by a program that, like PBS's pbs_tmrsh, passes on no output and no input."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from assay.launch.allocation import remote_shell_script
from assay.schedulers.pbs import SYSTEM

# pbs_tmrsh(8B): starts the words as a program, without a shell; its output goes to the job's files.
STAND_IN = """\
#!/bin/sh
[ "$1" = n2 ] || exit 254
shift
exec env PATH=/bin:/usr/bin "$@" </dev/null >>{log} 2>&1
"""


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A remote shell, in a folder with a blank and a quote in its name."""
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    program = folder / "pbs_tmrsh"
    program.write_text(STAND_IN.format(log=shlex.quote(str(tmp_path / "log"))))
    program.chmod(0o755)
    script = folder / "remote-shell"
    script.write_text(remote_shell_script(SYSTEM, str(program)))
    script.chmod(0o755)
    return script


def ran(shell: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [shell, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def relayed(shell: Path) -> list[Path]:
    return list(shell.parent.glob("relay-*"))


def test_output_and_status_are_passed_on(shell: Path, tmp_path: Path) -> None:
    command = "cd / && printf '%s\\n' \"it's $((1 + 1))\" 'a;b' 'two\nlines'; echo no >&2; exit 3"
    done = ran(shell, "-x", "n2", command)
    assert (done.returncode, done.stdout) == (3, "it's 2\na;b\ntwo\nlines\n")
    assert done.stderr == "no\n"
    assert (tmp_path / "log").read_text() == ""
    assert relayed(shell) == []


def test_words_are_joined_and_a_failure_of_the_program_is_one(shell: Path) -> None:
    words = ["echo", "a", "b", "&&", "cat"]
    done = ran(shell, "n2", *words)
    assert (done.returncode, done.stdout) == (0, "a b\n")
    assert ran(shell, "n9", *words).returncode == 254
    assert relayed(shell) == []


def test_the_other_host_has_the_same_path(
    shell: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{tmp_path / 'two words'}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    assert ran(shell, "n2", 'echo "$PATH"').stdout == f"{path}\n"


def test_an_input_is_open_until_it_is_closed(shell: Path, tmp_path: Path) -> None:
    started, closed = tmp_path / "started", tmp_path / "closed"
    places = [shlex.quote(str(place)) for place in (started, closed)]
    command = f"touch {places[0]}; cat && touch {places[1]}; exit 5"
    with subprocess.Popen([shell, "n2", command], stdin=subprocess.PIPE) as process:
        end = time.monotonic() + 20
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert process.poll() is None
        assert not closed.exists()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 5
    assert closed.exists()
    assert relayed(shell) == []


def test_a_command_ends_while_its_input_is_open(shell: Path) -> None:
    with subprocess.Popen([shell, "n2", "exit 6"], stdin=subprocess.PIPE) as process:
        assert process.wait(20) == 6
    assert relayed(shell) == []


def test_a_signal_ends_it(shell: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = f"touch {shlex.quote(str(started))}; exec sleep 30"
    with subprocess.Popen([shell, "n2", command], stdin=subprocess.DEVNULL) as process:
        end = time.monotonic() + 20
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.terminate()
        assert process.wait(20) == 143
    assert relayed(shell) == []
