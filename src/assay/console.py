"""Prints the output of commands: a Rich console on stderr or stdout, JSON on stdout, errors."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

# Characters that a terminal interprets instead of showing: control characters (C0, C1) except tab
# and line feed, and characters that reverse the direction of text (Unicode UAX #9). Also lone
# surrogates, which can't be encoded.
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


_BLANKS = re.compile(r"[ \t]+\n")
_UNBOUNDED = 10_000  # columns of output outside a terminal
_MAX_SENTENCE = 800  # maximum characters of a sentence on the terminal


def harmless(text: str) -> str:
    """The text with U+FFFD in place of every character that a terminal would interpret.

    Host names, titles and errors come from untrusted files and programs.
    """
    return _COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def console(*, stderr: bool = False) -> Console:
    """A Rich console.

    It honours NO_COLOR, and is plain if the output is not a terminal. Outside a terminal, nothing
    is wrapped and no line ends in blanks, unless ``COLUMNS`` sets a width, since readers of pipes
    and files search lines.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    piped = not stream.isatty()
    width = _UNBOUNDED if piped and not os.environ.get("COLUMNS", "").isdigit() else None

    class HarmlessConsole(Console):
        """A console whose texts can't control the terminal. Rich's own control codes stay."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control or segment.text.isprintable():
                    yield segment
                else:
                    yield segment._replace(text=harmless(segment.text))

    return HarmlessConsole(
        stderr=stderr,
        file=cast(IO[str], _WithoutTrailingBlanks(stderr=stderr)) if piped else None,
        width=width,
        highlight=False,
        soft_wrap=False,
    )


class _WithoutTrailingBlanks:
    """stdout or stderr, without the blanks at the ends of tables' lines.

    The stream is looked up at each use, as in Rich.
    """

    def __init__(self, *, stderr: bool) -> None:
        self._stderr = stderr

    @property
    def _stream(self) -> TextIO:
        return sys.stderr if self._stderr else sys.stdout

    def write(self, text: str) -> int:
        self._stream.write(_BLANKS.sub("\n", text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def print_json(value: object) -> None:
    """Print one indented JSON document on stdout, from msgspec structs and plain values."""
    import msgspec

    try:
        encoded = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a path that is not UTF-8
        encoded = msgspec.json.encode(_as_text(msgspec.to_builtins(value)))
    text = msgspec.json.format(encoded, indent=2)
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()


def _capped(text: str) -> str:
    """The text, shortened to its beginning and end if it is too long to show."""
    if len(text) <= _MAX_SENTENCE:
        return text
    return f"{text[: _MAX_SENTENCE // 2]} … {text[-_MAX_SENTENCE // 4 :]}"


def _as_text(value: object) -> object:
    """The value with ``?`` for lone surrogates, which Python uses for undecodable bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_as_text(name): _as_text(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    return value


def print_error(what: str, *, where: str = "", fix: str = "", detail: str = "") -> None:
    """Print an error message on stderr: what is wrong, where, and the fix."""
    lines = [detail.rstrip()] if detail else []
    lines.append("assay: " + (f"{_capped(where)}: " if where else "") + _capped(what))
    if fix:
        lines.append(f"       {fix}")
    with contextlib.suppress(OSError, ValueError):  # a full or closed standard error
        print(harmless("\n".join(lines)), file=sys.stderr)


def unforeseen(error: BaseException) -> dict[str, str]:
    """Arguments of ``print_error`` for a programming error: a sentence, and the place of the
    details.

    System conditions are handled by ``conditions.condition``.
    """
    return {"what": "An unexpected error occurred.", "fix": _details(error)}


def _details(error: BaseException) -> str:
    """Save command, version and traceback in a temporary file.

    Returns a sentence that names the file. If the file can't be written, the sentence has the last
    line of the traceback.
    """
    import tempfile
    import traceback

    from assay.version import VERSION

    text = "".join(traceback.format_exception(error))
    head = f"assay {VERSION}, Python {sys.version}\n{' '.join(command_line())}\n\n"
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="assay-error-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="replace",
        ) as file:
            file.write(head + text)
    except OSError:
        return f"Please report this: {text.strip().splitlines()[-1]}"
    return f"Please report this with the file {file.name}, which contains the details."


def command_line() -> list[str]:
    """The command as given, for the run's record. Bytes that are not UTF-8 become U+FFFD."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    return [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in words]
