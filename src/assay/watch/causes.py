"""Why steps changed: what the covariates were meanwhile, against before.

Most covariates are times that the program lost to something: waiting for a CPU, stolen, held
back, stalled. A cause that takes l seconds per second instead of k leaves (1 − l)/(1 − k) of the
speed, compared with the 1/r that steps r times as long have. Counts become times by what one
of them costs at most (``_COSTS``). What changed is named with both values, the largest share of the
slowdown first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from assay.system.processes import Process
from assay.units import format_quantity, format_share
from assay.watch.sampler import WAIT, SampledValue, rates

# A page fault without a disk, with one, and a retransmission (the least timeout of Linux), seconds.
_COSTS = {"minor_faults": 1e-6, "major_faults": 5e-3, "tcp_retransmits": 0.2}
# Below these a change is none: a share of the time, and of the slowdown that is to be explained.
_LEAST_LOSS, _LEAST_SHARE = 0.02, 0.1
# Beyond the rates before by so many deviations.
_DEVIATIONS = 4.0
# CPUs that others use more of than before, without the program waiting for any.
_OTHERS = 0.2
# The program itself uses so much less CPU than before: it waits.
_IDLER = 0.2
_NAMED = 0.05


class ChangeCause(msgspec.Struct, frozen=True):
    """A covariate that changed. ``before`` and ``during`` in ``unit``; ``share``: of the slowdown,
    0 to 1, null where it can't be known. ``sentence`` says it in words.
    """

    name: str
    before: float | None
    during: float
    unit: str
    share: float | None
    sentence: str


class ChangeCauses(msgspec.Struct, frozen=True):
    """What is known of a change's causes: ``causes``, most of it first, and it all in a sentence.

    ``seconds``: how long the covariates were looked at since the change; ``samples``: how many
    readings tell what was before.
    """

    causes: list[ChangeCause]
    sentence: str
    seconds: float
    samples: int


def explain(
    readings: Sequence[SampledValue],
    onset: float,
    ratio: float,
    busiest: Sequence[Process] = (),
    *,
    calm_until: float | None = None,
) -> ChangeCauses | None:
    """Why steps take ``ratio`` times as long since ``onset`` (s of the monotonic clock).

    ``calm_until``: where the normal range ended, if that was before the onset. None if the readings
    don't reach so far back or forward yet.
    """
    during = [reading for reading in readings if reading.time >= onset]
    earlier = [reading for reading in readings if reading.time < onset]
    if not during or (len(during) < 2 and not earlier):
        return None
    if calm_until is not None:
        earlier = [reading for reading in earlier if reading.time < calm_until] or earlier
    # A reading from shortly before the onset will do where there is but one since.
    first = during[0] if len(during) > 1 else earlier[-1]
    last = during[-1]
    calm = [rates(a, b) for a, b in pairwise(earlier)][-120:]
    found = rates(first, last)
    loss = 1.0 - 1.0 / ratio if ratio > 1.0 else 0.0
    causes = judge(calm, found, loss, busiest)
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
) -> list[ChangeCause]:
    """The covariates that changed, by rates ``before`` and ``during``; ``loss``: share of the time
    that is to be explained.
    """
    found: list[tuple[float, ChangeCause]] = []
    usual = [losses(each, before) for each in before]
    for name, lost in losses(during, before).items():
        past = [each[name] for each in usual if name in each]
        middle = median(past) if past else 0.0
        deviation = 1.4826 * median([abs(value - middle) for value in past]) if past else 0.0
        more = lost - middle
        if more <= max(_DEVIATIONS * deviation, _LEAST_LOSS, _LEAST_SHARE * loss):
            continue
        # What was lost before is in the normal steps: of the rest, so much is gone.
        more = min(more / max(1.0 - middle, 0.01), 1.0)
        share = min(more / loss, 1.0) if loss > 0.0 else None
        cause = _cause(name, before, during, (middle if past else None, lost), share, busiest)
        found.append((more, cause))
    causes = [cause for _, cause in sorted(found, key=lambda each: -each[0])]
    if not any(cause.name == "competition" for cause in causes):
        causes += _others(before, during, busiest)
    return causes


def losses(now: Mapping[str, float], before: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Seconds a second that these rates can have cost the program, by what they are due to."""
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
            f"time for one{was_share}{_named(before, during, busiest)}"
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
            said += ", the processor is throttled for its heat"
        return ChangeCause(name, then, here, "Hz", share, said)
    else:
        counters = ("minor_faults", "major_faults") if name == "faults" else ("tcp_retransmits",)
        parts = []
        for counter in counters:
            if counter in during:
                then = _median(before, counter)
                what = counter.replace("tcp_retransmits", "TCP retransmits").replace("_", " ")
                parts.append(
                    f"{during[counter]:,.0f} {what} a second"
                    + (f" (before: {then:,.0f})" if then is not None else "")
                )
        said = ("page faults: " if name == "faults" else "the network: ") + ", ".join(parts)
    return ChangeCause(name, was, now, "s/s", share, said)


def _others(
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
    busiest: Sequence[Process],
) -> list[ChangeCause]:
    """Others are busier, though nobody waits for a CPU: they share caches and memory bandwidth."""
    then, now = _median(before, "other_cpu_seconds"), during.get("other_cpu_seconds")
    if now is None or now - (then or 0.0) < _OTHERS:
        return []
    said = f"others are busier{_named(before, during, busiest)}: they share caches and memory"
    return [ChangeCause("neighbours", then, now, "s/s", None, said)]


def _named(
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
    busiest: Sequence[Process],
) -> str:
    """Who else used the CPUs, as a clause; empty if nobody is known to have."""
    now = during.get("other_cpu_seconds")
    if now is None or now < _NAMED:
        return ""
    then = _median(before, "other_cpu_seconds")
    names = [f"{p.name} ({p.pid}) {p.cpus:.2f}" for p in busiest if p.cpus >= _NAMED][:3]
    was = f" (before: {then:.2f})" if then is not None else ""
    return f"; others used {now:.2f} CPUs{was}" + (f", {', '.join(names)}" if names else "")


def in_words(
    causes: Sequence[ChangeCause],
    before: Sequence[Mapping[str, float]],
    during: Mapping[str, float],
) -> str:
    """All causes in a sentence, or what it means that there is none."""
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
        return f"{said}, and {used}: it waits, for what can't be seen from here"
    return f"{said}, and {used}: its own work, or the memory and caches that it shares"


def hanging(reading: SampledValue, own_cpus: float | None) -> str:
    """What the program does while no step comes."""
    states = reading.states
    total = sum(states.values())
    if total == 0:
        return "none of its processes is to be seen"
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
