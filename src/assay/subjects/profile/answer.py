"""The answer on what a program needs."""

from __future__ import annotations

from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.profile.advice import PossibleGain, advice_of, sure_evidence
from assay.subjects.profile.doubts import Doubts, ProgramStatement, left_out, profile_doubts
from assay.subjects.profile.launches import (
    doubtful_sentence,
    launches_evidence,
    launches_sentence,
)
from assay.subjects.profile.model import ProfileFindings, ProfileGrain, ProfileSite
from assay.subjects.profile.programs import other_programs
from assay.trace.calls import SENDS
from assay.trace.model import NO_CPU
from assay.units import counted, format_duration, format_quantity, format_share

QUESTION = "profile"
TITLE = "What does the program need?"
# An efficiency below the first value, or a function above the second share of MPI, is worth a
# recommendation.
_POOR, _MUCH = 0.85, 0.05
# A message with fewer bytes than this is small; this number of messages per rank is large.
_SMALL, _MANY = 4096, 1000
# Minimum share of waiting in the time in MPI that is worth a clause.
_NAMED = 0.05
# Maximum number of functions with device memory that the answer names.
_DEVICE_USERS = 3
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
    """The kind of function in words."""
    return _NAMES.get(kind, kind)


def answer(found: ProfileFindings) -> Answer:
    """The answer; what the profile can't say becomes caveats."""
    doubts = profile_doubts(found)
    confidence, why = _confidence(found, doubts)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=_verdict(found, doubts),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found, doubts),
        advice=[*advice_of(doubts, _gains(found)), *_hints(found)],
        caveats=[
            *other_programs(found),
            *_endings(found),
            *found.unknown,
            *_lost(found),
            *_without_cpu(found),
            *left_out(doubts, ("efficiency", "computing", "grain", "saving", "site")),
        ],
        method=[
            "A library preloaded into the unmodified program times each call of an MPI function "
            "with the monotonic clock. Wall time is from the end of MPI_Init to MPI_Finalize. "
            "Time outside of MPI functions counts as computation, including file input and "
            "output.",
            "Parallel efficiency is the mean computing time divided by the longest wall time; it "
            "is the product of load balance (mean ÷ longest computing time) and communication "
            "efficiency (POP Centre of Excellence).",
            *_regions(found),
        ],
        limits=[
            "A profile has only sums. It does not show how much of the time in a call is "
            "waiting, or for which rank.",
            _own_cost(found),
        ],
    )


def _regions(found: ProfileFindings) -> list[str]:
    if found.regions is None:
        return []
    return [
        f"The program switches the profile on {counted(found.regions.regions, 'time')} "
        "(MPI_Pcontrol). All numbers cover only these regions, "
        f"{format_share(found.regions.share)} of the time from MPI_Init to MPI_Finalize; wall "
        "time is the time in these regions."
    ]


def _own_cost(found: ProfileFindings) -> str:
    if found.cost is None or found.overhead is None:
        return "All times include the time of the profile itself, which has not been measured."
    return (
        f"The profile itself takes about {format_share(found.overhead)} of a rank's wall time: "
        f"{format_duration(found.cost)} per call, measured when the program began, with data "
        "outside of the first caches. All times include it. This estimate excludes its effects "
        "on waiting."
    )


def _without_cpu(found: ProfileFindings) -> list[str]:
    if found.cpu_wait is None or found.cpu_wait <= NO_CPU:
        return []
    return [
        f"For {format_share(found.cpu_wait)} of their wall time, the ranks were ready to run but "
        "had no CPU, because there were more ranks and threads than CPUs or because other "
        "programs ran. Computing times include this time."
    ]


def _verdict(found: ProfileFindings, doubts: Doubts) -> str:
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
    ratio = _grain(found.grain, doubts.because("grain"))
    part = "" if found.regions is None else " in its measured regions"
    return f"{first}{part}{': ' + mostly if mostly else ''}.{ratio}{_devices(found)}"


def _devices(found: ProfileFindings) -> str:
    """The bytes whose buffers are memory of a device, by function; "" if there are none."""
    users = [each for each in found.functions if each.device_calls]
    if not users:
        return ""
    users.sort(key=lambda each: -each.device_bytes)
    main = ", ".join(
        f"{each.function} {format_quantity(each.device_bytes, 'B')} in "
        f"{counted(each.device_calls, 'call')}"
        for each in users[:_DEVICE_USERS]
    )
    more = ", …" if len(users) > _DEVICE_USERS else ""
    return f" MPI was called with buffers in device memory: {main}{more}."


def _grain(grain: ProfileGrain, doubt: str) -> str:
    """Ratio of computation to communication, without known waiting.

    ``doubt``: why it is unknown, as a clause.
    """
    if doubt:
        return f" The ratio of computation to communication is unknown: {doubt}."
    if grain.ratio is None:
        return " All of the time in MPI is waiting." if grain.waiting > 0.0 else ""
    share = format_share(grain.waiting_share)
    least = "" if grain.traced else "at least "
    text = f" Computation is {float(f'{grain.ratio:.3g}'):,.12g} × communication"
    if grain.waiting_share >= _NAMED:
        text += f"; {least}{share} of the time in MPI is waiting and is not counted"
    text += "."
    if grain.fine and grain.traced:
        text += " This is fine grain."
    elif grain.fine:
        text += (
            " This is fine grain, unless more of that time is waiting; `--trace` measures it."
            if grain.waiting_share >= _NAMED
            else " This is fine grain, unless most communication is waiting; `--trace` measures it."
        )
    return text


def _confidence(found: ProfileFindings, doubts: Doubts) -> tuple[Confidence, str]:
    if found.unknown:
        return "low", "The profile has gaps."
    if doubts.found:
        return "low", doubtful_sentence(doubts, found.launches)
    return "medium", f"The profile is complete. {launches_sentence(found.launches)}"


def _evidence(found: ProfileFindings, doubts: Doubts) -> list[Evidence]:
    demand, of = found.demand, found.efficiencies
    note = f"{_between(demand.bytes.least, demand.bytes.most, 'B/s')} by rank"
    sent = Evidence("Sent to other ranks, per rank", "bytes", "B/s", demand.bytes.mean, note=note)
    between = found.grain.between
    rows: list[tuple[ProgramStatement | None, Evidence]] = []
    if of is not None:
        rows = [
            ("efficiency", Evidence("Parallel efficiency", "parallel", "1", of.parallel)),
            ("efficiency", Evidence("Load balance", "load_balance", "1", of.load_balance)),
            (
                "efficiency",
                Evidence("Communication efficiency", "communication", "1", of.communication),
            ),
        ]
    rows += [
        (None, sent),
        (None, Evidence("Messages per rank", "messages", "1/s", demand.messages.mean)),
        (None, Evidence("Collectives per rank", "collectives", "1/s", demand.collectives)),
        (
            "computing",
            Evidence("Computing between two calls", "between", "s", between, note="mean"),
        ),
        *((None, row) for row in launches_evidence(found.launches)),
    ]
    return sure_evidence(doubts, rows)


def _between(low: float, high: float, unit: str) -> str:
    return f"{format_quantity(low, unit)} to {format_quantity(high, unit)}"


def _gains(found: ProfileFindings) -> list[PossibleGain]:
    """The maximum savings of changes."""
    return [*_even_work(found), *_first_site(found), *_small_messages(found)]


def _even_work(found: ProfileFindings) -> list[PossibleGain]:
    of = found.efficiencies
    if of is None or of.load_balance >= _POOR or len(found.ranks) < 2:
        return []
    most = max(found.ranks, key=lambda rank: rank.computing)
    mean = sum(rank.computing for rank in found.ranks) / len(found.ranks)
    share = (most.computing - mean) / found.wall
    sentence = (
        f"In this launch rank {most.rank}, the one of {len(found.ranks)} that computes most, "
        f"computes for {format_share(most.computing / mean)} of the mean; one launch gives no "
        f"interval. Balanced work would save up to {format_share(share)} of the run time."
    )
    return [PossibleGain(share, sentence, ("efficiency", "saving"))]


def _first_site(found: ProfileFindings) -> list[PossibleGain]:
    main = next((each for each in found.sites if each.share > _MUCH), None)
    of = found.efficiencies
    if main is None or (of is not None and of.communication >= _POOR):
        return []
    sentence = (
        f"Look at {main.function} in {main.place} first: it takes {format_share(main.share)} "
        "of the wall time, including waiting."
    )
    return [PossibleGain(main.share, sentence, ("site",))]


def _small_messages(found: ProfileFindings) -> list[PossibleGain]:
    """Advice from the sums. With a trace, the section on the trace says more."""
    if found.grain.traced:
        return []
    return [
        PossibleGain(
            each.share,
            f"{each.function} in {each.place} sends {each.calls:,} messages of "
            f"{format_quantity(each.bytes / each.calls, 'B')} on average and takes "
            f"{format_share(each.share)} of the wall time, including waiting. Fewer, larger "
            "messages would save up to this share. `--trace` shows whether the messages follow "
            "each other, and what joining them would save.",
            ("saving", "site"),
        )
        for each in found.sites
        if _is_small(each)
    ]


def _is_small(each: ProfileSite) -> bool:
    many = each.calls >= _MANY * max(each.ranks, 1)
    return each.function in SENDS and many and each.bytes <= _SMALL * each.calls


def _hints(found: ProfileFindings) -> list[str]:
    """Advice whose gain is unknown."""
    advice = []
    tests = sum(each.failed for each in found.functions)
    if tests > 0.5 * sum(each.calls for each in found.functions):
        advice.append(
            f"{tests:,} of {sum(each.calls for each in found.functions):,} calls are tests or "
            "probes that found nothing. Blocking calls would free the core."
        )
    if found.unfinished:
        advice.append(
            f"{counted(found.unfinished, 'request')} never completed: wait for them or free them."
        )
    return advice


def _endings(found: ProfileFindings) -> list[str]:
    endings = {
        "abort": "called MPI_Abort",
        "signal": "got SIGTERM",
        "exit": "ended without MPI_Finalize",
    }
    return [
        f"{counted(number, 'rank')} {endings[ending]}; the profile ends there."
        for ending, number in found.endings.items()
        if ending in endings
    ]


def _lost(found: ProfileFindings) -> list[str]:
    if not found.lost:
        return []
    return [
        f"{format_share(found.lost)} of the calls are only in the sums, because there was no "
        "room for more call sites, peers and sizes (ASSAY_PROFILE_ENTRIES)."
    ]
