"""npb.sp in the catalogue."""

from __future__ import annotations

from assay.kernels.npb.adi import LineSystem, adi_kernel
from assay.kernels.npb.shared import class_table, constants

# class: points along each side, time steps
SP_SIZES = class_table("sp", "points", "steps")

_CONSTANTS = constants("sp")
SP_SYSTEM = LineSystem(kept=_CONSTANTS["kSpKept"], handed=_CONSTANTS["kSpHanded"])

# Floating-point operations of a time step, for m = n - 2: coefficients of m^3, m^2, m and 1.
# tests/native/npb/test_flops_done.py counts them.
_FLOPS = (729.5, 1388.0, 599.0, 368.0)


def _operations(n: int) -> float:
    return 881.174 * n**3 - 4683.91 * n**2 + 11484.5 * n - 19272.4


KERNEL = adi_kernel(
    name="npb.sp",
    title="NPB SP: scalar pentadiagonal systems for a flow problem",
    sizes=SP_SIZES,
    system=SP_SYSTEM,
    flops=_FLOPS,
    operations=_operations,
    pace=3e10,
    formula="steps (881.174 n^3 - 4683.91 n^2 + 11484.5 n - 19272.4)",
    source="Bailey et al., RNR-94-007, 3.7; NPB 3.4",
    notes="Coefficients are computed when a line needs them and kept in cache.",
)
