"""A check as metrics for the textfile collector of Prometheus' node_exporter.

The text follows the exposition format 0.0.4 and is also valid OpenMetrics. All metrics are gauges.
The file has no times of samples, which the collector refuses: ``assay_check_end_time_seconds`` says
how old it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from assay.check.components import COMPONENTS, CORE, OF_DEVICES
from assay.check.model import Outcome, Reading
from assay.check.result import NodeCheck

_OUTCOMES: tuple[Outcome, ...] = ("healthy", "unhealthy", "undecided")
# Units in names of metrics, in base units.
_UNITS = {
    "flop/s": "flops",
    "B/s": "bytes_per_second",
    "s": "seconds",
    "update/s": "updates_per_second",
}
_Sample = tuple[Mapping[str, str], float]


def textfile(check: NodeCheck) -> str:
    """The metrics of a check."""
    lines: list[str] = []
    for name, meaning, samples in _families(check):
        if samples:
            lines += [f"# HELP {name} {meaning}.", f"# TYPE {name} gauge"]
            lines += [f"{name}{_labels(labels)} {value!r}" for labels, value in samples]
    return "".join(f"{line}\n" for line in (*lines, "# EOF"))


def _families(check: NodeCheck) -> Iterator[tuple[str, str, Sequence[_Sample]]]:
    info = {
        "version": check.assay,
        "kind": check.kind,
        "baseline": check.baseline.digest if check.baseline else "",
    }
    yield "assay_check_info", "Version of assay, kind of node and its baseline", [(info, 1)]
    outcomes = [({"outcome": name}, float(name == check.outcome)) for name in _OUTCOMES]
    yield "assay_check_outcome", "Outcome of the last check of this node", outcomes
    yield "assay_check_end_time_seconds", "Unix time of its end", [({}, round(check.utc, 3))]
    yield "assay_check_duration_seconds", "Its duration", [({}, round(check.seconds, 3))]
    failed = "failed" if check.outcome == "unhealthy" else "undecided"
    states = {(each.about, failed): each for each in check.findings}
    states |= {(each.about, "suspected"): each for each in check.suspected}
    yield (
        "assay_check_finding",
        "What it found wrong, or suspects",
        [({"about": about, "state": state}, 1) for about, state in states],
    )
    yield (
        "assay_check_deviation_ratio",
        "Deviation of a finding from its expectation, negative if worse",
        [
            ({"about": about, "state": state}, each.deviation)
            for (about, state), each in states.items()
            if each.deviation is not None
        ],
    )
    for component in COMPONENTS:
        found = [
            each
            for each in check.readings
            if each.component == component.name and not each.failed and each.values
        ]
        name = f"assay_check_{component.name}_{_UNITS[component.unit]}"
        if component.name in OF_DEVICES:
            yield name, f"Measured {component.title} by device", _by_device(found)
            continue
        values = [
            value
            for each in found
            for value in ([min(each.values)] if component.name == CORE else each.values)
        ]
        yield name, f"Measured {component.title}", [({}, median(values))] if values else []
    if check.counts is not None:
        counts = [({"outcome": name}, float(getattr(check.counts, name))) for name in _OUTCOMES]
        yield "assay_check_checks", "Checks of this node by outcome", counts


def _by_device(readings: Sequence[Reading]) -> list[_Sample]:
    values: dict[int, list[float]] = {}
    for each in readings:
        for device, value in zip(each.cpus or range(len(each.values)), each.values, strict=True):
            values.setdefault(device, []).append(value)
    return [({"device": str(device)}, median(found)) for device, found in sorted(values.items())]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    safe = text.encode("utf-8", "replace").decode()
    return safe.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
