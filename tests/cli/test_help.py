"""``--help`` of each command is pinned, and the examples in help and in the documents exist.

``test_examples.py`` executes them.

To change help on purpose, run ``python tests/cli/test_help.py``: it writes the recorded texts
again, for review in the diff.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import prepared_assay
from assay.cli.app import COMMANDS, app, command_name, help_of
from assay.cli.options import with_values
from assay.plans.suites import suites
from examples import PATHS, ROOT, examples, words_of

# What follows "assay run" in prose.
ORDINARY_WORDS = {"plan"}
RECORDED = ROOT / "tests" / "data" / "help"


def printed_help(
    path: tuple[str, ...], run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
) -> str:
    """The output of ``assay PATH --help``, 100 columns wide, without colours."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    done = run(
        [sys.executable, "-m", "assay", *path, "--help"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def recorded(path: tuple[str, ...]) -> Path:
    return RECORDED / ("-".join(("assay", *path)) + ".txt")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: " ".join(("assay", *path)))
def test_help_is_the_recorded_one(path: tuple[str, ...]) -> None:
    assert printed_help(path, prepared_assay.run) == recorded(path).read_text("utf-8")


@pytest.mark.parametrize("path", [(), ("run",)], ids=str)
def test_help_of_a_new_process_is_the_same(path: tuple[str, ...]) -> None:
    assert printed_help(path) == recorded(path).read_text("utf-8")


def test_every_recorded_help_has_its_command() -> None:
    assert {path.name for path in RECORDED.iterdir()} == {recorded(path).name for path in PATHS}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_an_example(name: str) -> None:
    summary, shown = help_of(name)
    assert summary.endswith(".") and "\n" not in summary
    assert f"assay {command_name(name)}" in shown


@pytest.mark.parametrize("line", examples())
def test_the_command_line_accepts_each_example(line: str) -> None:
    """Parsed with every option and argument as the program itself parses them; nothing is run."""
    words = words_of(line)
    if words:
        app.parse_args(with_values(words), print_error=False, exit_on_error=False)


def test_suites_that_texts_advise_exist() -> None:
    """`assay run WORD` in messages of the package names a suite."""
    known = suites().keys() | ORDINARY_WORDS
    for path in (ROOT / "src" / "assay").rglob("*.py"):
        for word in re.findall(r"assay run ([a-z][\w-]*)\b(?![.=])", path.read_text("utf-8")):
            assert word in known, f"{path}: assay run {word}"


if __name__ == "__main__":
    RECORDED.mkdir(parents=True, exist_ok=True)
    for place in PATHS:
        recorded(place).write_text(printed_help(place), "utf-8")
