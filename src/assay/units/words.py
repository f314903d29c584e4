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


def counted_verb(number: int, noun: str, verb: str) -> str:
    """``1 rank repeats``, ``2 ranks repeat``, ``0 nodes were``: number, noun and verb.

    ``verb`` is the plural form. Negations such as ``don't`` also count as verbs.
    """
    return f"{counted(number, noun)} {agreeing(number, verb)}"


def agreeing(number: int, verb: str) -> str:
    """The verb, given in the plural, in the form that agrees with a number."""
    if number != 1:
        return verb
    if verb in _SINGULAR:
        return _SINGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}{'es' if verb.endswith(('s', 'x', 'ch', 'sh', 'o')) else 's'}"


_SINGULAR = {
    "are": "is",
    "aren't": "isn't",
    "were": "was",
    "weren't": "wasn't",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "can": "can",
    "can't": "can't",
}


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``. Raises IndexError for an empty list."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
