"""Where commands print: a console for people on stderr or stdout, JSON for programs on stdout."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

# What a terminal obeys instead of showing it: control characters (C0, C1) but for tab and line
# feed, and those that reverse the direction of text (Unicode UAX #9); halves of surrogate pairs are
# no text at all.
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """The text with U+FFFD in the place of every character that a terminal would obey.

    Names of hosts, titles and errors come from files and programs that anybody may have written.
    """
    return _COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def console(*, stderr: bool = False) -> Console:
    """A Rich console; it honours NO_COLOR, and is plain where the output is not a terminal."""
    from rich.console import Console

    class HarmlessConsole(Console):
        """A console whose texts can't command the terminal; Rich's own commands are kept."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control or segment.text.isprintable():
                    yield segment
                else:
                    yield segment._replace(text=harmless(segment.text))

    return HarmlessConsole(stderr=stderr, highlight=False, soft_wrap=False)


def print_json(value: object) -> None:
    """One JSON document on stdout, indented for people, for msgspec structs and plain values."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def print_error(what: str, *, where: str = "", fix: str = "", detail: str = "") -> None:
    """What is wrong, where, and the fix, on stderr."""
    lines = [detail.rstrip()] if detail else []
    lines.append("assay: " + (f"{where}: " if where else "") + what)
    if fix:
        lines.append(f"       {fix}")
    print(harmless("\n".join(lines)), file=sys.stderr)


def command_line() -> list[str]:
    """The command as it was given, for the record."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]
