"""Exchanges of rows in HPL: what each rank has to get, by both algorithms."""

from __future__ import annotations

from collections import defaultdict

import pytest

from assay.models.calls.linpack_rows import Messages, swap_rounds

WIDTH = 10


def received(rounds: list[Messages]) -> dict[int, float]:
    words: dict[int, float] = defaultdict(float)
    for messages in rounds:
        for sender, receiver, number in messages:
            assert sender != receiver
            words[receiver] += number
    return words


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("owner", [0, 1])
def test_on_a_ring_each_rank_gets_u_and_its_displaced_rows(ranks: int, owner: int) -> None:
    columns = 100_000
    below = [20 + 10 * rank for rank in range(ranks)]
    rounds = swap_rounds(WIDTH, below, owner, columns)
    assert len(rounds) == ranks - 1
    left = WIDTH + sum(below)
    words = received(rounds)
    for rank in range(ranks):
        came = WIDTH * columns * below[rank] / left
        own = came + (WIDTH * columns * WIDTH / left if rank == owner else 0.0)
        back = came if rank != owner else 0.0
        assert words[rank] == pytest.approx(WIDTH * columns - own + back)


def test_few_bytes_double_with_each_round() -> None:
    # 8 ranks with as many rows: parts of 1, 2 and 4; displaced rows go down a tree: 4, 2 and 1.
    columns, rows = 100, 1_000
    rounds = swap_rounds(WIDTH, [rows] * 8, 0, columns)
    part = WIDTH * columns * rows / (WIDTH + 8 * rows)
    kept = WIDTH * columns * WIDTH / (WIDTH + 8 * rows)
    assert [len(messages) for messages in rounds] == [8 + 1, 8 + 2, 8 + 4]
    for known, served, messages in zip((1, 2, 4), (4, 2, 1), rounds, strict=True):
        sent = [words for sender, _, words in messages if sender == 0]
        assert sent == pytest.approx([known * part + kept, served * part])
    # All have U, and the last ones nothing but their own displaced rows.
    words = received(rounds)
    assert words[1] == pytest.approx(WIDTH * columns - part + part)


@pytest.mark.parametrize("ranks", [3, 5, 6, 7])
@pytest.mark.parametrize("owner", [0, 2])
def test_ranks_beyond_a_power_of_two_get_all_from_their_partner(ranks: int, owner: int) -> None:
    columns = 8
    below = [20 + 10 * rank for rank in range(ranks)]
    rounds = swap_rounds(WIDTH, below, owner, columns)
    left = WIDTH + sum(below)
    words = received(rounds)
    last = (ranks - 1 + owner) % ranks
    # Its own rows of U are with it, and as many displaced ones come.
    assert words[last] == pytest.approx(WIDTH * columns)
    for rank, share in enumerate(below):
        # Others get at least the rows of U that are not theirs.
        assert words[rank] > WIDTH * columns * (1 - (share + WIDTH) / left) - 1e-6
    assert len(words) == ranks


def test_one_rank_exchanges_nothing() -> None:
    assert swap_rounds(WIDTH, [50], 0, 10) == []
