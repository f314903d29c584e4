"""The answer on waiting and on networks, from a trace."""

from __future__ import annotations

from assay.models.program.prediction import BETWEEN_LAUNCHES
from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.questions.profile.launches import launches_sentence
from assay.questions.profile.traced.model import (
    DelayOrigin,
    NetworkSensitivity,
    RunTimeOn,
    TraceFindings,
)
from assay.units import counted, format_duration, format_quantity, format_share, listed

QUESTION = "trace"
TITLE = "Where does the program wait, for whom, and what would another network give?"
# The share of the run time by which a network may cost in the verdict.
_COST = 0.05
# Below this an efficiency is worth a recommendation; above this a share of waiting.
_POOR, _MUCH = 0.85, 0.05
_MOST_FOLLOWED = 0.99
# The waiting, as a share of the run time, that isn't worth a sentence; the time in MPI that wasn't
# analysed, likewise, above which nothing can be said of waiting where none was found; the share of
# the time in MPI that is all of it; functions that are named.
_NOTHING, _HARDLY, _ALL, _MOST_SKIPPED = 0.0005, 0.01, 0.9995, 3
# The user's networks that the verdict names.
_MOST_OWN = 2
_SLOW, _FAST = "Gigabit Ethernet", "InfiniBand"


def answer(found: TraceFindings) -> Answer:
    """The verdict: waiting and its main origin, and what network the program needs."""
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=f"{_waiting(found)} {_needs(found)}".strip(),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found),
        advice=_advice(found),
        caveats=_caveats(found),
        method=[
            "Waiting is the time from the begin of a call to the begin of the call of another rank "
            "that it needs (Scalasca's wait states). Its origin is where the late rank spent more "
            "than the waiting one since both were last at the same point; waiting for a rank that "
            "waited itself is handed on (delay costs, Böhme et al. 2016).",
            "Serialisation and transfer are from the longest path of the execution graph on a "
            "network where messages take no time (POP Centre of Excellence).",
            "Run times on other networks are the longest path of the execution graph with LogGP "
            "costs (LLAMP, SC24).",
            "On other numbers of ranks and problem sizes, computation is divided among the ranks, "
            "bytes between neighbours grow as the surface of a rank's part (exponent 2/3; range "
            "1/2 to 1), trees with log2 of the ranks, exchanges of all data with the ranks.",
        ],
        limits=_limits(found),
    )


def _waiting(found: TraceFindings) -> str:
    if not found.causes or found.waiting < _NOTHING:
        if _unseen(found) > _HARDLY:
            return f"No waiting was found, but not all was analysed: {_analysed(found)}"
        return f"The ranks don't wait for each other: {_analysed(found)}"
    main = found.causes[0]
    text = f"{format_share(found.waiting)} of the time is waiting, most of it {main.cause}"
    text += f"; {_analysed(found)}"
    if found.origins:
        origin = found.origins[0]
        text += f" {format_share(origin.share)} of the waiting is caused by {_named(origin)}."
    return text


def _unseen(found: TraceFindings) -> float:
    """The time in MPI that wasn't analysed, as a share of the wall time of all ranks."""
    return (1.0 - found.analysed) * found.inside / (found.wall * found.ranks)


def _analysed(found: TraceFindings) -> str:
    text = f"of the {format_duration(found.inside)} in MPI"
    if found.analysed >= _ALL:
        return f"{text}, all were analysed."
    rest = ", ".join(one.function for one in found.skipped[:_MOST_SKIPPED])
    return (
        f"{text}, {format_share(found.analysed)} were analysed; waits in the rest"
        f"{f' ({rest})' if rest else ''} are unknown."
    )


def _named(origin: DelayOrigin) -> str:
    phase = f", {origin.phase}" if origin.phase else ""
    return f"rank {origin.rank} {_doing(origin.kind)} {origin.place}{phase}"


def _doing(kind: str) -> str:
    return "computing from" if kind == "computing" else "in"


def _needs(found: TraceFindings) -> str:
    network = found.network
    if network is None:
        return ""
    needed = next(one for one in network.needed if one.share == _COST)
    if needed.latency is None and needed.bandwidth is None:
        # What isn't analysed keeps its time in the model, whatever the network.
        return "" if _unseen(found) > _HARDLY else "It needs no network between hosts."
    parts = []
    if needed.latency is not None:
        parts.append(f"a latency under {format_quantity(needed.latency, 's')}")
    if needed.bandwidth is not None:
        parts.append(f"{format_quantity(needed.bandwidth, 'B/s')} per rank")
    slow = _prediction(network, _SLOW)
    each = "each costs" if len(parts) > 1 else "this costs"
    text = (
        f"It needs {' and '.join(parts)}, so that {each} at most {format_share(_COST)} of the run "
        "time"
    )
    if slow is not None:
        text += f"; on Gigabit Ethernet it would take {_longer(slow)}"
    own = "".join(
        f" On {one.interconnect} it would take {_longer(one)}." for one in _own(network)[:_MOST_OWN]
    )
    return f"{text}.{own}"


def _own(network: NetworkSensitivity) -> list[RunTimeOn]:
    """Those on the user's networks."""
    return [one for one in network.predictions if one.own]


def _prediction(network: NetworkSensitivity, name: str) -> RunTimeOn | None:
    return next((one for one in network.predictions if one.interconnect.startswith(name)), None)


def _longer(of: RunTimeOn) -> str:
    """z ± w% longer than the measured run."""
    change = 100.0 * (of.ratio - 1.0)
    width = 50.0 * (of.high - of.low) / of.seconds * of.ratio if of.seconds > 0.0 else 0.0
    digits = 0 if max(abs(change), width) >= 10.0 else 1
    way = "longer" if change >= 0.0 else "less"
    return f"{abs(change):.{digits}f} ± {width:.{digits}f}% {way}"


def _confidence(found: TraceFindings) -> tuple[Confidence, str]:
    if found.unknown:
        return "low", "The trace has gaps."
    if _unseen(found) > _MUCH:
        return "low", f"{format_share(1.0 - found.analysed)} of the time in MPI wasn't analysed."
    if found.network is not None and found.network.doubt:
        return "low", found.network.doubt
    if found.unexplained > _MUCH:
        return "low", f"{format_share(found.unexplained)} of the waiting has no origin."
    return "medium", f"The trace is complete. {launches_sentence(found.launches)}"


def _evidence(found: TraceFindings) -> list[Evidence]:
    of = found.efficiencies
    rows = [
        Evidence("Parallel efficiency", "parallel", "1", of.parallel),
        Evidence("Load balance", "load_balance", "1", of.load_balance),
    ]
    if of.serialisation is not None and of.transfer is not None:
        rows += [
            Evidence("Serialisation efficiency", "serialisation", "1", of.serialisation),
            Evidence("Transfer efficiency", "transfer", "1", of.transfer),
        ]
    rows.append(Evidence("Waiting, share of wall time", "waiting", "1", found.waiting))
    network = found.network
    if network is not None:
        rows += [
            Evidence("Messages in a row between hosts", "messages", "1", network.messages),
            Evidence("Bytes in a row between hosts", "bytes", "B", network.bytes),
            Evidence("Model ÷ measured run", "misfit", "1", 1.0 + network.misfit),
        ]
        rows += [
            Evidence(f"Run time on {one.interconnect}", f"run_time_{number}", "s", one.seconds,
                     note=f"{format_duration(one.low)} to {format_duration(one.high)}")
            for number, one in enumerate(_own(network), 1)
        ]  # fmt: skip
    return rows


def _advice(found: TraceFindings) -> list[str]:
    advice = []
    if found.waiting > _MUCH and found.origins:
        origin = found.origins[0]
        saved = origin.direct + origin.handed_on
        advice.append(
            f"Look at {_named(origin)} first: {format_duration(saved)} of waiting of all ranks "
            "together go back to it."
        )
    of = found.efficiencies
    if of.transfer is not None and of.transfer < _POOR:
        best = _prediction(found.network, _FAST) if found.network else None
        more = (
            f": with {best.interconnect} the run would take {format_duration(best.seconds)} in "
            f"place of {format_duration(found.wall)}"
            if best is not None and best.ratio < 1.0
            else ""
        )
        advice.append(f"{format_share(1.0 - of.transfer)} of the time is transfer{more}.")
    if of.serialisation is not None and of.serialisation < _POOR:
        advice.append(
            f"{format_share(1.0 - of.serialisation)} of the time on an ideal network is the order "
            "in which ranks depend on each other: no network helps with that."
        )
    return advice


def _doubts(network: NetworkSensitivity) -> list[str]:
    """Which predictions are doubtful, and why."""
    reasons: dict[str, list[str]] = {}
    for one in network.predictions:
        if one.doubt:
            reasons.setdefault(one.doubt, []).append(one.interconnect)
    return [f"The run time on {listed(names)} is doubtful. {why}" for why, names in reasons.items()]


def _caveats(found: TraceFindings) -> list[str]:
    caveats = list(found.unknown)
    network = found.network
    if network is not None:
        if network.doubt:
            caveats.append(f"{network.doubt} Predictions of run times are doubtful.")
        caveats += _doubts(network)
        if len(found.launches) < 2:
            caveats.append(
                "Ranges of run times on other networks assume that launches differ by "
                f"{format_share(BETWEEN_LAUNCHES)}. Where they differ more, predictions err by "
                "more; `--launches 3` measures it."
            )
        if network.spread:
            caveats.append(
                "It ran on one host: other networks are modelled with each rank on a host of its "
                "own, computing as fast as here."
            )
        between = next(one for one in network.links if one.link == "between hosts")
        if not network.spread and between.observations and between.bandwidth is None:
            caveats.append("Sizes of messages differ too little to separate latency and bandwidth.")
    if found.iterations is not None and found.iterations.ranks < found.ranks:
        caveats.append(
            f"{counted(found.ranks - found.iterations.ranks, 'rank')} repeat their calls "
            "otherwise than the rest: phases are approximate."
        )
    return caveats


def _limits(found: TraceFindings) -> list[str]:
    limits = [
        "Waiting shorter than the error of the clocks between hosts "
        f"({format_duration(found.clock_error)}) isn't seen."
    ]
    if found.cut > 0.0:
        limits.append(
            "All times are of the regions in which the program has the trace on (MPI_Pcontrol); "
            f"{format_duration(found.cut)} between them are left out."
        )
    if found.followed < _MOST_FOLLOWED:
        limits.append(
            f"Origins are those of the longest waits, {format_share(found.followed)} of all "
            "waiting."
        )
    if found.network is not None:
        limits.append(found.network.algorithms)
        if found.network.iterations is not None and found.iterations is not None:
            limits.append(
                f"Other networks are modelled by {found.network.iterations:,} of the "
                f"{found.iterations.times:,} iterations; the time before and after these is as "
                "measured."
            )
        limits.append(
            "Ratios more than 4 times away from the run's ranks or size follow the laws above, not "
            "measurements."
        )
    return limits
