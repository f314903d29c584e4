"""The error that users see: the problem, its place, and its fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Exit status of an interrupted command, the same as a shell's status after SIGINT.
INTERRUPTED = 130


class AssayError(Exception):
    """Invalid input, or a machine that can't do what was requested.

    The command exits with ``status``, 2. ``what`` is one sentence. ``where`` names a file, line,
    key or path. ``fix`` says what to do. ``detail``, such as a compiler's output, is shown in full
    before the sentence.
    """

    def __init__(
        self, what: str, *, where: str = "", fix: str = "", detail: str = "", status: int = 2
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix
        self.detail = detail
        self.status = status

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text} {self.fix}" if self.fix else text


_LONGEST = 100  # maximum characters of a word for which similar words are searched


def nearest(word: str, valid: Iterable[str]) -> str:
    """Suggest the most similar valid word, or list them all: ``"Did you mean 'ppn'?"``."""
    words = sorted(valid)
    if len(word) > _LONGEST:  # too long for a typing error, and slow to compare
        return ""
    # Swapped letters are a common typing error, but difflib rates such words as dissimilar.
    swapped = [each for each in words if sorted(each) == sorted(word)]
    close = swapped[:1] or difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Valid are: {', '.join(words)}." if words else ""
