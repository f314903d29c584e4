"""Fluxes of the NPB model problem and their Jacobians, for several tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def _inviscid(u: NDArray[np.complex128], d: int) -> NDArray[np.complex128]:
    kinetic = 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0]
    speed = u[1 + d] / u[0]
    flux = np.array([u[1 + d], *(u[1:4] * speed), (1.4 * u[4] - 0.4 * kinetic) * speed])
    flux[1 + d] += 0.4 * (u[4] - kinetic)
    return flux


def _viscous(u: NDArray[np.complex128], d: int) -> NDArray[np.complex128]:
    v = u[1:4] / u[0]
    factors = np.where(np.arange(3) == d, 4 / 3, 1.0)
    energy = 0.5 * (1 - 1.96) * np.sum(v**2) + v[d] ** 2 / 6 + 1.96 * u[4] / u[0]
    return np.array([0, *(0.1 * factors * v), 0.1 * energy])


def _jacobian(
    function: Callable[[NDArray[np.complex128], int], NDArray[np.complex128]], u: Vector, d: int
) -> Vector:
    """Complex-step derivative: exact to rounding."""
    columns = [np.imag(function(u + 1e-40j * unit, d)) / 1e-40 for unit in np.eye(5)]
    return np.array(columns).T
