"""Linear models of factors: bases of terms, and the sums of squares that they explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.arrays import Floats, Ints

# A factor, or several together.
Term = tuple[str, ...]

# Singular values below this share of the greatest are rounding errors of a redundant column.
REDUNDANT = 1e-9


class Bases:
    """Orthonormal bases of the spaces that terms span, each computed once."""

    def __init__(self, codes: Mapping[str, Ints]) -> None:
        self._codes = codes
        self._bases: dict[frozenset[Term], Floats] = {}

    def of(self, terms: Sequence[Term]) -> Floats:
        """Columns of unit length that span the constant and all these terms."""
        key = frozenset(terms)
        if key not in self._bases:
            size = next(iter(self._codes.values())).size if self._codes else 1
            columns = [np.ones((size, 1))]
            for term in terms:
                together = combinations_of({name: self._codes[name] for name in term})
                columns.append(np.eye(int(together.max()) + 1)[together])
            u, singular, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
            self._bases[key] = u[:, singular > REDUNDANT * singular[0]]
        return self._bases[key]


def combinations_of(codes: Mapping[str, Ints]) -> Ints:
    """The code of each value's combination of levels."""
    return np.asarray(
        np.unique(np.stack(list(codes.values())), axis=1, return_inverse=True)[1]
    ).reshape(-1)


def f_of(
    columns: Floats, reduced: Floats, extended: Floats, everything: Floats
) -> tuple[Floats, Floats]:
    """Sum of squares of an effect and its F, for each column."""
    extra = extended.shape[1] - reduced.shape[1]
    freedom = columns.shape[0] - everything.shape[1]
    squares = explained(extended, columns) - explained(reduced, columns)
    left = np.einsum("ij,ij->j", columns, columns) - explained(everything, columns)
    with np.errstate(divide="ignore", invalid="ignore"):
        f = (squares / extra) / (left / freedom)
    return squares, np.where(left > 0.0, f, np.where(squares > 0.0, np.inf, 0.0))


def explained(basis: Floats, columns: Floats) -> Floats:
    """The sum of squares that a basis fits, for each column."""
    fitted = basis.T @ columns
    return np.asarray(np.einsum("ij,ij->j", fitted, fitted))
