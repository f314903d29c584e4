"""The doctor's diagnosis of one machine: the findings of all checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.system.doctor.current_checks import NOW_CHECKS, toolchains
from assay.system.doctor.findings import SEVERITIES, CheckFinding, Severity, worst
from assay.system.doctor.machine_checks import MACHINE_CHECKS
from assay.system.doctor.probe import Probe
from assay.system.model import System

if TYPE_CHECKING:
    from assay.kernels.builds.toolchain import Toolchain


class Diagnosis(msgspec.Struct, frozen=True):
    """All findings of the doctor."""

    #: Severity of the most severe finding.
    worst: Severity
    #: Findings, most severe first.
    findings: list[CheckFinding]
    #: Checks that were not possible because this machine doesn't show the facts.
    unseen: list[str]


def diagnose(
    system: System, probe: Probe | None = None, found: Sequence[Toolchain] | None = None
) -> Diagnosis:
    """Run all checks, except those of a missing ``probe`` or of missing toolchains (``found``)."""
    results = {check.__name__: check(system) for check in MACHINE_CHECKS}
    if probe is not None:
        results |= {check.__name__: check(system, probe) for check in NOW_CHECKS}
    if found is not None:
        results[toolchains.__name__] = toolchains(system, found)
    findings = [finding for group in results.values() for finding in group]
    findings.sort(key=lambda finding: -SEVERITIES.index(finding.severity))
    unseen = [name.replace("_", "-") for name, group in results.items() if not group]
    return Diagnosis(worst(findings), findings, unseen)
