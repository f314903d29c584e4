"""Settings of a run that tools print, which are part of its cell.

Results of different settings never share a cell: their mean would have no meaning.
"""

from __future__ import annotations

import re
import shlex

from assay.importers.model import FoundValue, Line, slug, words

# Maximum number of settings in a header, and maximum characters of a setting: hostile files have
# more.
MOST_SETTINGS, _LONGEST = 40, 200
_PAIR = re.compile(r"([A-Za-z][\w /()#.-]{0,60}?)\s*[:=]\s*(\S.*)")


def command_options(
    command: str, line: int, *, alone: str = "", valued: str = "", listed: str = ""
) -> FoundValue | None:
    """The options of a command line that affect the measurement, in a fixed order, or None.

    The letters name short options that don't affect the meaning of a result: options without a
    value (``alone``), with one value (``valued``), and with a list of values (``listed``).
    """
    try:
        tokens = shlex.split(command)[1:]
    except ValueError:
        return None
    kept: list[str] = []
    dropping, every = False, False
    for token in tokens:
        option = re.match(r"-{1,2}[A-Za-z]", token) is not None
        if dropping and not option:
            dropping = every
            continue
        dropping = every = False
        letter = token[1:2] if option and token[1] != "-" else ""
        if letter and letter in valued + listed:
            dropping, every = len(token) == 2, letter in listed
        elif letter and letter in alone and len(token) == 2:
            continue
        elif option:
            kept.append(token)
        elif kept and kept[-1].startswith("-"):
            kept[-1] += f" {token}"
    text = " ".join(sorted(kept))[:_LONGEST]
    return FoundValue(text, "", line) if text else None


class HeaderSettings:
    """Settings from the lines of a header: ``Name: value`` by name, other text as a note."""

    def __init__(self) -> None:
        self.found: dict[str, FoundValue] = {}

    def take(self, text: str, line: Line) -> None:
        """A line of the header, without its comment sign."""
        text = text.strip().rstrip(".").rstrip()
        if not text or len(text) > _LONGEST or len(self.found) >= MOST_SETTINGS:
            return
        pair = _PAIR.fullmatch(text)
        name, value = (slug(pair[1]), pair[2]) if pair else ("note", text)
        if name in self.found and name == "note":
            name = f"note_{sum(each.startswith('note') for each in self.found) + 1}"
        self.found.setdefault(name or "note", words(value, line.number))
