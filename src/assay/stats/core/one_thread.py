"""Limits NumPy's and SciPy's BLAS to one thread while assay computes.

Its matrices are small. OpenBLAS's other threads would only wait by polling. On a busy machine,
polling multiplies the CPU time and disturbs concurrent measurements.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def one_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, with BLAS limited to one thread while it runs."""

    @wraps(function)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        from threadpoolctl import threadpool_limits

        _load_blas()
        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


def _load_blas() -> None:
    """Load NumPy's and SciPy's OpenBLAS: only loaded libraries can be limited.

    SciPy's wheels contain its library. Many reports need nothing else from SciPy, and importing
    scipy.linalg would take a tenth of their CPU time.
    """
    import numpy  # noqa: F401 - loads its own

    if "scipy.linalg" in sys.modules:
        return
    spec = find_spec("scipy")
    place = Path(spec.origin).parents[1] if spec and spec.origin else Path()
    libraries = [*place.glob("scipy.libs/*openblas*.so*")]
    for library in libraries:
        ctypes.CDLL(str(library))
    if not libraries:
        import scipy.linalg  # noqa: F401
