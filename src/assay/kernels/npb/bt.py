"""npb.bt in the catalogue."""

from __future__ import annotations

from assay.kernels.npb.adi import LineSystem, adi_kernel
from assay.kernels.npb.shared import class_table, constants

# class: points along each side, time steps
BT_SIZES = class_table("bt", "points", "steps")

_CONSTANTS = constants("bt")
BT_SYSTEM = LineSystem(kept=_CONSTANTS["kBtKept"], handed=_CONSTANTS["kBtHanded"])

# Floating-point operations of a time step, for m = n - 2: coefficients of m^3, m^2, m and 1.
# tests/native/npb/test_flops_done.py counts them.
_FLOPS = (2471.75, 3704.5, 551.0, 368.0)


def _operations(n: int) -> float:
    return 3478.8 * n**3 - 17655.7 * n**2 + 28023.7 * n


KERNEL = adi_kernel(
    name="npb.bt",
    title="NPB BT: block tridiagonal systems for a flow problem",
    sizes=BT_SIZES,
    system=BT_SYSTEM,
    flops=_FLOPS,
    operations=_operations,
    pace=5e10,
    formula="steps (3478.8 n^3 - 17655.7 n^2 + 28023.7 n)",
    source="Bailey et al., RNR-94-007, 3.6; NPB 3.4",
    notes="Blocks of 5x5 are computed when a line needs them and kept in cache.",
)
