"""The answer on codes: how much faster assay's code is, and published ratios without it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.naming import kernel_name, placement_text
from assay.questions.common.answer import Evidence
from assay.questions.common.code_factors import CellFactor
from assay.questions.common.parts import Part
from assay.questions.common.selection import quantity_text
from assay.questions.speed.codes.findings import LINPACK, CodesFindings, PublishedComparison
from assay.units import counted, listed

_METHOD = (
    "Code factors: your executables ran on the same ranks as assay's kernels, in the same "
    "randomised blocks. The launcher of the MPI that they are linked with started them, and the "
    "times that they print count. The factor is the median of all ratios of a launch of one code "
    "to a launch of the other (Hodges and Lehmann 1963)."
)


def part(found: CodesFindings) -> Part | None:
    """The part on codes."""
    part = Part()
    if found.factors:
        part.method.append(_METHOD)
    part.evidence += [_factor_row(each) for each in found.factors]
    part.evidence += [_machine_row(each) for each in found.published if each.machine is not None]
    unknown = [each for each in found.published if each.machine is None]
    if unknown:
        part.limits.append(_unknown(unknown))
    return part if part.evidence or part.limits else None


def _factor_row(found: CellFactor) -> Evidence:
    own = quantity_text(found.own.median, found.unit)
    site = quantity_text(found.site.median, found.unit)
    return Evidence(
        label=f"{found.title}, {placement_text(found.placement)}: assay's code / {found.program}",
        metric="code factor",
        unit="",
        value=found.factor.value,
        ci95=found.factor.interval,
        cells=[found.own.cell.id, found.site.cell.id],
        note=f"{own} and {site}; {found.code}",
    )


def _machine_row(found: PublishedComparison) -> Evidence:
    assert found.machine is not None and found.factor is not None
    return Evidence(
        label=f"{found.what} here / on {found.system}, codes divided out",
        metric="ratio",
        unit="",
        value=found.machine,
        ci95=found.machine_ci95,
        cells=[found.here, found.factor.site.cell.id],
        note=divided_text(found),
    )


def divided_text(found: PublishedComparison) -> str:
    """``9.1× the published rate by assay's code, which is 4.1× as fast as NASA's NPB 3.4 …``."""
    assert found.factor is not None
    ratio = quantity_text(found.ratio, "", found.ratio_ci95)
    by = quantity_text(found.factor.factor.value, "", found.factor.factor.interval)
    processes = f" of {counted(found.processes, 'process')}" if found.processes else ""
    return (
        f"{ratio} the published rate{processes} by assay's code on {counted(found.cores, 'core')}, "
        f"which is {by} as fast as {found.factor.code} here ({found.factor.title}, "
        f"{placement_text(found.factor.placement)})"
    )


def _unknown(found: Sequence[PublishedComparison]) -> str:
    """A sentence on why there is no verdict, and on the command that measures the code factor."""
    kernels = list(dict.fromkeys(each.kernel for each in found))
    named = listed(["Linpack" if kernel == LINPACK else kernel_name(kernel) for kernel in kernels])
    suite = "linpack n=20000" if kernels == [LINPACK] else "npb"
    npb = [kernel for kernel in kernels if kernel != LINPACK]
    if npb:
        sizes = ",".join(dict.fromkeys(each.what[-1] for each in found if each.kernel in npb))
        suite = f"npb kernel={','.join(npb)} class={sizes}"
    return (
        f"Published results of {named} come from other codes. Without the ratio of the codes it "
        f"is unknown how the machines compare. `assay run {suite} --beside DIR` measures this "
        "ratio with your executables in DIR."
    )
