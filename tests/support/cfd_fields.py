"""Fields of the NPB model problem, for several tests."""

from __future__ import annotations

import numpy as np

# The exact solution's coefficients (RNR-94-007, table 3.1): constant, then x, y, z to each power.
EXACT = np.array(
    [
        [2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3],
        [1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5],
        [2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4],
        [2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3],
        [5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2],
    ]
)


def _exact(x: float, y: float, z: float) -> np.ndarray:
    powers = [1.0, *(v**k for k in (1, 2, 3, 4) for v in (x, y, z))]
    return np.asarray(EXACT @ np.array(powers))


def initial(x: float, y: float, z: float) -> np.ndarray:
    if any(v in (0.0, 1.0) for v in (x, y, z)):
        return _exact(x, y, z)
    a = (1 - x) * _exact(0, y, z) + x * _exact(1, y, z)
    b = (1 - y) * _exact(x, 0, z) + y * _exact(x, 1, z)
    c = (1 - z) * _exact(x, y, 0) + z * _exact(x, y, 1)
    return np.asarray(a + b + c - a * b - b * c - c * a + a * b * c)
