"""Names of array types, by the kind of their elements."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indexes = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
