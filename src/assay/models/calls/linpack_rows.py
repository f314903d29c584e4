"""Messages by which the ranks of a grid column of HPL exchange the rows of a panel's pivots.

After native/linpack/swap_schedule.cpp. All ranks receive all rows of U: the rows that pivots bring
up to the panel, and the rows of the panel that stay there. A displaced row of the panel goes from
the panel's rank to the rank of the row that replaced it.
"""

from __future__ import annotations

from collections.abc import Sequence

# Sender, receiver (rows of the grid), number of words.
Messages = list[tuple[int, int, float]]

# Size of U in bytes below which few messages are faster than evenly spread ones, for a power of two
# of ranks and for other numbers (native/linpack/row_swaps.cpp).
_SMALL_CUBE, _SMALL = 512 * 1024, 80 * 1024
_WORD = 8


def swap_rounds(width: int, below: Sequence[int], owner: int, columns: int) -> list[Messages]:
    """Rounds of messages for a panel of ``width`` columns, to update that many ``columns``.

    ``below``: number of each rank's rows below the panel; ``owner``: the rank with the panel's own
    rows. Each row from the panel on has the same probability of being a pivot row; numbers of words
    are expectations.
    """
    ranks = len(below)
    if ranks == 1:
        return []
    left = width + sum(below)
    displaced = [columns * width * rows / left for rows in below]
    rows_of_u = list(displaced)
    rows_of_u[owner] += columns * width * width / left
    small = _SMALL_CUBE if ranks & (ranks - 1) == 0 else _SMALL
    by = _doubled if _WORD * width * columns < small else _around
    rounds = by(rows_of_u, displaced, owner)
    return [[message for message in one if message[2] > 0.0] for one in rounds]


def _around(rows_of_u: list[float], displaced: list[float], owner: int) -> list[Messages]:
    """Rows of U go around a ring. The panel's rank sends displaced rows to each other rank."""
    ranks = len(rows_of_u)
    rounds = []
    for step in range(1, ranks):
        messages = [
            (rank, (rank + 1) % ranks, rows_of_u[(rank - step + 1) % ranks])
            for rank in range(ranks)
        ]
        to = (owner + step) % ranks
        rounds.append([*messages, (owner, to, displaced[to])])
    return rounds


def _doubled(rows_of_u: list[float], displaced: list[float], owner: int) -> list[Messages]:
    """Recursive doubling; displaced rows go down a binomial tree on the same edges.

    Ranks count from the owner. Each rank beyond a power of two is represented by another rank.
    """
    ranks = len(rows_of_u)
    corners = 1 << (ranks.bit_length() - 1)

    def real(number: int) -> int:
        return (number + owner) % ranks

    def words(of: list[float], corner: int) -> float:
        return sum(of[real(number)] for number in range(corner, ranks, corners))

    attached = range(corners, ranks)
    rounds = [[(real(one), real(one - corners), rows_of_u[real(one)]) for one in attached]]
    known = [words(rows_of_u, corner) for corner in range(corners)]
    mask = corners // 2
    while mask > 0:
        messages = []
        for corner in range(corners):
            across = corner ^ mask
            messages.append((real(corner), real(across), known[corner]))
            if corner % (2 * mask) == 0:
                served = sum(words(displaced, one) for one in range(across, across + mask))
                messages.append((real(corner), real(across), served))
        rounds.append(messages)
        known = [known[corner] + known[corner ^ mask] for corner in range(corners)]
        mask //= 2
    back = []
    for one in attached:
        me, corner = real(one), real(one - corners)
        back += [(corner, me, sum(rows_of_u) - rows_of_u[me]), (corner, me, displaced[me])]
    rounds.append(back)
    return [messages for messages in rounds if messages]
