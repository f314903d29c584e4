"""The one line of a check, in a form that fits a drain reason."""

from __future__ import annotations

import re
import unicodedata

from assay.check.model import Outcome

#: Characters of the whole line.
LONGEST = 100
_CUT = "..."
# Characters of our own sentences that have a usual form in ASCII.
_PLAIN = str.maketrans(
    {"×": "x", "µ": "u", "μ": "u", "–": "-", "—": "-", "−": "-", "≤": "<=", "≥": ">=", "±": "+-"}
)


def printed_line(outcome: Outcome, reason: str) -> str:
    """``unhealthy: REASON``: at most 100 characters, all of them printable ASCII."""
    return shortened(f"{outcome}: {plain(reason)}", LONGEST)


def plain(text: str) -> str:
    """The text in printable ASCII, without line ends; ``?`` for what has no such form."""
    flat = unicodedata.normalize("NFKD", " ".join(text.translate(_PLAIN).split()))
    letters = "".join(letter for letter in flat if not unicodedata.combining(letter))
    return re.sub(r"[^ -~]", "?", letters)


def shortened(text: str, most: int) -> str:
    """The text in at most ``most`` characters, cut at a word if that costs little."""
    if len(text) <= most:
        return text
    cut = text[: most - len(_CUT)]
    head = cut.rpartition(" ")[0]
    return (head if len(head) > most * 2 // 3 else cut).rstrip(" ,;:(") + _CUT
