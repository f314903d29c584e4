"""Nouns with numbers, and lists of words."""

from __future__ import annotations

from collections.abc import Sequence


def capitalised(text: str) -> str:
    """The text with a capital first letter, unless it begins with an identifier (``npb.cg``)."""
    first = text.split(" ", 1)[0].removesuffix("'s").rstrip(".,:;")
    return text if "." in first else text[:1].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    """``1 core``, ``2 cores``, ``1,024 launches``: number and noun, with plural s or es."""
    ending = "" if number == 1 else "es" if noun.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{number:,} {noun}{ending}"


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``. Raises IndexError for an empty list."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
