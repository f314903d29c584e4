"""The evidence of a check as plain text, for ``--verbose``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from assay.check.components import BY_NAME, OF_DEVICES, PER_UNIT
from assay.check.model import NodeFinding, Reading
from assay.check.outputs.line import plain
from assay.check.result import NodeCheck
from assay.units import counted, format_quantity


def evidence(check: NodeCheck) -> str:
    """The line, and below it what was measured, what differs and how long each stage took."""
    lines = [check.line, *_lines(check)]
    return "".join(f"{plain_indented(line)}\n" for line in lines)


def plain_indented(line: str) -> str:
    """A line in printable ASCII that keeps its indentation and columns."""
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + "  ".join(plain(part) for part in line.strip().split("  "))


def _lines(check: NodeCheck) -> Iterator[str]:
    if check.baseline is not None:
        used = check.baseline
        yield (
            f"  baseline of {check.kind}, version {used.version} ({used.digest}): "
            f"{counted(used.checks, 'check')} of {counted(used.nodes, 'node')}"
        )
    yield from _findings("found", check.findings)
    yield from _findings("suspected, which doesn't fail the node", check.suspected)
    if check.divided:
        yield "  the fleet itself is divided:"
        yield from (f"    {each}" for each in check.divided)
    if check.new:
        yield f"  unknown to the fleet, and not judged: {', '.join(check.new)}"
    if check.readings:
        yield "  measured:"
        yield from (f"    {_reading(each)}" for each in check.readings)
    if check.facts:
        yield f"  {len(check.facts)} facts read"
    if check.unread:
        yield "  not readable:"
        yield from (f"    {each}" for each in check.unread)
    if check.counts is not None:
        counts = check.counts
        yield (
            f"  checks of this node: {counts.healthy} healthy, {counts.unhealthy} unhealthy, "
            f"{counts.undecided} undecided"
        )
    if check.stages:
        stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in check.stages.items())
        yield f"  time: {stages}"


def _findings(title: str, findings: Sequence[NodeFinding]) -> Iterator[str]:
    if findings:
        yield f"  {title}:"
    for each in findings:
        yield f"    {each.text or f'{each.about}: {each.value}, expected {each.expected}'}"
        if each.deviation is not None:
            interval = ""
            if each.interval is not None:
                low, high = each.interval
                interval = f", 95% interval {low:+.1%} to {high:+.1%}"
            yield (
                f"      deviation {each.deviation:+.1%}{interval}; "
                f"probability on a healthy node {each.probability:.1g}"
            )


def _reading(reading: Reading) -> str:
    component = BY_NAME[reading.component]
    if reading.failed or not reading.values:
        return f"{component.title}: {reading.failed or 'no value'}"
    quiet = reading.quiet
    words = []
    if component.name in PER_UNIT:
        slowest = min(range(len(reading.values)), key=lambda index: reading.values[index])
        value = format_quantity(reading.values[slowest], component.unit)
        if slowest < len(reading.cpus):
            unit = "device" if component.name in OF_DEVICES else "CPU"
            value += f" ({unit} {reading.cpus[slowest]})"
    else:
        value = format_quantity(median(reading.values), component.unit)
    words.append(f"{component.title}: {value} in {reading.seconds:.2f} s")
    if not reading.verified:
        words.append("wrong result")
    words.append(f"others used {quiet.others:.2f} CPUs")
    if quiet.users:
        words.append(f"{counted(quiet.users, 'other process')} used the devices")
    if quiet.steal:
        words.append(f"{quiet.steal:.1%} stolen")
    if quiet.held_back:
        words.append(f"held back {quiet.held_back:.2f} s by a quota")
    if quiet.throttled:
        words.append(f"{quiet.throttled} throttling events")
    return ", ".join(words)
