"""The answer on where a program computes."""

from __future__ import annotations

from collections.abc import Sequence

from assay.questions.common.answer import Answer, Confidence, Evidence
from assay.subjects.profile.sampled.model import SampledExcess, SampledFindings, SlowestRank
from assay.subjects.profile.sampled.words import line_name, shortened
from assay.units import counted, format_duration, format_share, listed

QUESTION = "samples"
TITLE = "Which functions take the computing time, and on which ranks?"
# p-value below which an excess is real. Share of a rank's computing time, and of all CPU time,
# above which imbalance and waiting are worth a sentence.
_REAL, _NAMED = 0.05, 0.01
# Numbers of samples for medium and high confidence.
_FEW, _MANY = 100, 2000
_MOST_NAMED = 3
# Share of the waiting that a recommendation needs.
_OWED = 0.1


def answer(found: SampledFindings) -> Answer:
    """The verdict: main functions, the slowest rank's function, and waiting threads."""
    confidence, why = _confidence(found)
    return Answer(
        question=QUESTION,
        title=TITLE,
        status="answered",
        verdict=" ".join(
            filter(None, (_main(found), _slowest(found), _children(found), _waiting(found)))
        ),
        confidence=confidence,
        confidence_why=why,
        evidence=_evidence(found),
        advice=_advice(found),
        caveats=[*found.unknown],
        method=[
            "Each thread's call stack was recorded at equal steps of its CPU time "
            f"({format_duration(found.period)}, {found.clock}). A sample belongs to the innermost "
            "function of its stack; a caller has it once in its time with callees, even in a "
            "recursion.",
            "Intervals of shares are exact binomial intervals (Clopper & Pearson 1934). They cover "
            "the chance of sampling, and not how much launches differ.",
            "A rank's excess in a function is its time beyond the mean of all ranks. p-values are "
            "corrected for the number of ranks and of functions (Holm 1979).",
            *_owed_method(found),
        ],
        limits=[
            "Threads that sleep, wait for input and output or have no CPU are not sampled.",
            _own_cost(found),
        ],
    )


def _owed_method(found: SampledFindings) -> list[str]:
    if found.owed is None:
        return []
    return [
        "Waiting for a rank that computed longer is distributed over the functions in proportion "
        "to its excess over the mean of the other ranks between the same calls, before the late "
        "call."
    ]


def _own_cost(found: SampledFindings) -> str:
    if found.cost is None:
        return "The cost of sampling was not measured."
    return f"Sampling took {format_share(found.cost)} of the CPU time, which the times include."


def _main(found: SampledFindings) -> str:
    if not found.samples:
        return "The profile has no samples."
    functions = [one for one in found.functions if one.samples][:_MOST_NAMED]
    if not functions:
        return f"None of {counted(found.samples, 'sample')} is outside of MPI."
    named = [f"{shortened(one.function)} {format_share(one.share, one.ci95)}" for one in functions]
    return (
        f"{format_share(found.computing)} of {format_duration(found.seconds)} of CPU time is "
        f"computing: {', '.join(named)}."
    )


def _real(slowest: SlowestRank | None) -> list[SampledExcess]:
    """The functions in which the slowest rank surely computes longer, if it matters."""
    if slowest is None or slowest.excess <= _NAMED * slowest.mean:
        return []
    return [one for one in slowest.functions if one.p < _REAL]


def _slowest(found: SampledFindings) -> str:
    slowest, real = found.slowest, _real(found.slowest)
    if slowest is None or not found.samples:
        return ""
    if not real:
        return (
            "No rank surely computes longer than the others in any function."
            if found.ranks > 1
            else ""
        )
    share = format_share(slowest.excess / slowest.mean)
    where = ", ".join(
        f"{shortened(one.function)} {format_share(min(one.share, 1.0))}"
        for one in real[:_MOST_NAMED]
    )
    within = ""
    if slowest.holder is not None and slowest.holder.function != real[0].function:
        within = f", within {shortened(slowest.holder.function)}"
    return (
        f"Rank {slowest.rank} computes {format_duration(slowest.excess)} ({share}) longer than the "
        f"mean of the ranks; this excess is in {where}{within}."
    )


def _children(found: SampledFindings) -> str:
    children = [one for one in found.processes if one.parent]
    whole = sum(one.computing for one in found.processes)
    if not children or not whole:
        return ""
    share = sum(one.computing for one in children) / whole
    return f"{counted(len(children), 'forked process')} did {format_share(share)} of it."


def _waiting(found: SampledFindings) -> str:
    if found.waiting < _NAMED:
        return ""
    return f"Threads wait for each other in {format_share(found.waiting)} of the CPU time."


def _confidence(found: SampledFindings) -> tuple[Confidence, str]:
    many = f"There are {counted(found.samples, 'sample')}"
    if found.samples < _FEW:
        return "low", f"{many}, which is too few."
    if found.unknown:
        return "medium", f"{many}, but not of everything."
    if found.samples < _MANY:
        return "medium", f"{many}; longer runs give narrower intervals."
    return "high", f"{many}."


def _evidence(found: SampledFindings) -> list[Evidence]:
    rows = [
        Evidence(
            f"{shortened(one.function)}, own time",
            "share",
            "1",
            one.share,
            ci95=one.ci95,
            note=f"{one.samples:,} samples",
        )
        for one in found.functions[:_MOST_NAMED]
        if one.samples
    ]
    return [
        *rows,
        *(
            Evidence(
                f"{shortened(one.function)} on rank {one.rank}",
                "excess",
                "s",
                one.seconds,
                ci95=one.ci95,
                note="beyond the mean of the ranks",
            )
            for one in _with_rank(found)
        ),
    ]


class _RankedExcess:
    """An excess with its rank."""

    def __init__(self, rank: int, one: SampledExcess) -> None:
        self.rank, self.function, self.seconds, self.ci95 = (
            rank,
            one.function,
            one.seconds,
            one.ci95,
        )


def _with_rank(found: SampledFindings) -> Sequence[_RankedExcess]:
    slowest = found.slowest
    if slowest is None:
        return []
    return [_RankedExcess(slowest.rank, one) for one in _real(slowest)[:_MOST_NAMED]]


def _advice(found: SampledFindings) -> list[str]:
    return [*_owed_advice(found), *_balance(found), *_threads(found), *_hottest(found)]


def _owed_advice(found: SampledFindings) -> list[str]:
    owed = found.owed
    if owed is None or not owed.functions or owed.functions[0].share < _OWED:
        return []
    first = owed.functions[0]
    text = (
        f"Shorten or balance {shortened(first.function)} on rank {first.rank}: "
        f"{format_duration(first.seconds)} of waiting of other ranks "
        f"({format_share(first.share)} of the waiting for ranks that compute longer) is owed to it."
    )
    if owed.asleep > _OWED * owed.computing:
        text += (
            f" {format_share(owed.asleep / owed.computing)} is owed to ranks that were not on a "
            "CPU."
        )
    return [text]


def _balance(found: SampledFindings) -> list[str]:
    slowest, real = found.slowest, _real(found.slowest)
    if slowest is None or not real:
        return []
    holders = real[:_MOST_NAMED] if slowest.holder is None else [slowest.holder]
    functions = listed([shortened(one.function) for one in holders])
    return [
        f"Divide the work of {functions} more evenly: rank {slowest.rank} computes "
        f"{format_duration(slowest.excess)} longer than the mean, and the others may wait for it."
    ]


def _threads(found: SampledFindings) -> list[str]:
    if found.waiting < _NAMED:
        return []
    most = max(found.threads, key=lambda one: one.waiting)
    return [
        f"Threads spend {format_share(found.waiting)} of the CPU time waiting for each other, most "
        f"of it thread {most.thread} of rank {most.rank}. Divide the loops more evenly among the "
        "threads, or use fewer threads."
    ]


def _hottest(found: SampledFindings) -> list[str]:
    if not found.functions or not found.functions[0].samples:
        return []
    first = found.functions[0]
    line = next(
        (one for one in found.lines if one.function == first.function and line_name(one)), None
    )
    where = ""
    if line is not None and first.share > 0.0:
        share = format_share(line.share / first.share)
        where = f" Its hottest line is {line_name(line)}, with {share} of its own time."
    saved = format_share(first.share * 0.1)
    return [
        f"Optimise {shortened(first.function)} first: a version that is 10% faster saves {saved} "
        f"of the computing time.{where}"
    ]
