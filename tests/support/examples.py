"""The commands of assay that help and documents show as examples."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from assay.cli.app import COMMANDS, HIDDEN, SUBCOMMANDS, command_name, help_of

ROOT = Path(__file__).parents[2]
PATHS = [
    (),
    *((command_name(name),) for name in (*COMMANDS, *HIDDEN)),
    *((group, name) for group, names in SUBCOMMANDS.items() for name in names),
]
# The pages with examples that readers type.
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_MODULES = {command_name(name): name for name in COMMANDS}
_ENDS = ("|", ">", "&&")


def examples() -> list[str]:
    """Each command once, as written, without its explanation."""
    lines = []
    for path in PATHS:
        if path and path[0] not in HIDDEN:
            lines += help_of(_MODULES.get(path[0], path[0]), *path[1:])[1].splitlines()
    for page in PAGES:
        for block in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
            lines += block.replace("\\\n", " ").splitlines()
    commands = (line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in lines)
    found = {
        re.split(r"\s{3,}(?=\S)|\s+#\s", line)[0].strip()
        for line in commands
        if re.match(r"assay( [a-z-]|$)", line)
    }
    return sorted(found)


def words_of(example: str) -> list[str]:
    """The words after ``assay``, up to the first operator of the shell."""
    words = shlex.split(example)[1:]
    return words[: min((words.index(end) for end in _ENDS if end in words), default=99)]
