"""The answer on what a program needs."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.questions.profile.launches import launches_evidence, launches_sentence
from assay.questions.profile.model import ProfileFindings, ProfileGrain
from assay.questions.profile.programs import other_programs
from assay.trace.model import NO_CPU
from assay.units import counted, format_duration, format_quantity, format_share

QUESTION = "profile"
TITLE = "What does the program need?"
# Below this, an efficiency is worth a recommendation; above this share of MPI, a function.
_POOR, _MUCH = 0.85, 0.05
# Waiting, as a share of the time in MPI, that is worth a word.
_NAMED = 0.05
# Wall time (s) above which the start of a program has little effect on its shares.
_LONG = 1.0
_NAMES = {
    "point": "point-to-point",
    "start": "starting persistent requests",
    "completion": "waiting for requests",
    "probe": "probing",
    "collective": "collectives",
    "one-sided": "one-sided communication",
    "file": "files",
    "communicator": "making communicators",
}


def kind_name(kind: str) -> str:
    """The kind of function for people."""
    return _NAMES.get(kind, kind)


def answer(found: ProfileFindings) -> Answer:
    """The verdict, with what the profile can't say as caveats."""
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=_verdict(found),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found),
        advice=_advice(found),
        caveats=[
            *other_programs(found),
            *_endings(found),
            *found.unknown,
            *_lost(found),
            *_without_cpu(found),
        ],
        method=[
            "A library preloaded into the unmodified program times each call of an MPI function "
            "by the monotonic clock. Wall time is from the end of MPI_Init to MPI_Finalize; what "
            "isn't in MPI's functions counts as computation, input and output of files included.",
            "Parallel efficiency is the mean computing time divided by the longest wall time; it "
            "is the product of load balance (mean ÷ longest computing time) and communication "
            "efficiency (POP Centre of Excellence).",
            *_regions(found),
        ],
        limits=[
            "A profile has sums only: it does not show how much of the time in a call is waiting, "
            "or for which rank.",
            _own_cost(found),
        ],
    )


def _regions(found: ProfileFindings) -> list[str]:
    if found.regions is None:
        return []
    return [
        f"The program switches the profile on {counted(found.regions.regions, 'time')} "
        "(MPI_Pcontrol): all numbers are of these regions, "
        f"{format_share(found.regions.share)} of the time from MPI_Init to MPI_Finalize; wall time "
        "is the time in them."
    ]


def _own_cost(found: ProfileFindings) -> str:
    if found.cost is None or found.overhead is None:
        return "All times include that of the profile itself, which has not been measured."
    return (
        f"About {format_share(found.overhead)} of a rank's wall time is the profile's own: "
        f"{format_duration(found.cost)} per call, as measured when the program began, with data "
        "out of the first caches. It is included in all times; its effects on waiting are not in "
        "this estimate."
    )


def _without_cpu(found: ProfileFindings) -> list[str]:
    if found.cpu_wait is None or found.cpu_wait <= NO_CPU:
        return []
    return [
        f"For {format_share(found.cpu_wait)} of their wall time the ranks were ready to run and "
        "had no CPU: there were more ranks and threads than CPUs, or other programs ran. Computing "
        "times include this time."
    ]


def _verdict(found: ProfileFindings) -> str:
    share = found.mpi_share
    who = counted(found.size, "rank")
    span = (
        f" ({format_share(share.least)} to {format_share(share.most)} by rank)"
        if len(found.ranks) > 1
        else ""
    )
    first = (
        f"{format_share(share.mean)} of {format_duration(found.wall)} in MPI{span}, "
        f"{who} on {counted(found.hosts, 'host')}"
    )
    main = [each for each in found.functions if each.share > 0.0][:2]
    mostly = ", ".join(f"{each.function} {format_share(each.share)}" for each in main)
    ratio = _grain(found.grain, found.cpu_wait)
    part = "" if found.regions is None else " in its measured regions"
    return f"{first}{part}{': ' + mostly if mostly else ''}.{ratio}"


def _grain(grain: ProfileGrain, cpu_wait: float | None) -> str:
    """Computation against communication, without what is known to be waiting."""
    if grain.ratio is None:
        return " All of the time in MPI is waiting." if grain.waiting > 0.0 else ""
    share = format_share(grain.waiting_share)
    least = "" if grain.traced else "at least "
    text = f" Computation is {grain.ratio:.3g} × communication"
    if grain.waiting_share >= _NAMED:
        text += f"; {least}{share} of the time in MPI is waiting, which isn't counted"
    text += "."
    if grain.fine and cpu_wait is not None and cpu_wait > NO_CPU:
        text += " Whether this is fine grain isn't known: ranks had no CPU for a part of it."
    elif grain.fine and grain.traced:
        text += " This is fine grain."
    elif grain.fine:
        text += (
            " This is fine grain unless more of that time is waiting: `--trace` measures it."
            if grain.waiting_share >= _NAMED
            else " This is fine grain unless it is mostly waiting: `--trace` measures that."
        )
    return text


def _confidence(found: ProfileFindings) -> tuple[Confidence, str]:
    if found.unknown or found.wall < _LONG:
        return "low", (
            "The profile has gaps."
            if found.unknown
            else f"The program ran for {format_duration(found.wall)} only."
        )
    if found.cpu_wait is not None and found.cpu_wait > NO_CPU:
        return "low", f"The ranks had no CPU for {format_share(found.cpu_wait)} of their time."
    return "medium", f"The profile is complete. {launches_sentence(found.launches)}"


def _evidence(found: ProfileFindings) -> list[Evidence]:
    rows = []
    if found.efficiencies is not None:
        of = found.efficiencies
        rows = [
            Evidence("Parallel efficiency", "parallel", "1", of.parallel),
            Evidence("Load balance", "load_balance", "1", of.load_balance),
            Evidence("Communication efficiency", "communication", "1", of.communication),
        ]
    demand = found.demand
    note = f"{_between(demand.bytes.least, demand.bytes.most, 'B/s')} by rank"
    rows += [
        Evidence("Sent to other ranks, per rank", "bytes", "B/s", demand.bytes.mean, note=note),
        Evidence("Messages per rank", "messages", "1/s", demand.messages.mean),
        Evidence("Collectives per rank", "collectives", "1/s", demand.collectives),
        Evidence("Computing between two calls", "between", "s", found.grain.between, note="mean"),
        *launches_evidence(found.launches),
    ]
    return rows


def _between(low: float, high: float, unit: str) -> str:
    return f"{format_quantity(low, unit)} to {format_quantity(high, unit)}"


def _advice(found: ProfileFindings) -> list[str]:
    advice = []
    of = found.efficiencies
    if of is not None and of.load_balance < _POOR and len(found.ranks) > 1:
        most = max(found.ranks, key=lambda rank: rank.computing)
        extra = most.computing * len(found.ranks) / sum(r.computing for r in found.ranks) - 1.0
        advice.append(
            f"Rank {most.rank} computes {format_share(extra)} longer than the mean: even work "
            f"would save up to {format_share(1.0 - of.load_balance)} of the longest computing time."
        )
    main = next((each for each in found.sites if each.share > _MUCH), None)
    if main is not None and (of is None or of.communication < _POOR):
        advice.append(
            f"Look at {main.function} in {main.place} first: it takes {format_share(main.share)} "
            "of the wall time."
        )
    tests = sum(each.failed for each in found.functions)
    if tests > 0.5 * sum(each.calls for each in found.functions):
        advice.append(
            f"{tests:,} of {sum(each.calls for each in found.functions):,} calls are tests or "
            "probes that found nothing: waiting calls would free the core."
        )
    if found.unfinished:
        advice.append(
            f"{counted(found.unfinished, 'request')} never completed: wait for them, or free them."
        )
    return advice


def _endings(found: ProfileFindings) -> list[str]:
    endings = {
        "abort": "called MPI_Abort",
        "signal": "got SIGTERM",
        "exit": "ended without MPI_Finalize",
    }
    return [
        f"{counted(number, 'rank')} {endings[ending]}: the profile reaches to there."
        for ending, number in found.endings.items()
        if ending in endings
    ]


def _lost(found: ProfileFindings) -> list[str]:
    if not found.lost:
        return []
    return [
        f"{format_share(found.lost)} of the calls are in the sums only: there was no room for "
        "more call sites, peers and sizes (ASSAY_PROFILE_ENTRIES)."
    ]
