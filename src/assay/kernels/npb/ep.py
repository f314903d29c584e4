"""npb.ep in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Work, phase
from assay.kernels.npb.common import (
    COMPUTE_SPREAD,
    MONITOR,
    RATE,
    TIME,
    WORK_UNITS,
    class_parameter,
    listed,
)
from assay.kernels.npb.shared import class_table, constants
from assay.model.placement import Value

EP_LOG2_PAIRS = {name: int(pairs) for name, (pairs,) in class_table("ep", "log2_pairs").items()}

# Floating-point operations per pair, with a division or a root as one; vectors also compute them
# for rejected pairs: 4 for two numbers in (-1, 1), 3 for their squared distance, 25 for its
# logarithm, 3 for the factor, 4 for the deviates and their sums.
EP_FLOPS_PER_PAIR = 4 + 3 + 25 + 3 + 4
# Two sums and the counts of the annuli.
EP_RESULT_BYTES = 8 * (2 + int(constants("ep")["kAnnuli"]))


def _ep_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    pairs = 2.0 ** EP_LOG2_PAIRS[str(parameters["class"])]
    messages = float(ranks) if ranks > 1 else 0.0
    return {
        # The official Mop/s counts random numbers, two per pair, and nothing else.
        "operations": 2.0 * pairs,
        "flops": EP_FLOPS_PER_PAIR * pairs,
        "traffic": 0.0,
        "messages": messages,
        "sent": messages * EP_RESULT_BYTES,
    }


def _ep_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return float(EP_RESULT_BYTES * threads)


KERNEL = Kernel(
    name="npb.ep",
    title="NPB EP: embarrassingly parallel Gaussian deviates",
    parameters=(class_parameter(EP_LOG2_PAIRS), MONITOR),
    metrics=(
        TIME,
        RATE,
        phase("compute", "drawing pairs and summing deviates on the rank"),
        phase("allreduce", "adding the sums and counts of all ranks"),
        *COMPUTE_SPREAD,
    ),
    work=_ep_work,
    source="Bailey et al., RNR-94-007, 2.1",
    threaded=True,
    pace=1.1e9,
    headline="rate",
    notes="An operation is one random number. Any number of ranks is allowed. Verified: both sums "
    "within "
    "1e-8 of the official ones.",
    work_units=WORK_UNITS,
    formulas={
        "operations": f"2^(m + 1), m = {listed(EP_LOG2_PAIRS.values())} for "
        f"{listed(EP_LOG2_PAIRS)}",
        "flops": "39 * 2^m: per pair, numbers 4, distance 3, logarithm 25, factor 3, sums 4",
        "traffic": "none: all data are in registers",
        "messages": "ranks: one allreduce; none on a single rank",
        "sent": "96 B each: two sums, ten counts",
    },
    memory=_ep_memory,
)
