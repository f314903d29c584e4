"""The family of a listed computer: its name without clock, counts and model numbers.

Systems of a family are near twins: they differ in clock, cores or number of nodes, so that a fit
that knows one of them looks up the others. Folds keep them together.
"""

from __future__ import annotations

import re

_CLOCK = re.compile(r"\d+(?:\.\d+)?(?:\s*/\s*[\d.]+)*\s*-?\s*[gm]hz")
_NUMBER = r"\d+|single|dual|quad|six|hexa|octo|eight|twelve"
_UNIT = r"c|cores?|ways?|w|nodes?|procs?|cpus?|processors?|x"
_COUNT = re.compile(
    rf"\b(?:{_NUMBER})[- ]?(?:{_UNIT})\b|/\d+[a-z]?(?:-\d+)?\b|\(\d+\s*[a-z]*\)|\b[qd]c\b"
)
# Model numbers of processors, and the generation that they belong to.
_MODELS = (
    (re.compile(r"\be([357])-?\s?\d{4}\w?\s*(v\d)?"), r"e\1\2"),
    (re.compile(r"\b[xlew](\d\d)(?:\d\d|xx)\b"), r"x\1"),
    (re.compile(r"\b(\d\d)xx\b"), r"x\1"),
    (re.compile(r"\b(?:gold|silver|platinum|bronze)\s*\d(\d)\d\d\w*"), r"xeon\1"),
    (re.compile(r"\b(epyc|hygon|dhyana)\s*7\w\w?(\d)x?\b"), r"\1\2"),
    (re.compile(r"\bopteron[- ]*(?:o-)?(\d\d)\d\d\w*(?: [sh]e)?"), r"opteron\1"),
    (re.compile(r"\bphi (\d)\d\d\d\w*"), r"phi\1"),
)


def family_of(computer: str) -> str:
    """The letters and digits that are left of a computer's name."""
    text = _CLOCK.sub(" ", computer.lower())
    for pattern, generation in _MODELS:
        text = pattern.sub(generation, text)
    return re.sub("[^a-z0-9]", "", _COUNT.sub(" ", text))
