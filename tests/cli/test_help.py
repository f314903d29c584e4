"""``--help`` of each command is pinned, and the examples in help and in the documents are real.

A change of help is made on purpose: ``python tests/cli/test_help.py`` writes the recorded texts
anew, to be read in the diff.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.app import COMMANDS, HIDDEN, SUBCOMMANDS, app, help_of, spoken

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "data" / "help"
PATHS = [
    (),
    *((spoken(name),) for name in (*COMMANDS, *HIDDEN)),
    *((group, name) for group, names in SUBCOMMANDS.items() for name in names),
]
# The pages whose examples a reader types.
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def printed_help(path: tuple[str, ...]) -> str:
    """What ``assay PATH --help`` prints 100 columns wide, without colours."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
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
    assert printed_help(path) == recorded(path).read_text("utf-8")


def test_every_recorded_help_has_its_command() -> None:
    assert {path.name for path in RECORDED.iterdir()} == {recorded(path).name for path in PATHS}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_an_example(name: str) -> None:
    summary, examples = help_of(name)
    assert summary.endswith(".") and "\n" not in summary
    assert f"assay {spoken(name)}" in examples


def _modules(path: tuple[str, ...]) -> tuple[str, ...]:
    """The modules of a command's words."""
    names = {spoken(name): name for name in COMMANDS}
    return (names.get(path[0], path[0]), *path[1:])


def examples() -> list[str]:
    """The commands of assay in the examples of help and in the fenced blocks of pages."""
    found = []
    for path in PATHS:
        if path and path[0] not in HIDDEN:
            found += help_of(*_modules(path))[1].splitlines()
    for page in PAGES:
        for block in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
            found += block.replace("\\\n", " ").splitlines()
    lines = (line.strip().removeprefix("$ ") for line in found)
    return sorted({line for line in lines if re.match(r"(\.venv/bin/)?assay( [a-z-]|$)", line)})


@pytest.mark.parametrize("line", examples())
def test_an_example_is_what_the_command_line_takes(line: str) -> None:
    """Parsed with every option and argument as the program itself parses them; nothing is run."""
    command = re.split(r"\s{3,}(?=\S)|\s+#\s", line)[0].removeprefix(".venv/bin/")
    words = shlex.split(command)[1:]
    words = words[: min((words.index(end) for end in ("|", ">", "&&") if end in words), default=99)]
    if words:
        app.parse_args(words, print_error=False, exit_on_error=False)


if __name__ == "__main__":
    RECORDED.mkdir(parents=True, exist_ok=True)
    for place in PATHS:
        recorded(place).write_text(printed_help(place), "utf-8")
