"""Impossible numbers on the first screen: the first ones, and how many more a question has."""

from __future__ import annotations

from collections.abc import Collection

from assay.report.model import Section
from assay.units import counted_verb

# Maximum sentences per question; its caveats have all of them.
MOST_IMPOSSIBLE = 2


def impossible_sentences(section: Section, stated: Collection[str] = ()) -> list[str]:
    """The section's first sentences on impossible numbers, without those already ``stated``.

    A sentence counts as stated even as part of a longer text. All of them might not fit on the
    first screen: a machine with a wrong limit has a sentence for every cell.
    """
    new = dict.fromkeys(each.sentence for each in section.impossible)
    sentences = [each for each in new if not any(each in said for said in stated)]
    more = len(sentences) - MOST_IMPOSSIBLE
    if more <= 0:
        return sentences
    return [
        *sentences[:MOST_IMPOSSIBLE],
        f"{counted_verb(more, 'more number', 'are')} impossible; see the caveats of this question.",
    ]
