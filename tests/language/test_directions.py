"""Each word of direction is found in its example; the answers' tests search for all of them."""

from __future__ import annotations

import pytest

from directions_in import DirectionWord, direction_words, directions_in


@pytest.mark.parametrize("word", direction_words(), ids=lambda word: word.example)
def test_a_word_is_found_in_its_example(word: DirectionWord) -> None:
    assert list(word.matches(word.example))


def test_an_exception_covers_its_own_context_only() -> None:
    assert directions_in("check for a clock rate that falls under load") == []
    assert len(directions_in("the bandwidth falls under load")) == 1


def test_sentences_without_a_direction_have_no_word() -> None:
    assert not directions_in(
        "From 1 to 2 cores memory bandwidth is not distinguishable from equal (0.99 to 1.04).",
        "2 cores sustain 35.1 GB/s [34.9, 35.3] from memory (STREAM triad).",
        "best of 4 comparable cells",
        "DGEMM reaches 93% of the theoretical peak.",
    )
