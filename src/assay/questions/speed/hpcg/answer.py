"""The answer on hpcg: the rating, and the rate that the measured memory bandwidth allows."""

from __future__ import annotations

from assay.kernels.hpcg.entry import OWN_CODE
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Growth, Part
from assay.questions.common.selection import Point, evidence, measured_text, quantity_text
from assay.questions.common.speedups import speedup_row
from assay.questions.speed.hpcg.findings import PARTS, BandwidthShare, HpcgFindings
from assay.units import counted, format_share

_METHOD = (
    f"HPCG: {OWN_CODE}. It solves a sparse system by conjugate gradients with a multigrid "
    "preconditioner, by the rules of Heroux, Dongarra and Luszczek (SAND2013-8752). The rating "
    "counts 50 iterations, whatever the set needs for the plain form's residual, and charges each "
    "set a tenth of the preparation. Symmetry, spectrum and residuals are checked."
)
_LIMIT = (
    "HPCG's limit: the flops per byte that an iteration must move at least once from memory, times "
    "STREAM's bandwidth on the same cores. Matrices that fit into caches can exceed it."
)
# Below this share of the limit, memory bandwidth doesn't explain the rate.
LOW_SHARE = 0.6
# Coarse grids and reductions make up a growing part of small problems.
_ADVICE = (
    "HPCG reaches {share} of the rate that memory bandwidth allows on {cores}. Use one rank per "
    "core or NUMA node and a larger grid (nx=…); small grids wait for each other more often."
)


def part(found: HpcgFindings) -> Part | None:
    """The part on hpcg."""
    part = Part(headline=[found.headline], method=[_METHOD])
    for cores in reversed(found.by_cores):
        point = found.by_cores[cores]
        part.evidence.append(
            evidence(f"HPCG rating, {_grid(point)}, {counted(cores, 'core')}", point, "rate")
        )
        share = found.shares.get(cores)
        if share is not None and share.of_limit is not None:
            part.evidence.append(_row(share, cores))
    if found.speedup is not None:
        part.evidence.append(speedup_row("HPCG", found.speedup, note="parallel efficiency"))
        part.growth = [Growth("HPCG", found.speedup)]
    part.evidence += [
        evidence(f"HPCG, {PARTS[name]}", point, name) for name, point in found.parts.items()
    ]
    most = max(found.by_cores)
    share = found.shares.get(most)
    rate = f"HPCG ({OWN_CODE}) is rated {measured_text(found.headline)}"
    part.remark = f"{rate} on {counted(most, 'core')}"
    if share is None or share.of_limit is None:
        part.limits.append(
            "HPCG has no limit here: STREAM was not measured on the same number of cores."
        )
        return part
    part.method.append(_LIMIT)
    of_limit = share.of_limit
    said = format_share(of_limit.value, of_limit.ci95)
    part.remark += f", {of_limit.value:.0%} of what STREAM's bandwidth allows before charges"
    if of_limit.ci95 is not None and of_limit.ci95[1] < LOW_SHARE:
        part.advice.append(_ADVICE.format(share=said, cores=counted(most, "core")))
    return part


def _row(share: BandwidthShare, cores: int) -> Evidence:
    assert share.stream is not None and share.flops_per_byte is not None
    bandwidth = quantity_text(share.stream.metric.median, "B/s", share.stream.metric.ci95)
    return evidence(
        f"HPCG without charges, {counted(cores, 'core')}",
        share.raw,
        "rate.raw",
        limit=share.limit,
        limit_source=f"{share.flops_per_byte:.3f} flop/B times STREAM's {bandwidth}",
        bound="measured",
    )


def _grid(point: Point) -> str:
    """``64 × 64 × 64 points per rank``; the summary has the size that a kernel chose."""
    known = point.summary.parameters
    edges = [str(known.get(name, point.parameter(name))) for name in ("nx", "ny", "nz")]
    return f"{' × '.join(edges)} points per rank"
