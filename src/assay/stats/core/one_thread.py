"""Limits NumPy's and SciPy's BLAS to one thread while assay computes.

Its matrices are small. OpenBLAS's other threads would only wait by polling: on a busy machine that
takes several times the CPU time, and disturbs concurrent measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def one_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, with BLAS on one thread for as long as it runs."""

    @wraps(function)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        import scipy.linalg  # noqa: F401 - only what is loaded can be limited
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
