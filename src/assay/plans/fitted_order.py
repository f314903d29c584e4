"""Rank orders that minimise the traffic between nodes, from a communication matrix.

Ranks on one node communicate through its memory, ranks on different nodes over the network. The
order with the fewest bytes between nodes solves a quadratic assignment problem of ranks to seats
(Koopmans & Beckmann 1957; for process placement Träff, SC 2002). SciPy's solver (FAQ: Vogelstein et
al., PLoS ONE 10(4), 2015, and pairwise exchanges) searches for one; the best of the named orders is
returned if the solver finds none better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.model.rank_order import ORDERS, seats_by_rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# Maximum ranks for pairwise exchanges, whose time grows with the cube of the ranks.
_MOST_EXCHANGED = 64
# Maximum ranks for any search: each step solves a linear assignment of all ranks.
MOST_RANKS = 2048
# Maximum ranks of a matrix in a file, since it is kept in memory as a dense matrix.
_MOST_READ = 8192
_STARTS = 4
# The matrix in the folder of a profile (trace/matrix.py).
PROFILE_MATRIX = "matrix.txt"
_SEED = 1


@dataclass(frozen=True)
class OrderFit:
    """An order by seats: ``seats[r]`` is rank r's seat, counted in block order."""

    seats: tuple[int, ...]
    #: Bytes between nodes with this order.
    between: float
    #: Bytes between nodes with each named order.
    plain: Mapping[str, float]

    @property
    def order(self) -> str:
        """The order as in placements: a name if a named order is as good, else its seats."""
        best = min(ORDERS, key=lambda name: self.plain[name])
        return best if self.plain[best] <= self.between else ",".join(map(str, self.seats))

    @property
    def saved(self) -> float:
        """The share of block order's bytes between nodes that this order saves."""
        block = self.plain["block"]
        return 1.0 - self.between / block if block > 0 else 0.0


def dense(peers: Mapping[tuple[int, int], float], ranks: int) -> Floats:
    """Bytes from each rank (row) to each other rank (column), shape (ranks, ranks)."""
    matrix = np.zeros((ranks, ranks))
    for (one, other), sent in peers.items():
        matrix[one, other] = sent
    return matrix


def distances(nodes: int, ppn: int, between: Floats | None = None) -> Floats:
    """Cost of a byte from seat to seat: 0 within a node, 1 between nodes.

    ``between``: costs for each pair of nodes in place of 0 and 1, shape (nodes, nodes).
    """
    costs = 1.0 - np.eye(nodes) if between is None else between
    return np.asarray(np.kron(costs, np.ones((ppn, ppn))), dtype=np.float64)


def _plain_seats(order: str, nodes: int, ppn: int) -> Ints:
    """The seats of a named order."""
    return np.array([node * ppn + local for node, local in seats_by_rank(order, nodes, ppn)])


def cost_of(matrix: Floats, seats: Ints, costs: Floats) -> float:
    """The sum of bytes times their cost; with costs 0 and 1, the bytes between nodes."""
    return float(np.sum(matrix * costs[np.ix_(seats, seats)]))


def fit_order(matrix: Floats, nodes: int, ppn: int, between: Floats | None = None) -> OrderFit:
    """The order of least cost that was found; the result is reproducible.

    ``matrix``: bytes, shape (nodes * ppn, nodes * ppn). Above ``MOST_RANKS`` ranks only the named
    orders are tried. Raises ValueError for another shape.
    """
    ranks = nodes * ppn
    if matrix.shape != (ranks, ranks):
        raise ValueError(f"a matrix of {ranks} by {ranks} is needed, not {matrix.shape}")
    costs = distances(nodes, ppn, between)
    orders = {name: _plain_seats(name, nodes, ppn) for name in ORDERS}
    plain = {name: cost_of(matrix, seats, costs) for name, seats in orders.items()}
    best = orders[min(plain, key=lambda name: plain[name])]
    least = min(plain.values())
    if nodes > 1 and ppn > 1 and ranks <= MOST_RANKS and least > 0:
        for found in _searched(matrix, costs, best):
            cost = cost_of(matrix, found, costs)
            if cost < least * (1 - 1e-12):
                best, least = found, cost
    return OrderFit(tuple(int(seat) for seat in best), least, plain)


def _searched(matrix: Floats, costs: Floats, start: Ints) -> Iterable[Ints]:
    """Seats that the solver finds, from ``start``, the barycentre and random starts.

    The solver gets the sum of both directions' bytes, which is exact if ``costs`` is symmetric.
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
            seats = quadratic_assignment(flow, costs, options=options).col_ind
        if few:
            options = {"partial_guess": np.column_stack([np.arange(ranks), seats]), "rng": random}
            seats = quadratic_assignment(flow, costs, method="2opt", options=options).col_ind
        yield np.asarray(seats, dtype=np.int64)


def read_matrix(path: Path, text: str | None = None) -> Floats:
    """A communication matrix from a text file: bytes, or numbers proportional to bytes.

    Either a square of numbers with a row per sender and a column per receiver, or lines of three:
    from, to, bytes. Numbers are separated by blanks, commas or semicolons; # begins a comment.
    For a profile's folder (`assay profile`), the matrix in it is read. ``text``: the file's
    content, if already read. Raises AssayError with the line that can't be read, and for a matrix
    without traffic between different ranks.
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
            raise _wrong(path, number, f"'{line.strip()[:40]}' is not a row of numbers") from None
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
    path = path / PROFILE_MATRIX if path.is_dir() else path
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
    except UnicodeDecodeError:
        why = "it is not text"
    raise AssayError(
        f"The communication matrix can't be read: {why}.",
        where=str(path),
        fix="docs/formats/plans.md documents the format of the file.",
    )


def share_between(matrix: Floats, seats: Sequence[tuple[int, int]]) -> float:
    """The share of the traffic between ranks that crosses nodes, 0 to 1.

    ``seats``: the node of each rank and its place there (``model.rank_order.seats_by_rank``).
    """
    node = np.array([node for node, _ in seats])
    crossing = node[:, None] != node[None, :]
    return float(matrix[crossing].sum() / (matrix.sum() - np.trace(matrix)))


def _with_messages(path: Path, matrix: Floats) -> Floats:
    if matrix.sum() - np.trace(matrix) > 0:
        return matrix
    raise AssayError(
        "The communication matrix has no message between different ranks.",
        where=str(path),
        fix="Count what the program sends at that number of ranks, at least two.",
    )


def _of_triples(path: Path, rows: list[tuple[int, list[float]]]) -> Floats:
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
