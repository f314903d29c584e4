"""The one error a person sees: what is wrong, where, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AssayError(Exception):
    """Wrong input or a machine that can't do what was asked. The command line exits with 2.

    ``what`` is one sentence, ``where`` names file, line, key or path, ``fix`` says what to do.
    ``detail`` is shown whole below the sentence (a compiler's output, say).
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", detail: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix
        self.detail = detail

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text} {self.fix}" if self.fix else text


_LONGEST = 100  # characters of a word that others are looked for near


def nearest(word: str, valid: Iterable[str]) -> str:
    """Say which of the valid words was probably meant, or list them: ``"Did you mean 'ppn'?"``."""
    words = sorted(valid)
    if len(word) > _LONGEST:  # no slip of the finger, and slow to compare
        return ""
    # Letters in another order are a slip of the fingers, which difflib takes for another word.
    swapped = [each for each in words if sorted(each) == sorted(word)]
    close = swapped[:1] or difflib.get_close_matches(word, words, n=1, cutoff=0.5)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Valid are: {', '.join(words)}." if words else ""
