"""npb.sp in the catalogue."""

from __future__ import annotations

from assay.kernels.npb.adi import LineSystem, adi_kernel
from assay.kernels.npb.shared import class_table, constants

# class: points along each side, time steps
SP_SIZES = class_table("sp", "points", "steps")

_CONSTANTS = constants("sp")
SP_SYSTEM = LineSystem(kept=_CONSTANTS["kSpKept"], handed=_CONSTANTS["kSpHanded"])

# Counted in native/npb/sp/pentadiagonal.hpp, of each of three directions: 13 for the state, 4 for
# wave speed and diffusion, 72 for elimination, 20 to substitute; 39, 7, 7 and 40 to change
# coordinates.
_FLOPS = 3 * 109.0 + 93.0


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
    notes="Coefficients are made when a line needs them and kept in cache.",
)
