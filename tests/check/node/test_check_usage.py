"""Command lines of ``assay check`` that are refused before this machine is looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import prepared_assay
from assay.check.state.file_names import host_name


def check(
    folder: Path, *words: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return prepared_assay.run(
        [sys.executable, "-m", "assay", "check", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "ASSAY_CHECKS": str(folder)} if environment is None else environment,
        timeout=120.0,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--print-hook", "slurm-prologue"), "no hook 'slurm-prologue'"),
        (("--json", "--verbose"), "--json and --verbose"),
        (("--facts", "--partner", "n2"), "--partner"),
        (("--facts", "--false-drains", "0.01"), "--false-drains"),
        (("--partner", host_name()), "own partner"),
        (("--partner", "n1; reboot"), "not a host's name"),
        (("--partner", "\udcff"), "not a host's name"),
        (("--deadline", "0"), "deadline of 0 s"),
        (("--deadline", "nan"), "deadline of nan s"),
        (("--deadline", "3600"), "deadline of 3600 s"),
        (("--false-drains", "0"), "rate of false drains"),
        (("--false-drains", "0.5"), "rate of false drains"),
        (("--record", "--learn"), "can't be combined"),
        (("--learn", "--report"), "can't be combined"),
        (("--record", "--json"), "--json has no effect"),
        (("--learn", "--scratch", "/tmp"), "--scratch has no effect"),
        (("--record", "--deadline", "9"), "--deadline has no effect"),
        (("--facts", "--junit", ""), "--junit names no file"),
        (("--facts", "--textfile", "/"), "--textfile names no file"),
        (("some-run",), "'some-run' is too much"),
        (("--report", "a.html", "b.html"), "'b.html' is too much"),
        (("--report", "a.unknown"), ".unknown"),
        (("--learn", "no-such-run"), "no-such-run"),
        (("--junit", "a", "--textfile", "a"), "same file"),
        (("--deadline", "soon"), "soon"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = check(tmp_path, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "unexpected error" not in done.stderr


def test_without_a_folder_it_says_where_to_name_one(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": str(tmp_path)}
    done = check(Path(), environment=environment)
    assert done.returncode == 2
    assert "--folder" in done.stderr and "ASSAY_CHECKS" in done.stderr


def test_learning_without_records_says_what_comes_first(tmp_path: Path) -> None:
    done = check(tmp_path, "--learn")
    assert done.returncode == 2
    assert "--record" in done.stderr
