"""Checks of the network adapters: are all links up, and equally fast within a kind?"""

from __future__ import annotations

import re
from collections import defaultdict

from assay.system.doctor.findings import CheckFinding, Severity
from assay.system.model import Adapter, System
from assay.units import format_quantity


def adapters(system: System) -> list[CheckFinding]:
    """Are all links up, and equally fast within a kind?"""
    alike: dict[tuple[str | None, str | None, bool], list[Adapter]] = defaultdict(list)
    for adapter in system.adapters:
        if adapter.physical and adapter.kind != "loopback":
            alike[adapter.kind, adapter.driver, adapter.rate is not None].append(adapter)
    findings = []
    count = 0
    for (_, _, fabric), group in alike.items():
        count += len(group)
        fastest = max((a.speed or 0 for a in group if _up(a)), default=0)
        for adapter in group:
            if not _up(adapter):
                findings.append(_link_down(adapter, fabric))
            elif adapter.speed is not None and adapter.speed < 0.99 * fastest:
                findings.append(_link_slow(adapter, fastest))
            elif re.search(r"\(1X\b", adapter.rate or ""):
                findings.append(_link_narrow(adapter))
    if findings or not count:
        return findings
    if count == 1:
        return [CheckFinding("adapters", "ok", "The one network link is up.")]
    what = f"All {count} network links are up, none slower than others of its kind."
    return [CheckFinding("adapters", "ok", what)]


def _up(adapter: Adapter) -> bool:
    return adapter.state in ("up", "active", "unknown", None)


def _link_down(adapter: Adapter, fabric: bool) -> CheckFinding:
    severity: Severity = "warning" if fabric else "note"
    return CheckFinding(
        "adapters",
        severity,
        f"{adapter.name} ({adapter.kind}) is {adapter.state}.",
        "If it should carry messages, MPI will use a slower transport or fail.",
        "Check cable, switch and driver, unless the port is meant to be unused.",
    )


def _link_slow(adapter: Adapter, fastest: float) -> CheckFinding:
    return CheckFinding(
        "adapters",
        "warning",
        f"{adapter.name} runs at {_bits(adapter.speed)}, others of its kind at {_bits(fastest)}.",
        "Messages over it are slower; with several rails the slowest one limits all.",
        "Check cable and switch port: with a bad cable a link trains at a lower rate.",
    )


def _link_narrow(adapter: Adapter) -> CheckFinding:
    return CheckFinding(
        "adapters",
        "warning",
        f"{adapter.name} runs on one lane: {adapter.rate}.",
        "Links usually have four lanes: this one has a quarter of the bandwidth.",
        "Reseat or replace the cable.",
    )


def _bits(speed: float | None) -> str:
    return format_quantity(None if speed is None else speed * 8, "bit/s")
