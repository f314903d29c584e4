"""Texts in LaTeX: every character is printed as it is, by every engine and with the usual fonts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

_SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "#": r"\#", "$": r"\char36{}", "%": r"\%",
    "&": r"\&", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": r"\`{}",
    # Otherwise they could be an argument of the end of a row.
    "[": "{[}", "]": "{]}", "*": "{*}",
    "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "÷": r"$\div$", "≤": r"$\leq$",
    "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\rightarrow$", "∞": r"$\infty$",
    "·": r"$\cdot$", "µ": r"$\mu$", "μ": r"$\mu$", "½": r"$\frac{1}{2}$", "°": r"$^\circ$",
    "²": "$^2$", "³": "$^3$", "√": r"$\surd$", "Σ": r"$\Sigma$", "σ": r"$\sigma$",
    "…": r"\ldots{}", "–": "--", "—": "---", "“": "``", "”": "''", "‘": "`", "’": "'",
    "§": r"$\S$", "\N{NO-BREAK SPACE}": "~", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}",
    "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}",
    "ı": r"\i{}", "●": r"$\bullet$", "○": r"$\circ$",
}  # fmt: skip
_ACCENTS: Mapping[str, str] = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
# Words longer than this may be broken after these characters.
_LONG = 20
_BREAKABLE = re.compile(r"(?<=[/.=,:_-])(?=\w)")
_CODE = re.compile(r"`([^`]+)`")
_BREAK = "\N{ZERO WIDTH SPACE}"
_HYPHEN = re.compile(r"-(?=-)")
_APART = "\N{ZERO WIDTH NON-JOINER}"


def escaped(text: str) -> str:
    """The text for LaTeX, on one line. Text in `backticks` is code.

    Characters that usual fonts lack are written as their number, such as U+4E2D.
    """
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        rf"\texttt{{{_plain(part)}}}" if place % 2 else _plain(part)
        for place, part in enumerate(parts)
    )


def _plain(text: str) -> str:
    words = [
        _BREAKABLE.sub(_BREAK, word) if len(word) > _LONG else word for word in text.split(" ")
    ]
    # Two hyphens would become a dash.
    apart = _HYPHEN.sub(f"-{_APART}", " ".join(words))
    return "".join(map(_character, apart))


def _character(each: str) -> str:
    if each == _BREAK:
        return r"\allowbreak{}"
    if each == _APART:
        return "{}"
    if each in _SPECIAL:
        return _SPECIAL[each]
    if " " <= each <= "~":
        return each
    base, *marks = list(unicodedata.normalize("NFD", each))
    if marks and base.isascii() and all(mark in _ACCENTS for mark in marks):
        done = {"i": r"\i", "j": r"\j"}.get(base, base)
        for mark in marks:
            done = rf"\{_ACCENTS[mark]}{{{done}}}"
        return done
    plain = unicodedata.normalize("NFKD", each)
    if plain != each and plain.isascii() and plain.isprintable():
        return "".join(map(_character, plain))
    return rf"\texttt{{U+{ord(each):04X}}}"
