"""npb.is in the catalogue."""

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
    code_parameter,
    is_plain,
    listed,
)
from assay.kernels.npb.shared import class_table, constants, formula
from assay.model.placement import Value

# class: log2 of the number of keys, log2 of their exclusive upper bound
IS_SIZES = class_table("is", "log2_keys", "log2_max_key")
_CONSTANTS = constants("is")
IS_ITERATIONS: int = _CONSTANTS["kIsIterations"]
# Test keys per iteration; their counts are reduced together with the sizes of the buckets.
IS_TEST_KEYS: int = _CONSTANTS["kIsTestKeys"]


def is_buckets(greatest: int, ranks: int) -> int:
    """The number of buckets for keys below 2^greatest."""
    return int(formula("is/buckets.def", "is")(values=2**greatest, ranks=ranks)["buckets"])


def _is_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    log2_keys, greatest = IS_SIZES[str(parameters["class"])]
    keys, values = 2.0**log2_keys, 2.0**greatest
    # Counts of 4 bytes. Each thread's are cleared and added up by value; counting itself stays in
    # the caches.
    counts = 2.0 * threads + 1.0
    # Keys are read once to be counted or gathered for other ranks; with several ranks they are read
    # once more beforehand, to find their buckets. Keys that move are written and read by the
    # sender, and written and read by the receiver.
    plain = is_plain(parameters)
    # The plain code moves all keys, even keys that stay, and counts none beforehand.
    moving = 1.0 if plain else (ranks - 1.0) / ranks
    together = plain or ranks > 1
    passes = 2.0 + 4.0 * moving if together else 1.0
    sizes = ranks * 8.0 * (is_buckets(greatest, ranks) + IS_TEST_KEYS)
    counts_sent = 8.0 * ranks * (ranks - 1.0)
    moved = 4.0 * keys * (ranks - 1.0) / ranks
    return {
        # The official Mop/s counts keys ranked.
        "operations": IS_ITERATIONS * keys,
        "flops": 0.0,
        "traffic": IS_ITERATIONS * 4.0 * (passes * keys + counts * values),
        "messages": IS_ITERATIONS * 3.0 * ranks if together else 0.0,
        "sent": IS_ITERATIONS * (sizes + counts_sent + moved) if together else 0.0,
    }


def _is_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    log2_keys, greatest = IS_SIZES[str(parameters["class"])]
    need = formula("is/memory.def", "is")
    terms = need(
        **{"keys": 2.0**log2_keys, "values": 2.0**greatest, "ranks": ranks, "threads": threads},
        plain=int(is_plain(parameters)),
    )
    return terms["bytes"]


KERNEL = Kernel(
    name="npb.is",
    title="NPB IS: ranking of integer keys",
    parameters=(
        class_parameter(IS_SIZES),
        code_parameter("keys are put into buckets and exchanged even on one rank"),
        MONITOR,
    ),
    metrics=(
        TIME,
        RATE,
        phase("compute", "counting and moving keys on the rank"),
        phase("allreduce", "summing bucket sizes over all ranks"),
        phase("alltoall", "exchanging the numbers of keys to send"),
        phase("alltoallv", "sending keys to the ranks of their buckets"),
        *COMPUTE_SPREAD,
    ),
    work=_is_work,
    source="Bailey et al., RNR-94-007, 2.5",
    threaded=True,
    pace=2.5e8,
    headline="rate",
    notes="An operation is one key ranked. Any number of ranks is allowed: buckets are distributed "
    "so that ranks have about equally many keys. Verified: the official ranks of five keys "
    "in each iteration; after the last iteration, that the keys in the order of their ranks "
    "are sorted.",
    work_units=WORK_UNITS,
    formulas={
        "operations": f"10 * 2^m, m = {listed(keys for keys, _ in IS_SIZES.values())} for S to E",
        "flops": "none: integers only",
        "traffic": "10 * 4 B (p 2^m + c 2^k), keys below 2^k, k = "
        f"{listed(greatest for _, greatest in IS_SIZES.values())}; p = "
        "2 + 4 (ranks - 1) / ranks passes over the keys (1 on a single rank; 6 in plain code), "
        "c = 2 threads + 1 over their counts",
        "messages": "30 ranks: allreduce, alltoall, alltoallv; none on a single rank, except in "
        "plain code",
        "sent": "10 (8 ranks (b + 5) + 8 ranks (ranks - 1) + 4 * 2^m (ranks - 1) / ranks), "
        "b = buckets: 1024, or the power of two from 64 ranks on",
    },
    memory=_is_memory,
)
