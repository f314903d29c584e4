"""npb.ep in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Work
from assay.kernels.npb.common import RATE, TIME, class_parameter
from assay.plans.model import Value

EP_LOG2_PAIRS = {"S": 24, "W": 25, "A": 28, "B": 30, "C": 32}


def _ep_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    # The official Mop/s counts random numbers, two a pair, and nothing else.
    return {"operations": 2.0 ** (EP_LOG2_PAIRS[str(parameters["class"])] + 1)}


KERNEL = Kernel(
    name="npb.ep",
    title="NPB EP: embarrassingly parallel Gaussian deviates",
    parameters=(class_parameter(EP_LOG2_PAIRS),),
    metrics=(
        TIME,
        RATE,
    ),
    work=_ep_work,
    source="Bailey et al., RNR-94-007, 2.1",
    threaded=True,
    headline="rate",
    notes="An operation is one random number. Any number of ranks. Verified: both sums within "
    "1e-8 of the official ones.",
    work_units={"operations": "op"},
    formulas={"operations": "2^(m + 1), m = 24, 25, 28, 30, 32 for S, W, A, B, C"},
)
