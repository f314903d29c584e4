"""The examples of a command's help, laid out so that each line can be copied into a shell."""

from __future__ import annotations

import re

# The comment after a command, in the docstrings of commands.
_COMMENT = re.compile(r"\s{2,}# ")
_INDENT = "  "
_NARROWEST = 40  # columns; narrower terminals break lines themselves


def example_commands(examples: str) -> list[str]:
    """The commands alone, without their comments."""
    return [command for command, _ in _split(examples)]


def laid_out(examples: str, width: int) -> str:
    """The examples as help shows them, in lines of at most ``width`` columns.

    Comments begin with ``#``, in one column. A comment that doesn't fit is a line above its
    command. A command that doesn't fit continues in the next line after a backslash, as in a shell.
    """
    room = max(width, _NARROWEST) - len(_INDENT) - 1
    rows = _split(examples)
    column = _comment_column(rows, room)
    lines = []
    for command, why in rows:
        if why and len(command) <= column and column + len(f"  # {why}") <= room:
            lines.append(f"{command:<{column}}  # {why}")
            continue
        if why:
            lines += _wrapped(why.split(" "), room, "# ", "# ")
        lines += _wrapped(_shell_words(command), room, "", _INDENT, end=" \\")
    return "\n".join(_INDENT + line for line in lines)


def _comment_column(rows: list[tuple[str, str]], room: int) -> int:
    """The column of the comments at which most of them fit beside their commands."""

    def beside(column: int) -> int:
        return sum(
            len(command) <= column and column + len(f"  # {why}") <= room
            for command, why in rows
            if why
        )

    return max((len(command) for command, why in rows if why), key=beside, default=0)


def _split(examples: str) -> list[tuple[str, str]]:
    """Commands and their comments."""
    found = []
    for line in examples.splitlines():
        if line.strip():
            command, *comment = _COMMENT.split(line.strip(), maxsplit=1)
            found.append((command, comment[0] if comment else ""))
    return found


def _shell_words(command: str) -> list[str]:
    """The words of a command as written, with their quotes; an option includes its value."""
    words: list[str] = []
    for word in re.findall(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""", command):
        if words and words[-1].startswith("--") and " " not in words[-1] and word[0] != "-":
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def _wrapped(words: list[str], room: int, first: str, later: str, end: str = "") -> list[str]:
    """The words in lines of at most ``room`` columns; all lines but the last end in ``end``."""
    lines, line = [], first + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) + len(end) > room:
            lines.append(line + end)
            line = later + word
        else:
            line += f" {word}"
    return [*lines, line]
