"""Text of host effects: "sets with n8 take 8.4% longer"."""

from __future__ import annotations

from assay.hostnames import names_text
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.steadiness.host_effects.findings import HostEffectFindings, SlowHosts
from assay.stats.fleet.fleet import STATED
from assay.units import counted


def part(found: HostEffectFindings) -> Part:
    """The hosts that slow their sets, or a statement that none was found."""
    remark = f"no effect of single hosts found in {counted(found.sets, 'set')} of hosts"
    return Part(
        remark="; ".join(_sentence(each) for each in found.slow) or remark,
        evidence=[_evidence(each) for each in found.slow],
        advice=[
            f"Measure {names_text(each.hosts)} individually: `assay run --per-node`."
            for each in found.slow
        ],
        method=[
            "Host effects: a regression of the logarithm of the cost on membership in the set, "
            f"with one value per set. On average, at most {STATED:.0%} of the found hosts are "
            "false positives; a host is reported if its range also excludes 1, among all hosts."
        ],
    )


def _sentence(slow: SlowHosts) -> str:
    names = " or ".join(slow.hosts) if len(slow.hosts) <= 3 else names_text(slow.hosts)
    together = " (always in the same sets)" if len(slow.hosts) > 1 else ""
    return (
        f"sets with {names}{together} take {slow.ratio - 1.0:.1%} longer in {slow.label} "
        f"({slow.sets} of {counted(slow.of_sets, 'set')}, p = {slow.p:.2g}, corrected)"
    )


def _evidence(slow: SlowHosts) -> Evidence:
    return Evidence(
        label=f"{names_text(slow.hosts)} in the set: {slow.label}",
        metric="cost relative to sets without",
        unit="",
        value=slow.ratio,
        ci95=slow.ci95,
        cells=[slow.cell],
        note=f"in {slow.sets} of {counted(slow.of_sets, 'set')}; p = {slow.p:.2g}, corrected over "
        "hosts",
    )
