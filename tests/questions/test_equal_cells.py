"""Equal cells get no word of direction in any answer; planted differences get theirs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from assay.questions import NAMES
from assay.questions.common.answer import Answer
from equal_answers import EQUAL, directions_of, slow_hosts

RUNS, FEW = 200, 15


def answers(question: str, runs: int, effect: float) -> list[Answer]:
    planted = EQUAL[question]
    return [
        answer for seed in range(runs) for answer in planted(np.random.default_rng(seed), effect)
    ]


@pytest.mark.parametrize("question", NAMES)
@pytest.mark.parametrize("runs", [FEW, pytest.param(RUNS, marks=pytest.mark.long)])
def test_equal_cells_get_no_word_of_direction(question: str, runs: int) -> None:
    assert question in EQUAL, f"equal_answers.py plants no equal cells for {question!r}"
    found = [words for each in answers(question, runs, 1.0) if (words := directions_of(each))]
    # Of a thousand answers one may have a direction by chance, and a run has up to four of them.
    assert len(found) <= 1, found


DIFFERENCES = {
    "speed": (r"from 1 to 4 cores .*\d-fold",),
    "network": (
        r"8 senders take 1\.[34]", "as long as one at 1 MiB", "other takes 1.",
        "2 groups were found", "1 hop of the ring is an outlier: node3 to node4",
        "the topology shows in the ring",
        "less than pairs across the cut into halves", "avoid cyclic order", "The nodes form 2",
        "load slows victims in 16 of 16 pairs",
    ),
    "placement": (
        "Cyclic order increases the time of MG class A by", "the steadiest fast placement is 2",
        r"g\+\+ 12.2.0 is the fastest in BT class W", r"clang\+\+ 12.2.0 takes 1\.",
        "CG class B on 4 ranks is not distinguishable from 2 ranks",
    ),
    "steadiness": (
        r"Two adapters raise FT's median by (39|4\d)",
        "LU's variance is associated with steal time",
        "Rank 3 arrives last at 8",
    ),
    "papers": (r"3 of 5 conclusions of P \(2004\) hold here, 2 do not\.",),
    "design": (),
}  # fmt: skip


@pytest.mark.parametrize("question", NAMES)
def test_planted_differences_get_their_words(question: str) -> None:
    for seed in range(3):
        found = EQUAL[question](np.random.default_rng(seed), 4.0 if question == "speed" else 1.4)
        said = " ".join(
            sentence
            for answer in found
            for sentence in (answer.verdict, *answer.advice, *(row.note for row in answer.evidence))
        )
        missing = [words for words in DIFFERENCES[question] if not re.search(words, said)]
        assert not missing, said


def test_hosts_are_named_only_if_they_slow_their_sets() -> None:
    assert sum(slow_hosts(np.random.default_rng(seed), 1.0) for seed in range(RUNS)) == 0
    assert all(slow_hosts(np.random.default_rng(seed), 1.08) == 1 for seed in range(20))


def test_ranges_are_stated_where_nothing_is_distinguishable() -> None:
    verdicts = " ".join(each.verdict for each in answers("network", 1, 1.0))
    assert re.search(r"not distinguishable from the time of one at 1 MiB \(0\.9\d+ to ", verdicts)
    verdicts = " ".join(each.verdict for each in answers("placement", 1, 1.0))
    assert re.search(r"No rank order is distinguishable from block order \(2 comparisons, 0\.9",
                     verdicts)  # fmt: skip
