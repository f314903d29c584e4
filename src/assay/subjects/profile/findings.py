"""Findings from the profile of a program."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from assay.errors import AssayError
from assay.subjects.profile.model import (
    PROFILE_SCHEMA,
    MeasuredRegions,
    ProfileDemand,
    ProfileEfficiencies,
    ProfileFindings,
    ProfileFunction,
    ProfileGrain,
    ProfileKind,
    ProfileRank,
    ProfileSite,
    RankSpread,
    SentBetween,
    SizeShare,
)
from assay.subjects.profile.places import place_name
from assay.subjects.profile.unknown import unknown_of
from assay.trace.model import LIFE, CallTotal, ProgramProfile, RankProfile, SourcePlace

# The time of these functions lies outside of the wall time.
_STARTS = {"Init", "Init_thread", "Session_init"}
# Functions whose bytes are the size of an offered buffer, or which send nothing.
_RECEIVING = {"Recv", "Irecv", "Mrecv", "Imrecv", "Start_receive"}
_NOT_SENT = {*_RECEIVING, "Probe", "Iprobe", "Mprobe", "Improbe"}


def find(
    profile: ProgramProfile, waiting: float | None = None, problems: Sequence[str] = ()
) -> ProfileFindings:
    """The findings of one profiled run.

    ``waiting``: waiting of all ranks in MPI calls (s), from the trace; None without a trace.
    ``problems``: what the trace can't say, in sentences. Raises AssayError if no time passed
    between the begin and the end of MPI.
    """
    ranks = [_rank(one, number) for number, one in enumerate(profile.ranks)]
    whole = sum(rank.wall for rank in ranks)
    if whole <= 0.0:
        raise AssayError(
            "No time passed between the begin and the end of MPI with the profile on.",
            where=profile.run.folder,
            fix="Profile a program that works between MPI_Init and MPI_Finalize and doesn't "
            "switch the profile off (MPI_Pcontrol(0)) first.",
        )
    threaded = any(one.header.threads == "multiple" for one in profile.ranks)
    inside = sum(rank.mpi for rank in ranks)
    calls = _counted(profile)
    return ProfileFindings(
        schema=PROFILE_SCHEMA,
        command=profile.run.command,
        status=profile.run.status,
        utc=profile.run.utc,
        mpi=profile.run.mpi,
        size=max(len(ranks), *(one.header.ranks for one in profile.ranks)),
        hosts=len({rank.host for rank in ranks}),
        absent=profile.absent,
        endings=dict(sorted(Counter(one.header.ended for one in profile.ranks).items())),
        wall=max(rank.wall for rank in ranks),
        total=profile.run.wall,
        mpi_share=dataclasses.replace(
            _spread(rank.mpi / rank.wall if rank.wall > 0.0 else 0.0 for rank in ranks),
            mean=inside / whole,  # so that the shares of the functions add up to the total
        ),
        threaded=threaded,
        efficiencies=_efficiencies(ranks, profile),
        grain=_grain(ranks, calls, waiting, known=not profile.absent),
        demand=_demand(ranks, profile),
        kinds=_kinds(profile.ranks, ranks, whole),
        functions=_functions(profile.ranks, whole),
        sites=_sites(profile, whole),
        sizes=_sizes(profile.ranks),
        sent=_sent(profile.ranks),
        ranks=ranks,
        lost=_lost(profile.ranks, calls),
        unfinished=sum(max(one.header.unfinished, 0) for one in profile.ranks),
        cost=_cost(profile),
        cpu_wait=_cpu_wait(profile),
        overhead=_overhead(profile),
        regions=_regions(profile),
        unknown=[*unknown_of(profile, ranks), *problems],
        launches=profile.run.launches,
        programs=list(dict.fromkeys(c for one in profile.ranks if (c := one.header.command))),
        number=profile.number,
        others=profile.others,
    )


def _spread(values: Iterable[float]) -> RankSpread:
    known = list(values)
    return RankSpread(sum(known) / len(known), min(known), max(known))


def _rank(one: RankProfile, number: int) -> ProfileRank:
    return ProfileRank(
        rank=number if one.header.rank is None else one.header.rank,
        host=one.header.host,
        wall=one.header.covered,
        mpi=one.inside,
        computing=one.computing,
        messages=sum(peer.messages for peer in one.peers),
        bytes=sum(peer.bytes for peer in one.peers),
        kinds=one.times,
    )


def _counted(profile: ProgramProfile) -> int:
    """Calls of all ranks between the begin and the end of MPI."""
    return sum(_calls_of(one) for one in profile.ranks)


def _calls_of(rank: RankProfile) -> int:
    kinds = sum(kind.calls for kind in rank.kinds if kind.kind != LIFE)
    return kinds + (rank.overflow.calls if rank.overflow else 0)


def _cost(profile: ProgramProfile) -> float | None:
    costs = [one.header.cost for one in profile.ranks if one.header.cost > 0.0]
    return sum(costs) / len(costs) if costs else None


def _cpu_wait(profile: ProgramProfile) -> float | None:
    known = [one.header for one in profile.ranks if one.header.cpu_wait is not None]
    wall = sum(one.covered for one in known)
    return sum(one.cpu_wait or 0.0 for one in known) / wall if wall > 0.0 else None


def _overhead(profile: ProgramProfile) -> float | None:
    shares = [
        _calls_of(one) * one.header.cost / one.header.covered
        for one in profile.ranks
        if one.header.cost > 0.0 and one.header.covered > 0.0
    ]
    return max(shares, default=None)


def _regions(profile: ProgramProfile) -> MeasuredRegions | None:
    headers = [one.header for one in profile.ranks]
    if not any(header.switched for header in headers):
        return None
    whole = sum(header.wall for header in headers)
    return MeasuredRegions(
        regions=max(header.runs for header in headers),
        share=sum(header.covered for header in headers) / whole,
    )


def _efficiencies(
    ranks: Sequence[ProfileRank], profile: ProgramProfile
) -> ProfileEfficiencies | None:
    """The standard metrics of the POP Centre of Excellence."""
    longest = max(rank.computing for rank in ranks)
    wall = max(rank.wall for rank in ranks)
    # If several threads wait in MPI at once, the rest of the wall time isn't computing.
    if longest <= 0.0 or profile.absent or any(rank.mpi > rank.wall for rank in ranks):
        return None
    mean = sum(rank.computing for rank in ranks) / len(ranks)
    return ProfileEfficiencies(mean / wall, mean / longest, longest / wall)


def _grain(
    ranks: Sequence[ProfileRank], calls: int, traced: float | None, *, known: bool
) -> ProfileGrain:
    """``known``: whether all ranks have a profile, so that the longest wall time is known."""
    computing = sum(rank.computing for rank in ranks)
    inside = sum(rank.mpi for rank in ranks)
    if traced is not None:
        waiting = min(traced, inside)
    else:
        at_once = any(rank.mpi > rank.wall for rank in ranks)  # threads
        waiting = _uneven(ranks) if known and not at_once else 0.0
    communication = inside - waiting
    return ProfileGrain(
        ratio=computing / communication if communication > 0.0 else None,
        fine=communication > 0.0 and communication >= computing,
        between=computing / max(calls, 1),
        waiting=waiting,
        waiting_share=waiting / inside if inside > 0.0 else 0.0,
        traced=traced is not None,
    )


def _uneven(ranks: Sequence[ProfileRank]) -> float:
    """Minimum time (s) that ranks wait in MPI for the rank that computes longest.

    Waiting in MPI_Finalize is outside of the wall time and isn't included.
    """
    longest = max(rank.computing for rank in ranks)
    wall = max(rank.wall for rank in ranks)
    return sum(
        min(rank.mpi, max(longest - rank.computing - (wall - rank.wall), 0.0)) for rank in ranks
    )


def _demand(ranks: Sequence[ProfileRank], profile: ProgramProfile) -> ProfileDemand:
    walls = sum(rank.wall for rank in ranks)
    collectives = sum(
        kind.calls for one in profile.ranks for kind in one.kinds if kind.kind == "collective"
    )
    working = [rank for rank in ranks if rank.wall > 0.0]
    return ProfileDemand(
        messages=_spread(rank.messages / rank.wall for rank in working),
        bytes=_spread(rank.bytes / rank.wall for rank in working),
        collectives=collectives / walls,
    )


def _kinds(
    profiles: Sequence[RankProfile], ranks: Sequence[ProfileRank], whole: float
) -> list[ProfileKind]:
    calls: Counter[str] = Counter()
    for one in profiles:
        for kind in one.kinds:
            calls[kind.kind] += kind.calls
    found = []
    for name in dict.fromkeys(name for rank in ranks for name in rank.kinds):
        times = [rank.kinds.get(name, 0.0) for rank in ranks]
        found.append(ProfileKind(name, calls[name], _spread(times), sum(times) / whole))
    return sorted(found, key=lambda kind: -kind.share)


def _functions(profiles: Sequence[RankProfile], whole: float) -> list[ProfileFunction]:
    of: dict[str, list[CallTotal]] = defaultdict(list)
    for one in profiles:
        for call in one.calls:
            if call.function not in _STARTS:
                of[call.function].append(call)
    found = []
    for name, calls in of.items():
        time = sum(call.time for call in calls)
        found.append(
            ProfileFunction(
                function=name,
                calls=sum(call.calls for call in calls),
                failed=sum(call.failed for call in calls),
                bytes=sum(call.bytes for call in calls),
                time=time,
                share=time / whole,
                longest=max(call.most for call in calls),
                device_calls=sum(call.device_calls for call in calls),
                device_bytes=sum(call.device_bytes for call in calls),
            )
        )
    return sorted(found, key=lambda function: (-function.share, -function.calls))


def _sites(profile: ProgramProfile, whole: float) -> list[ProfileSite]:
    """Call sites by function and place."""
    names = {(place.image, place.offset): place for place in profile.run.places}

    def place_of(call: CallTotal) -> str:
        unnamed = SourcePlace(call.image, call.offset, "", "", 0)
        return place_name(names.get((call.image, call.offset), unnamed))

    of: dict[tuple[str, str], dict[int, list[CallTotal]]] = {}
    for number, one in enumerate(profile.ranks):
        for call in one.calls:
            if call.function not in _STARTS:
                key = (call.function, place_of(call))
                of.setdefault(key, {}).setdefault(number, []).append(call)
    found = []
    for (function, place), by_rank in of.items():
        times = [
            sum(call.time for call in by_rank.get(number, ()))
            for number in range(len(profile.ranks))
        ]
        every = [call for calls in by_rank.values() for call in calls]
        found.append(
            ProfileSite(
                function=function,
                place=place,
                ranks=len(by_rank),
                calls=sum(call.calls for call in every),
                bytes=sum(call.bytes for call in every),
                time=_spread(times),
                share=sum(times) / whole,
                device_bytes=sum(call.device_bytes for call in every),
            )
        )
    return sorted(found, key=lambda site: (-site.share, site.function, site.place))


def _sizes(profiles: Sequence[RankProfile]) -> list[SizeShare]:
    calls: Counter[int] = Counter()
    sent: Counter[int] = Counter()
    for one in profiles:
        for call in one.calls:
            if call.function in _NOT_SENT or call.size_class == 0:
                continue
            calls[call.size_class] += call.calls
            sent[call.size_class] += call.bytes
    return [
        SizeShare(1 << (size - 1), 1 << size, calls[size], sent[size]) for size in sorted(calls)
    ]


def _sent(profiles: Sequence[RankProfile]) -> list[SentBetween]:
    return [
        SentBetween(number if one.header.rank is None else one.header.rank, peer.peer,
                    peer.messages, peer.bytes)
        for number, one in enumerate(profiles)
        for peer in sorted(one.peers, key=lambda peer: -1 if peer.peer is None else peer.peer)
        if peer.peer is not None and peer.messages
    ]  # fmt: skip


def _lost(profiles: Sequence[RankProfile], calls: int) -> float:
    lost = sum(one.overflow.calls for one in profiles if one.overflow)
    return lost / max(calls, 1)
