"""Numbers of a question that can't be, on the first screen: the first, and how many more."""

from __future__ import annotations

from collections.abc import Collection

from assay.report.model import Section

# Sentences of each question; its caveats have all.
MOST_IMPOSSIBLE = 2


def impossible_sentences(section: Section, stated: Collection[str] = ()) -> list[str]:
    """Its sentences without those ``stated`` before, alone or within more words; of many the first.

    The first screen has to stay one: a machine whose limit is wrong has a sentence for every cell.
    """
    new = dict.fromkeys(each.sentence for each in section.impossible)
    sentences = [each for each in new if not any(each in said for said in stated)]
    more = len(sentences) - MOST_IMPOSSIBLE
    if more <= 0:
        return sentences
    return [
        *sentences[:MOST_IMPOSSIBLE],
        f"{more} more of its numbers can't be; see its caveats.",
    ]
