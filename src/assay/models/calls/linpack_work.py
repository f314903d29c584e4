"""What a rank of HPL computes and copies, in seconds.

Besides 2 m n k flop, a product of m x k and k x n matrices reads or packs its three matrices
(Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication", ACM TOMS 34). If all
these bytes cost the same, the flop take 1 + h / 3 (1/m + 1/n + 1/k) times as long. For square
matrices of order s this is Hockney's law: the rate is half of its maximum at s = h (Hockney &
Jesshope 1988, "Parallel Computers 2"). The update of HPL has k = NB, so that even the largest
update does not reach the maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DgemmCurve:
    """The rate of DGEMM over the order of square matrices."""

    #: Maximum rate, flop/s.
    maximum: float
    #: Order with half of the maximum rate.
    half: float

    def at(self, order: float) -> float:
        """The rate with square matrices of an order, flop/s."""
        return self.maximum / (1.0 + self.half / order)

    def product(self, m: float, n: float, k: float) -> float:
        """Seconds of a product; 0 if a side is 0."""
        if min(m, n, k) <= 0.0:
            return 0.0
        surface = 1.0 / m + 1.0 / n + 1.0 / k
        return 2.0 * m * n * k / self.maximum * (1.0 + self.half / 3.0 * surface)


def through(points: Sequence[tuple[float, float]]) -> DgemmCurve:
    """The curve through measured rates (order, flop/s), by least relative squares of the times.

    A single point, and points whose rate does not grow with the order, give a constant rate. Raises
    ValueError if there is no point.
    """
    import numpy as np

    if not points:
        raise ValueError("no rate of DGEMM")
    orders, rates = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    if len(set(orders.tolist())) > 1:
        # rate x (a + b / order) = 1
        (a, b), *_ = np.linalg.lstsq(
            np.column_stack([rates, rates / orders]), np.ones(len(rates)), rcond=None
        )
        if a > 0.0 and b > 0.0:
            return DgemmCurve(float(1.0 / a), float(b / a))
    return DgemmCurve(float(rates.max()), 0.0)


@dataclass(frozen=True)
class LinpackExecution:
    """How HPL's algorithm is executed on a cluster."""

    #: Number of columns of a panel.
    block: int
    #: Rate in the factorisation of a panel over the maximum rate of DGEMM.
    panel: float
    #: Order of square matrices at which DGEMM has half of its maximum rate.
    half: float
    #: Share of the network's bandwidth that panels, pivots and rows reach.
    network: float
    #: Copies of each byte of panels and rows in memory, in times of a message within a node.
    copies: float
    #: Whether the next panel is factored and sent during an update.
    look_ahead: bool


@dataclass(frozen=True)
class RankWork:
    """A rank's arithmetic and copies."""

    dgemm: DgemmCurve
    #: Rate in the factorisation of a panel, flop/s.
    panel_rate: float
    #: Seconds per byte of a panel that is packed, and of rows that are exchanged.
    copy: float = 0.0

    def panel(self, rows: int, width: int) -> float:
        """Seconds of the factorisation of that many rows of a panel."""
        return rows * float(width) ** 2 / self.panel_rate

    def update(self, rows: int, width: int, columns: int) -> float:
        """Seconds to solve for U (``width`` x ``columns``) and to update ``rows`` rows by it."""
        # A triangular solve has half of the flop of the product of the same size.
        solve = self.dgemm.product(width, columns, width) / 2.0
        return solve + self.dgemm.product(rows, columns, width)

    def copying(self, size: float) -> float:
        """Seconds to copy ``size`` bytes."""
        return size * self.copy
