"""What a rate of the kernels ``npb.*`` measures: assay's own code, and the operations that it does.

NPB 1 is a specification (Bailey et al., RNR-94-007), and an implementer chooses algorithms and data
layout within its rules. NPB 2 and 3 are NASA's source codes, which users run and publish. The
kernels are written from the specification, so that both rates and scaling differ from NASA's code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from assay.kernels.catalogue import Kernel
from assay.model.placement import Value

# These words appear wherever a rate of npb.* is shown.
OWN_CODE = "assay's own code, NPB-1 style, not an NPB 3 result"

# How a kernel's scaling with the number of ranks differs from NASA's MPI code. Sources: the kernels
# in native/npb, and NPB 3.4's IS/is.c, FT/fft3d and SP and BT's x_solve to z_solve.
SCALING_DIFFERENCES: Mapping[str, str] = {
    "npb.is": "one rank counts its keys in place, without the buckets and the exchange that NASA's "
    "MPI code has on any number of ranks, so the step to several ranks costs more here",
    "npb.ft": "passes over the array are fused, so computation takes less time and the transpose "
    "between ranks a larger share of it than in NASA's code",
    "npb.sp": "cut lines are eliminated from both ends with blocks along y and z, in place of "
    "NASA's multipartition, and computation takes less time next to the messages",
    "npb.bt": "cut lines are eliminated from both ends with blocks along y and z, in place of "
    "NASA's multipartition, and computation takes less time next to the messages",
    "npb.lu": "no Jacobian block is formed, so computation takes less time next to the messages of "
    "the wavefront than in NASA's code",
    "npb.mg": "passes over the grid are fused, and every rank computes the coarse levels, which "
    "NASA's code distributes over fewer and fewer ranks",
    "npb.cg": "ranks have blocks of rows and gather the whole direction, where NASA's code has a "
    "grid of ranks and sends parts of it",
}


def code_note(kernels: Iterable[str]) -> str:
    """``NPB: assay's own code, …``; "" if none of these kernels belongs to the NPB."""
    return f"NPB: {OWN_CODE}." if any(name.startswith("npb.") for name in kernels) else ""


def scaling_difference(kernel: str) -> str:
    """How the scaling of ``kernel`` differs from NASA's code; "" where it does not."""
    return SCALING_DIFFERENCES.get(kernel, "")


def done_per_operation(kernel: Kernel, parameters: Mapping[str, Value]) -> float | None:
    """Floating-point operations done per official operation; None where none are done.

    Both are counts of the kernel's ``work`` on one rank. The operations done follow from the
    kernel's equations as it computes them. Sums across the lanes of a vector and lanes without a
    point add to them; ``tests/native/npb/test_flops_done.py`` counts all.
    """
    work = kernel.work(parameters, 1, 1)
    done, official = work.get("flops", 0.0), work.get("operations", 0.0)
    return done / official if done > 0 and official > 0 else None


def with_code(kernel: Kernel) -> Kernel:
    """The catalogue's entry with notes on the code and on the operations done."""
    notes = [f"Rates belong to {OWN_CODE}.", kernel.notes, _done_note(kernel)]
    return replace(kernel, notes=" ".join(filter(None, notes)))


def _done_note(kernel: Kernel) -> str:
    parameter = kernel.parameter("class")
    sizes = [str(size) for size in parameter.choices] if parameter else []
    by_share: dict[str, list[str]] = {}
    for size in sizes:
        share = done_per_operation(kernel, {"class": size})
        if share is not None:
            by_share.setdefault(f"{share:.2f}", []).append(size)
    if not by_share:
        return "No floating-point operations are done."
    if len(by_share) == 1:
        return f"Floating-point operations done per official one: {next(iter(by_share))}."
    shares = ", ".join(f"{share} ({' '.join(of)})" for share, of in by_share.items())
    return f"Floating-point operations done per official one, by class: {shares}."
