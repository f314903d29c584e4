"""Where commands print: a console for people on stderr or stdout, JSON for programs on stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A Rich console; it honours NO_COLOR, and is plain where the output is not a terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


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
    print("\n".join(lines), file=sys.stderr)


def command_line() -> list[str]:
    """The command as it was given, for the record."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]
