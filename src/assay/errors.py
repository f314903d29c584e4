"""The error that users see: what is wrong, where, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Exit status of an interrupted command, as a shell's after SIGINT.
INTERRUPTED = 130


class AssayError(Exception):
    """Invalid input, or a machine that can't do what was requested. The command exits with
    ``status``, 2.

    ``what`` is one sentence, ``where`` names file, line, key or path, ``fix`` says what to do.
    ``detail`` is shown in full before the sentence (a compiler's output, for example).
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


_LONGEST = 100  # characters of a word for which similar words are searched


def nearest(word: str, valid: Iterable[str]) -> str:
    """Suggest the most similar valid word, or list them all: ``"Did you mean 'ppn'?"``."""
    words = sorted(valid)
    if len(word) > _LONGEST:  # not a typing error, and slow to compare
        return ""
    # Swapped letters are a common typing error, but difflib rates such words as dissimilar.
    swapped = [each for each in words if sorted(each) == sorted(word)]
    close = swapped[:1] or difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Valid are: {', '.join(words)}." if words else ""
