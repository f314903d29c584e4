"""The commands of assay that help and documents show as examples."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import prepared_assay
from assay.cli.app import COMMANDS, HIDDEN, SUBCOMMANDS, command_name, help_of
from assay.lab.store import FOLDER_VARIABLE

ROOT = Path(__file__).parents[2]
DRIVER = ROOT / "tests" / "support" / "assay_with_processes.py"
PATHS = [
    (),
    *((command_name(name),) for name in (*COMMANDS, *HIDDEN)),
    *((group, name) for group, names in SUBCOMMANDS.items() for name in names),
]
# The pages with examples that readers type.
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    + [page for folder in ("docs", "packaging") for page in (ROOT / folder).rglob("*.md")]
)
_MODULES = {command_name(name): name for name in COMMANDS}
_ENDS = ("|", ">", "&&")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: the page's path, the block's language and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """The page and the block's first line, which stay when other blocks are added."""
        return f"{self.page}: {self.text.strip().splitlines()[0].strip()}"

    @property
    def commands(self) -> list[str]:
        """Its lines as a reader types them: without prompts, comments and continuations."""
        lines = self.text.replace("\\\n", " ").splitlines()
        typed = (_PROMPT.sub("", line.strip()) for line in lines)
        return [line for line in typed if line and not line.startswith("#")]


# The prompt before a command, and the path of a checkout's own command.
_PROMPT = re.compile(r"^(?:\w*\$ )?(?:\.venv/bin/)?")


@cache
def blocks() -> tuple[Block, ...]:
    """All fenced blocks of the pages."""
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for match in re.finditer(r"^ *```([a-z]*)[^\n]*\n(.*?)^ *```", text, re.S | re.M):
            line = text[: match.start()].count("\n") + 1
            found.append(Block(str(page.relative_to(ROOT)), line, match[1], match[2]))
    return tuple(found)


def command_of(line: str) -> str | None:
    """The command of assay that a line shows, without its explanation; None for other lines."""
    line = re.split(r"\s{3,}(?=\S)|\s+#\s", line)[0].strip()
    return line if re.match(r"assay( [a-z-]|$)", line) else None


def examples() -> list[str]:
    """Each command once, as written, without its explanation."""
    lines = []
    for path in PATHS:
        if path and path[0] not in HIDDEN:
            lines += help_of(_MODULES.get(path[0], path[0]), *path[1:])[1].splitlines()
    lines = [_PROMPT.sub("", line.strip()) for line in lines]
    for block in blocks():
        lines += block.commands
    # Other tables name commands without their arguments.
    use = (ROOT / "README.md").read_text().partition("\n## Use\n")[2].partition("\n## ")[0]
    table = [row for row in use.splitlines() if row.startswith("|")]
    lines += [code for row in table for code in re.findall(r"`(assay [^`]*)`", row)]
    return sorted({found for line in lines if (found := command_of(line)) is not None})


def words_of(example: str) -> list[str]:
    """The words after ``assay``, up to the first operator of the shell."""
    words = shlex.split(example)[1:]
    return words[: min((words.index(end) for end in _ENDS if end in words), default=99)]


def executed(
    folder: Path, *words: str, statuses: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    """Run assay in the folder; its scheduler is the one of processes."""
    environment = {
        **os.environ,
        "ASSAY_TEST_SCHEDULER": str(folder / "scheduler"),
        FOLDER_VARIABLE: str(folder / "labs"),
        "ASSAY_CHECKS": str(folder / "checks"),
        "PATH": os.pathsep.join([str(folder / "programs"), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "NO_COLOR": "1",
    }
    done = prepared_assay.run(
        [sys.executable, str(DRIVER), *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode in statuses, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done
