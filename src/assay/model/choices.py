"""Sentences of a plan on the choices that the machine decided, for readers."""

from __future__ import annotations

import re
from collections.abc import Iterable

# "npb.cg: class=A, the largest with core_seconds <= 2." (``plans.largest_choice``)
_CHOICE = re.compile(r"([\w.]+): (\S+), (the largest with .+\.)")


def grouped_choices(choices: Iterable[str]) -> list[str]:
    """The sentences of a plan on its choices, one per rule.

    ``npb.ep class=B, npb.cg class=A: the largest with core_seconds <= 2.``
    """
    groups: dict[str, list[str]] = {}
    for sentence in choices:
        match = _CHOICE.fullmatch(sentence)
        rule, chosen = (match[3], f"{match[1]} {match[2]}") if match else (sentence, "")
        groups.setdefault(rule, []).append(chosen)
    return [
        f"{', '.join(chosen)}: {rule}" if all(chosen) else rule for rule, chosen in groups.items()
    ]
