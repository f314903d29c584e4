"""Generates the manual page and the completions of shells from the commands.

``python -m assay.manual FOLDER`` writes them below FOLDER in the layout of an installation prefix:
``share/man/man1/assay.1`` and the files for bash, zsh and fish. A wheel contains them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.app import COMMANDS, SUBCOMMANDS, app, command_name, help_of
from assay.cli.completions import Shell, completion
from assay.cli.examples import laid_out

if TYPE_CHECKING:
    from cyclopts import App

_COMPLETIONS: dict[Shell, str] = {
    "bash": "share/bash-completion/completions/assay",
    "zsh": "share/zsh/site-functions/_assay",
    "fish": "share/fish/vendor_completions.d/assay.fish",
}
_WIDTH = 76  # columns of examples on the manual page
_MANUAL = "share/man/man1/assay.1"
_STATUS = (
    ("0", "Done."),
    (
        "1",
        "A result matches --fail-on, a node is unhealthy (assay check), or a machine is rejected "
        "(assay accept).",
    ),
    ("2", "The input is wrong, or an error occurred. The message names its place and the fix."),
    ("3", "A node or a machine could not be judged (assay check, assay accept)."),
    ("130", "The command was interrupted. Measurements are kept, and --resume continues."),
)
_ENVIRONMENT = (
    ("ASSAY_CACHE", "The folder of built kernels [default: ~/.cache/assay]."),
    ("ASSAY_SHARED_CACHE", "The site's folder of built kernels, read only [default: none]."),
    ("ASSAY_CHECKS", "The folder of the fleet's checks [default: as in assay.toml]."),
    ("NO_COLOR", "If set, output has no colours."),
)


def shared_files() -> dict[str, str]:
    """The files, by path below an installation's prefix."""
    files = {path: completion(shell) for shell, path in _COMPLETIONS.items()}
    return {path: f"{text.rstrip()}\n" for path, text in {**files, _MANUAL: manual()}.items()}


def manual() -> str:
    """The manual page, in the man macros of roff."""
    lines = [
        '.TH ASSAY 1 "" assay "User commands"',
        ".SH NAME",
        "assay \\- measure a machine or a cluster",
        ".SH SYNOPSIS",
        ".B assay",
        ".I COMMAND",
        ".RI [ OPTIONS ]",
        ".SH DESCRIPTION",
        _text(str(app.help)),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        lines += _command(app[command_name(name)], name)
        for below in SUBCOMMANDS.get(name, ()):
            lines += _command(app[name][below], name, below)
    for title, rows in (("EXIT STATUS", _STATUS), ("ENVIRONMENT", _ENVIRONMENT)):
        lines.append(f".SH {title}")
        for head, meaning in rows:
            lines += [".TP", f".B {_text(head)}", _text(meaning)]
    return "\n".join(lines) + "\n"


def _command(command: App, *names: str) -> Iterator[str]:
    """The section of a command: what it does, its options, its examples."""
    summary, examples = help_of(*names)
    yield f'.SS "{" ".join(("assay", *map(command_name, names)))}"'
    yield _text(" ".join(summary.split()))
    if names[0] not in SUBCOMMANDS or len(names) > 1:
        for option, meaning in _options(command):
            yield from (".TP", f".B {_text(option)}", _text(meaning))
    if examples:
        yield from (".PP", "Examples:", ".PP", ".nf", ".RS 2")
        yield from (_text(line[2:]) for line in laid_out(examples, _WIDTH).splitlines())
        yield from (".RE", ".fi")


def _options(command: App) -> Iterator[tuple[str, str]]:
    """Name and meaning of each argument and option."""
    for argument in command.assemble_argument_collection(parse_docstring=True):
        parameter = argument.parameter
        if parameter.show is False or not argument.names:
            continue
        names = [name for name in argument.names if not name.startswith("--no-")]
        if argument.field_info.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            names = [names[0].removeprefix("--").upper()]
        yield ", ".join(names), " ".join((parameter.help or "").split())


def _text(text: str) -> str:
    """Text with the characters escaped that roff would interpret."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def write(folder: Path) -> list[Path]:
    """Write the files below a folder. Returns their paths."""
    written = []
    for path, text in shared_files().items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        written.append(target)
    return written


if __name__ == "__main__":
    for _path in write(Path(sys.argv[1])):
        print(_path)
