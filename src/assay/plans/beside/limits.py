"""Time limit of the first launch of a site's executable, before any of its times is known."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels import known_kernel
from assay.model.placement import Value

# Seconds to start and end, and a rate that every code reaches: for the NPB a share of the usual
# rate of assay's kernel (NASA's codes reach 10% or more), for HPL flop/s per core.
START = 60.0
SHARE = 1 / 50
HPL_RATE = 2e8
# The same for HPCG, which repeats its 50 iterations in tests and with reference code before the
# timed part, and then for as long as its input says.
HPCG_RATE = 5e7
HPCG_SETS = 8
HPCG_SECONDS = 5.0
# Seconds for STREAM and OSU, which choose their own repetitions, so their work is unknown.
UNKNOWN = 600.0


def first_limit(parameters: Mapping[str, Value], cores: int) -> float:
    """Seconds that the first launch of a cell of a kernel ``beside.*`` may take.

    One minute plus the time of its work at a low rate; ten minutes for STREAM and OSU. ``cores``:
    number of cores of its placement.
    """
    work, of = float(parameters["work"]), str(parameters["of"])
    if of == "hpcg":
        return START + HPCG_SECONDS + HPCG_SETS * work / HPCG_RATE / cores
    kernel = known_kernel(of)
    pace = HPL_RATE if of == "linpack" else SHARE * (kernel.pace or 0.0) if kernel else 0.0
    return START + work / pace / cores if work > 0 and pace > 0 else UNKNOWN
