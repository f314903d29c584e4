"""Which rank should sit where, from what ranks send each other.

Ranks of one node reach each other through its memory; what goes from node to node takes the
network. So the order that is looked for has the fewest bytes between nodes: an assignment of ranks
to seats with a cost that is quadratic in it (Koopmans & Beckmann 1957; for process placement
Träff, SC 2002). SciPy's solver (FAQ: Vogelstein et al., PLoS ONE 10(4), 2015, and pairwise
exchanges) improves on the best of the plain orders, so that what it finds is never worse than they.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from assay.errors import AssayError
from assay.model.rank_order import ORDERS, seats_by_rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Matrix = npt.NDArray[np.float64]
Seats = npt.NDArray[np.int64]

# Ranks up to which seats are also exchanged pair by pair, which takes their cube.
_MOST_EXCHANGED = 64
# Ranks up to which there is a search at all: a step of it solves an assignment of all of them.
MOST_RANKS = 2048
# Ranks of a matrix in a file: it is kept whole.
_MOST_READ = 8192
_STARTS = 4
_SEED = 1


@dataclass(frozen=True)
class OrderFit:
    """An order by seats: ``seats[r]`` is rank r's, counted over the first node, then the next.

    ``between``: bytes that go from node to node with it. ``plain``: the same with each of the
    orders that have names.
    """

    seats: tuple[int, ...]
    between: float
    plain: Mapping[str, float]

    @property
    def order(self) -> str:
        """As placements write it: a name where one is as good, else the list of seats."""
        best = min(ORDERS, key=lambda name: self.plain[name])
        return best if self.plain[best] <= self.between else ",".join(map(str, self.seats))

    @property
    def saved(self) -> float:
        """The part of the bytes between nodes in block order that stays within nodes."""
        block = self.plain["block"]
        return 1.0 - self.between / block if block > 0 else 0.0


def dense(peers: Mapping[tuple[int, int], float], ranks: int) -> Matrix:
    """Bytes from each rank (row) to each other (column), shape (ranks, ranks)."""
    matrix = np.zeros((ranks, ranks))
    for (one, other), sent in peers.items():
        matrix[one, other] = sent
    return matrix


def distances(nodes: int, ppn: int, between: Matrix | None = None) -> Matrix:
    """What a byte costs from seat to seat: nothing within a node, one between nodes.

    ``between``: shape (nodes, nodes), costs of its own for each pair of nodes.
    """
    apart = 1.0 - np.eye(nodes) if between is None else between
    return np.asarray(np.kron(apart, np.ones((ppn, ppn))), dtype=np.float64)


def _plain_seats(order: str, nodes: int, ppn: int) -> Seats:
    """The seats of an order that has a name."""
    return np.array([node * ppn + local for node, local in seats_by_rank(order, nodes, ppn)])


def cost_of(matrix: Matrix, seats: Seats, apart: Matrix) -> float:
    """Bytes times what each costs; bytes between nodes where ``apart`` is plain."""
    return float(np.sum(matrix * apart[np.ix_(seats, seats)]))


def fit_order(matrix: Matrix, nodes: int, ppn: int, between: Matrix | None = None) -> OrderFit:
    """The order with the least that could be found; the same input gives the same order.

    ``matrix``: bytes, shape (nodes * ppn, nodes * ppn). Over ``MOST_RANKS`` ranks only the orders
    that have names are looked at. Raises ValueError for another shape.
    """
    ranks = nodes * ppn
    if matrix.shape != (ranks, ranks):
        raise ValueError(f"a matrix of {ranks} by {ranks} is needed, not {matrix.shape}")
    apart = distances(nodes, ppn, between)
    orders = {name: _plain_seats(name, nodes, ppn) for name in ORDERS}
    plain = {name: cost_of(matrix, seats, apart) for name, seats in orders.items()}
    best = orders[min(plain, key=lambda name: plain[name])]
    least = min(plain.values())
    if nodes > 1 and ppn > 1 and ranks <= MOST_RANKS and least > 0:
        for found in _searched(matrix, apart, best):
            cost = cost_of(matrix, found, apart)
            if cost < least * (1 - 1e-12):
                best, least = found, cost
    return OrderFit(tuple(int(seat) for seat in best), least, plain)


def _searched(matrix: Matrix, apart: Matrix, start: Seats) -> Iterable[Seats]:
    """Seats that the solver finds, from the start given and from random ones.

    It is given both directions' bytes together, which cost the same where ``apart`` is symmetric.
    """
    from scipy.optimize import quadratic_assignment

    ranks = start.size
    flow = (matrix + matrix.T) / (float(matrix.max()) or 1.0)
    random = np.random.default_rng(_SEED)
    few = ranks <= _MOST_EXCHANGED
    for attempt in range(_STARTS):
        if attempt == 0 and few:
            seats = start
        else:
            begin = "barycenter" if attempt < 2 else "randomized"
            options: dict[str, Any] = {"P0": begin, "rng": random}
            seats = quadratic_assignment(flow, apart, options=options).col_ind
        if few:
            options = {"partial_guess": np.column_stack([np.arange(ranks), seats]), "rng": random}
            seats = quadratic_assignment(flow, apart, method="2opt", options=options).col_ind
        yield np.asarray(seats, dtype=np.int64)


def read_matrix(path: Path, text: str | None = None) -> Matrix:
    """A communication matrix from a text file: bytes, or anything in proportion to them.

    Either a square of numbers, row by row (from) and column by column (to), or lines of three:
    from, to, bytes. Numbers are separated by blanks, commas or semicolons; what follows a # is left
    out. ``text``: of the file, if it was read already. Raises AssayError with the line of what
    can't be read, and for a matrix in which nobody sends anything to another.
    """
    rows: list[tuple[int, list[float]]] = []
    lines = (text_of(path) if text is None else text).splitlines()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        if not words:
            continue
        try:
            values = [float(word) for word in words]
        except ValueError:
            raise _wrong(path, number, f"'{line.strip()[:40]}' is no row of numbers") from None
        if not all(np.isfinite(values)) or min(values) < 0:
            raise _wrong(path, number, "bytes are numbers of at least 0")
        rows.append((number, values))
    if not rows:
        raise _wrong(path, 1, "there are no numbers")
    widths = {len(values) for _, values in rows}
    if widths == {len(rows)}:
        return _with_messages(path, np.array([values for _, values in rows]))
    if widths == {3}:
        return _with_messages(path, _of_triples(path, rows))
    odd = (row for row in rows if len(row[1]) != len(rows[0][1]))
    number, values = next(odd, rows[-1])
    raise _wrong(path, number, f"{len(values)} numbers in a line, and {len(rows)} lines")


def text_of(path: Path) -> str:
    """The text of a matrix's file. Raises AssayError if it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError:
        why = "it is not text"
    raise AssayError(
        f"The communication matrix can't be read: {why}.",
        where=str(path),
        fix="docs/formats/plans.md says what such a file holds.",
    )


def share_between(matrix: Matrix, seats: Sequence[tuple[int, int]]) -> float:
    """The part of what ranks send each other that goes between nodes, 0 to 1.

    ``seats``: of each rank its node and its place there (``plans.order.seats_by_rank``).
    """
    node = np.array([node for node, _ in seats])
    apart = node[:, None] != node[None, :]
    return float(matrix[apart].sum() / (matrix.sum() - np.trace(matrix)))


def _with_messages(path: Path, matrix: Matrix) -> Matrix:
    if matrix.sum() - np.trace(matrix) > 0:
        return matrix
    raise AssayError(
        "The communication matrix has no message between different ranks.",
        where=str(path),
        fix="Count what the program sends at that number of ranks, two at least.",
    )


def _of_triples(path: Path, rows: list[tuple[int, list[float]]]) -> Matrix:
    for number, (one, other, _) in rows:
        if one != int(one) or other != int(other) or max(one, other) >= _MOST_READ:
            raise _wrong(path, number, f"ranks are whole numbers from 0 to {_MOST_READ - 1}")
    size = 1 + int(max(max(one, other) for _, (one, other, _) in rows))
    matrix = np.zeros((size, size))
    for _, (one, other, sent) in rows:
        matrix[int(one), int(other)] += sent
    return matrix


def _wrong(path: Path, line: int, what: str) -> AssayError:
    return AssayError(
        f"The communication matrix can't be read: {what}.",
        where=f"{path}, line {line}",
        fix="Write a square of numbers, a line for each rank, or lines of three: from, to, bytes.",
    )
