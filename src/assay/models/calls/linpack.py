"""HPL's schedule of calls on a P x Q grid of ranks, as assay's kernel executes it.

After native/linpack, which follows HPL with a look-ahead of one panel ("HPL scalability analysis",
Petitet, Whaley, Dongarra & Cleary 2004). The grid column that owns a panel updates the panel's
columns first and factors the panel, with an agreement on the pivot for each column. It then starts
to send the panel along the rows of the grid, as a modified ring, during the update of all other
columns by the previous panel. Before each update the ranks of a grid column exchange rows.

Pivots are in each row with the same probability, as in random matrices. The schedule omits the back
substitution, which has only two messages of a block per panel, while pivots have one or more
messages per column. It also omits the division of row exchanges into chunks of columns, which
overlaps copies in memory. A simulated panel represents several panels. The first one, which no
update hides, therefore weighs too much. With 60 of 209 panels times were up to 0.4% off, with 8 of
them up to 5% too long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from assay.kernels.linpack import panel_words
from assay.models.calls.actions import CallSchedule
from assay.models.calls.linpack_rows import swap_rounds
from assay.models.calls.linpack_work import RankWork

_WORD = 8
# Number of panels that are simulated. Each represents several; there are fewer if panels have many
# messages.
_MOST_PANELS, _LEAST_PANELS, _MOST_ACTIONS = 60, 8, 100_000
# Words of a message on a path of several ranks (native/linpack/broadcast.cpp). The kernel uses up
# to 64 pieces. With 8 pieces the last rank of a path of L ranks has the panel after 1 + (L - 1) / 8
# times the time of one message.
_PIECE, _MOST_PIECES = 1 << 15, 8


@dataclass(frozen=True)
class LinpackSchedule:
    """The ``schedule`` of some of the panels. The whole solution takes ``factor`` times as long."""

    schedule: CallSchedule
    factor: float


@dataclass(frozen=True)
class _Panel:
    """``width`` columns whose diagonal is on that grid ``row`` and ``column``."""

    #: Number of the matrix's rows from the panel's first row on.
    left: int
    width: int
    row: int
    column: int


@dataclass
class _Pending:
    """The actions that a rank still has to do for a panel that is being broadcast."""

    #: Actions in order, by the share of the update that the rank has done by then.
    during: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    #: The request that the rank waits for at the end.
    last: list[str] = field(default_factory=list)


def linpack_schedule(
    n: int, nb: int, p: int, q: int, work: RankWork, *, look_ahead: bool = True
) -> LinpackSchedule:
    """The solution of ``n`` unknowns in panels of ``nb`` columns.

    Without ``look_ahead`` a panel is factored and sent after the update by the panel before it,
    with nothing to hide it. Raises ValueError if the order is below a panel.
    """
    if n < nb:
        raise ValueError(f"an order of {n} is below a panel of {nb}")
    count = math.ceil(n / nb)
    steps = min(
        count, max(min(_MOST_PANELS, _MOST_ACTIONS // _actions(n, nb, p, q)), _LEAST_PANELS)
    )
    panels = []
    for step in range(steps):
        # The middle of the panels that this panel represents; the panel itself if it represents
        # only itself.
        left = n - round(((step + 0.5) * count / steps - 0.5) * nb)
        panels.append(_Panel(left, min(nb, left), step % p, step % q))
    solution = _Solution(nb, p, q, work)
    made = solution.looking_ahead(panels) if look_ahead else solution.in_turn(panels)
    return LinpackSchedule(made, count / steps)


def _actions(n: int, nb: int, p: int, q: int) -> int:
    """The approximate number of messages of a panel."""
    rounds = math.ceil(math.log2(p))
    sent = 5 * _pieces(-(-n // p) * nb) if q > 3 else 4
    return nb * rounds * p * 4 + p * q * (8 * p + sent + 6)


class _Solution:
    """The schedule of a solution. Ranks of a grid column are numbered consecutively."""

    def __init__(self, nb: int, p: int, q: int, work: RankWork) -> None:
        self.nb, self.p, self.q = nb, p, q
        self.work = work
        self.schedule = CallSchedule(p * q)
        self.pending = [_Pending() for _ in range(p * q)]

    def in_turn(self, panels: list[_Panel]) -> CallSchedule:
        """Each panel begins after the update by the panel before it."""
        for panel in panels:
            self._prepare(panel)
            for rank in range(self.p * self.q):
                self._finish(rank)
            for column in range(self.q):
                self._update(panel, column, self._right_of(panel, column))
        return self.schedule

    def looking_ahead(self, panels: list[_Panel]) -> CallSchedule:
        """The next panel begins during the update."""
        self._prepare(panels[0])
        for panel, following in zip(panels, [*panels[1:], None], strict=True):
            for rank in range(self.p * self.q):
                self._finish(rank)
            widths = [self._right_of(panel, column) for column in range(self.q)]
            if following is not None:
                # Look-ahead: the next panel is updated before all other columns.
                owner = following.column
                first = min(following.width, widths[owner])
                self._update(panel, owner, first)
                widths[owner] -= first
                self._prepare(following)
            for column, width in enumerate(widths):
                self._update(panel, column, width)
        return self.schedule

    def _rank(self, row: int, column: int) -> int:
        return row + self.p * (column % self.q)

    def _rows(self, panel: _Panel, row: int) -> int:
        """The grid row's rows from the panel's first one on."""
        return _part(panel.left, self.nb, self.p, (row - panel.row) % self.p)

    def _below(self, panel: _Panel, row: int) -> int:
        return self._rows(panel, row) - (panel.width if row == panel.row else 0)

    def _right_of(self, panel: _Panel, column: int) -> int:
        """The grid column's columns right of the panel, including the right-hand side."""
        whole = _part(panel.left + 1, self.nb, self.q, (column - panel.column) % self.q)
        return whole - (panel.width if column == panel.column else 0)

    def _prepare(self, panel: _Panel) -> None:
        """Factor the panel, and begin its broadcast along the rows of the grid."""
        column = [self._rank(row, panel.column) for row in range(self.p)]
        for row, rank in enumerate(column):
            rows = self._rows(panel, row)
            self.schedule.compute(rank, self.work.panel(rows, panel.width))
            self.schedule.compute(rank, self.work.copying(_WORD * rows * panel.width))
        if self.p > 1:
            for _ in range(panel.width):
                # The messages hold the pivot's size and place, its row of the panel, and the row
                # that it displaces.
                self.schedule.allreduce(_WORD * (2 * self.nb + 4), column)
        for row in range(self.p):
            words = panel_words(panel.width, self._rows(panel, row))
            self._send([self._rank(row, panel.column + k) for k in range(self.q)], words)

    def _send(self, ranks: list[int], words: int) -> None:
        """Send the panel from the first rank to the second, which needs it first, then on a path
        through the other ranks.

        The kernel passes pieces on between parts of the update, as soon as they are there. Actions
        have a fixed order: here, a rank passes a piece on after the share of its update that would
        have passed if the panel flowed evenly over the time of the update. A faster panel is not
        delayed, and a slower one determines the time, as in the kernel.
        """
        if len(ranks) == 1:
            return
        root, second, *path = ranks
        schedule, size = self.schedule, _WORD * float(words)
        self.pending[second].last.append(schedule.start_receive(second, root, size))
        last = schedule.start_send(root, second, size)
        if not path:
            self.pending[root].last.append(last)
            return
        pieces = _pieces(words) if len(path) > 1 else 1
        # The time after which all ranks have the whole panel, in units of the time of a piece.
        whole = pieces + len(path) + pieces - 1
        for place, (before, rank) in enumerate(zip([root, *path], path, strict=False)):
            arriving = [schedule.start_receive(rank, before, size / pieces) for _ in range(pieces)]
            if place + 1 == len(path):
                self.pending[rank].last += arriving
                continue
            sent: list[str] = []
            for piece, message in enumerate(arriving):
                action = partial(self._pass_on, rank, path[place + 1], size / pieces, message, sent)
                moment = pieces + place + 1 + piece
                self.pending[rank].during.append((moment / whole, action))
        # Pieces are sent one after the other: simultaneous messages would all arrive late.
        sent = [last]
        for piece in range(pieces):
            action = partial(self._pass_on, root, path[0], size / pieces, None, sent)
            self.pending[root].during.append(((pieces + piece) / whole, action))

    def _pass_on(
        self, rank: int, to: int, size: float, arrived: str | None, sent: list[str]
    ) -> None:
        """``sent``: the rank's message before."""
        for started in (*([arrived] if arrived is not None else []), *sent):
            self.schedule.wait(rank, started)
        sent[:] = [self.schedule.start_send(rank, to, size)]
        self.pending[rank].last = list(sent)

    def _finish(self, rank: int) -> None:
        """Wait until the rank has the panel and has passed it on."""
        for _, action in self.pending[rank].during:
            action()
        for started in self.pending[rank].last:
            self.schedule.wait(rank, started)
        self.pending[rank] = _Pending()

    def _update(self, panel: _Panel, column: int, width: int) -> None:
        """Update ``width`` of the grid column's columns: exchange rows, subtract the product."""
        if width == 0:
            return
        ranks = [self._rank(row, column) for row in range(self.p)]
        below = [self._below(panel, row) for row in range(self.p)]
        for exchanged in swap_rounds(panel.width, below, panel.row, width):
            self.schedule.exchange(
                (ranks[sender], ranks[receiver], _WORD * words)
                for sender, receiver, words in exchanged
            )
        for row, rank in enumerate(ranks):
            seconds = 0.0
            if self._rows(panel, row) > 0:
                # The rows of U are copied and solved by each grid row that needs them.
                self.schedule.compute(rank, self.work.copying(_WORD * panel.width * width))
                seconds = self.work.update(below[row], panel.width, width)
            self._compute(rank, seconds)

    def _compute(self, rank: int, seconds: float) -> None:
        """An update, interleaved with the actions for the panel that is being broadcast."""
        done = 0.0
        for share, action in self.pending[rank].during:
            self.schedule.compute(rank, (share - done) * seconds)
            action()
            done = share
        self.pending[rank].during = []
        self.schedule.compute(rank, (1.0 - done) * seconds)


def _part(count: int, block: int, parts: int, part: int) -> int:
    """Number of items of ``count`` that a part gets if blocks are dealt to the parts in turn."""
    rounds, rest = divmod(count, block * parts)
    return rounds * block + min(max(rest - part * block, 0), block)


def _pieces(words: int) -> int:
    return min(max(-(-words // _PIECE), 1), _MOST_PIECES)
