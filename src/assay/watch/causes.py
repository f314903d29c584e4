"""Causes of changed steps: covariates during the change compared with before.

Most covariates are times that the program lost: waiting for a CPU, stolen, throttled by a quota,
stalled. A cause that takes l seconds per second instead of k reduces the speed to (1 − l)/(1 − k);
steps that take r times as long have speed 1/r. Counts are converted to times by the maximum cost
per event (``_COSTS``). Covariates that changed are reported with both values, the largest share of
the slowdown first.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from assay.system.processes import Process
from assay.units import format_quantity, format_share
from assay.watch.sampler import WAIT, SampledValue, rates

# Seconds per page fault without and with a disk read, and per retransmission (Linux's minimum
# timeout).
_COSTS = {"minor_faults": 1e-6, "major_faults": 5e-3, "tcp_retransmits": 0.2}
# Minimum change that is reported: as a share of the time, and of the slowdown to be explained.
_LEAST_LOSS, _LEAST_SHARE = 0.02, 0.1
# Minimum change in median absolute deviations (scaled to sigma) of the rates before.
_DEVIATIONS = 4.0
# Minimum increase (CPUs) of other processes' CPU use that is reported if the program doesn't wait.
_OTHERS = 0.2
# Relative decrease of the program's own CPU use above which it is said to wait.
_IDLER = 0.2
# Minimum CPU use (CPUs) that is reported.
_NAMED = 0.05
# Maximum number of names of processes in a sentence.
_MOST_NAMED = 3


class ChangeCause(msgspec.Struct, frozen=True):
    """A covariate that changed. ``before`` and ``during`` are in ``unit``."""

    name: str
    before: float | None
    during: float
    unit: str
    #: Share of the slowdown that it explains, 0 to 1, null if unknown.
    share: float | None
    #: Description of the cause.
    sentence: str


class ChangeCauses(msgspec.Struct, frozen=True):
    """The causes of a change, largest first, and a sentence on all causes."""

    causes: list[ChangeCause]
    sentence: str
    #: Time since the change for which covariates are known.
    seconds: float
    #: Number of intervals between readings before it.
    samples: int


def explain(
    readings: Sequence[SampledValue],
    onset: float,
    ratio: float,
    busiest: Sequence[Process] = (),
    sharing: Container[int] | None = None,
    *,
    calm_until: float | None = None,
) -> ChangeCauses | None:
    """Why steps take ``ratio`` times as long since ``onset`` (s of the monotonic clock).

    ``busiest``: other processes; ``sharing``: ids of processes that ran on the program's CPUs, None
    if unknown. ``calm_until``: when the steps left the normal range, if that was before the onset.
    None if there are too few readings before or after the onset.
    """
    during = [reading for reading in readings if reading.time >= onset]
    earlier = [reading for reading in readings if reading.time < onset]
    if not during or (len(during) < 2 and not earlier):
        return None
    if calm_until is not None:
        earlier = [reading for reading in earlier if reading.time < calm_until] or earlier
    # If there is only one reading since the onset, the last one before it is the beginning.
    first = during[0] if len(during) > 1 else earlier[-1]
    last = during[-1]
    calm = [rates(a, b) for a, b in pairwise(earlier)][-120:]
    found = rates(first, last)
    loss = 1.0 - 1.0 / ratio if ratio > 1.0 else 0.0
    causes = judge(calm, found, loss, busiest, sharing)
    return ChangeCauses(
        causes,
        in_words(causes, calm, found),
        last.time - first.time,
        len(calm),
    )


def judge(
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
    loss: float,
    busiest: Sequence[Process] = (),
    sharing: Container[int] | None = None,
) -> list[ChangeCause]:
    """The covariates that changed, by rates ``before`` and ``during``; ``loss``: share of the time
    that has to be explained. ``busiest`` and ``sharing`` as for ``explain``.
    """
    found: list[tuple[float, ChangeCause]] = []
    usual = [losses(each, before) for each in before]
    sharers = [each for each in busiest if sharing is None or each.pid in sharing]
    for name, lost in losses(during, before).items():
        past = [each[name] for each in usual if name in each]
        typical = median(past) if past else 0.0
        deviation = 1.4826 * median([abs(value - typical) for value in past]) if past else 0.0
        more = lost - typical
        if more <= max(_DEVIATIONS * deviation, _LEAST_LOSS, _LEAST_SHARE * loss):
            continue
        # Normal steps include the typical loss: relate the increase to the time without it.
        more = min(more / max(1.0 - typical, 0.01), 1.0)
        share = min(more / loss, 1.0) if loss > 0.0 else None
        cause = _cause(
            name=name,
            before=before,
            during=during,
            lost=(typical if past else None, lost),
            share=share,
            busiest=sharers,
        )
        found.append((more, cause))
    causes = [cause for _, cause in sorted(found, key=lambda each: -each[0])]
    if not any(cause.name == "competition" for cause in causes):
        causes += _others(before, during, busiest)
    return causes


def losses(now: Mapping[str, float], before: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Seconds per second that the program can have lost, by cause, for these rates."""
    found: dict[str, float] = {}
    if WAIT in now:
        found["competition"] = now[WAIT]
    if now.get("wanted_seconds", 0.0) > 0.0 and "steal_seconds" in now:
        found["steal"] = min(now["steal_seconds"] / now["wanted_seconds"], 1.0)
    for name, counter in (
        ("quota", "quota_seconds"),
        ("memory", "memory_stall_seconds"),
        ("io", "io_stall_seconds"),
    ):
        if counter in now:
            found[name] = min(now[counter], 1.0)
    processes = max(now.get("processes", 1.0), 1.0)
    faults = [now[name] * _COSTS[name] for name in ("minor_faults", "major_faults") if name in now]
    if faults:
        found["faults"] = min(sum(faults) / processes, 1.0)
    if "tcp_retransmits" in now:
        found["retransmits"] = min(now["tcp_retransmits"] * _COSTS["tcp_retransmits"], 1.0)
    usual = [each["frequency"] for each in before if "frequency" in each]
    if usual and "frequency" in now:
        found["frequency"] = max(1.0 - now["frequency"] / median(usual), 0.0)
    return found


def _cause(
    name: str,
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
    lost: tuple[float | None, float],
    share: float | None,
    busiest: Sequence[Process],
) -> ChangeCause:
    was, now = lost
    was_share = f" (before: {format_share(was)})" if was is not None else ""
    if name == "competition":
        said = (
            f"competition for the CPU: a thread of the program waited {format_share(now)} of the "
            f"time for one{was_share}{_named(before, during, busiest, 'on its CPUs ')}"
        )
    elif name == "steal":
        said = (
            f"steal time: the hypervisor gave {format_share(now)} of the wanted CPU time to "
            f"others{was_share}"
        )
    elif name == "quota":
        said = f"a CPU quota: its control group was held back {format_share(now)} of the time"
        said += was_share
    elif name == "memory":
        said = f"short memory: tasks waited for it {format_share(now)} of the time{was_share}"
        if "memory_available" in during:
            said += f", {format_quantity(during['memory_available'], 'B')} are available"
    elif name == "io":
        said = f"disks: tasks waited for them {format_share(now)} of the time{was_share}"
    elif name == "frequency":
        then = _median(before, "frequency")
        here = during["frequency"]
        said = (
            f"a lower clock: {format_quantity(here, 'Hz')} (before: {format_quantity(then, 'Hz')})"
        )
        if during.get("throttle_events", 0.0) > 0.0:
            said += ", the processor is throttled thermally"
        return ChangeCause(
            name=name, before=then, during=here, unit="Hz", share=share, sentence=said
        )
    else:
        counters = ("minor_faults", "major_faults") if name == "faults" else ("tcp_retransmits",)
        parts = []
        for counter in counters:
            if counter in during:
                then = _median(before, counter)
                what = counter.replace("tcp_retransmits", "TCP retransmits").replace("_", " ")
                parts.append(
                    f"{during[counter]:,.0f} {what} per second"
                    + (f" (before: {then:,.0f})" if then is not None else "")
                )
        said = ("page faults: " if name == "faults" else "the network: ") + ", ".join(parts)
    return ChangeCause(name=name, before=was, during=now, unit="s/s", share=share, sentence=said)


def _others(
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
    busiest: Sequence[Process],
) -> list[ChangeCause]:
    """A cause if others use more CPUs without competition: they share caches and memory."""
    then, now = _median(before, "other_cpu_seconds"), during.get("other_cpu_seconds")
    if now is None or now - (then or 0.0) < _OTHERS:
        return []
    said = f"others are busier{_named(before, during, busiest)}: they share caches and memory"
    return [
        ChangeCause(
            name="neighbours", before=then, during=now, unit="s/s", share=None, sentence=said
        )
    ]


def _named(
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
    busiest: Sequence[Process],
    where: str = "",
) -> str:
    """A clause on other processes, added up by name; empty if none are known."""
    now = during.get("other_cpu_seconds")
    if now is None or now < _NAMED:
        return ""
    then = _median(before, "other_cpu_seconds")
    was = f" (before: {then:.2f})" if then is not None else ""
    names = by_name(busiest)
    return f"; others used {now:.2f} CPUs{was}" + (f", {where}{', '.join(names)}" if names else "")


def by_name(processes: Sequence[Process]) -> list[str]:
    """The busiest processes; processes with the same name are added up: ``"python3 (4 processes)
    3.91"``.
    """
    groups: dict[str, list[Process]] = {}
    for process in processes:
        groups.setdefault(process.name, []).append(process)
    used = sorted(
        ((sum(p.cpus for p in group), group) for group in groups.values()), key=lambda g: -g[0]
    )
    return [
        f"{group[0].name} ({group[0].pid if len(group) == 1 else f'{len(group)} processes'}) "
        f"{cpus:.2f}"
        for cpus, group in used
        if cpus >= _NAMED
    ][:_MOST_NAMED]


def in_words(
    causes: Sequence[ChangeCause],
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
) -> str:
    """A sentence on all causes, or on what a lack of causes means."""
    if causes:
        parts = []
        for cause in causes:
            part = cause.sentence
            if cause.share is not None and cause.share < 0.995:
                part += f" [{format_share(cause.share)} of the slowdown]"
            parts.append(part)
        return "; ".join(parts)
    said = "none of the covariates changed"
    then, now = _median(before, "own_cpu_seconds"), during.get("own_cpu_seconds")
    if then is None or now is None or then < _NAMED:
        return said
    used = f"it uses {now:.2f} CPUs (before: {then:.2f})"
    if now < (1.0 - _IDLER) * then:
        return f"{said}, and {used}: it waits, but the reason isn't visible here"
    return f"{said}, and {used}: its own work, or the memory and caches that it shares"


def hanging(reading: SampledValue, own_cpus: float | None) -> str:
    """A sentence on what the program does while no step ends."""
    states = reading.states
    total = sum(states.values())
    if total == 0:
        return "none of its processes is visible"
    if states.get("T", 0) + states.get("t", 0) == total:
        return "all its processes are stopped (SIGCONT lets them go on)"
    if states.get("D", 0):
        return f"{states['D']} of its {total} processes wait for a disk or a network file system"
    if own_cpus is not None and own_cpus >= 0.5:
        return f"it computes, or polls: {own_cpus:.2f} CPUs"
    if own_cpus is not None and own_cpus < _NAMED:
        return f"all its {total} processes sleep: it waits for something"
    return f"of its {total} processes {states.get('R', 0)} run"


def _median(rows: Sequence[Mapping[str, float]], name: str) -> float | None:
    values = [row[name] for row in rows if name in row]
    return median(values) if values else None
