"""Findings on why a program isn't faster: times in s, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from assay.subjects.profile.sampled.model import SampledCode
from assay.trace.launches import OtherProcess

WHY_FINDINGS_SCHEMA = 1

# The reasons in the order in which they are asked: node, network, other ranks, memory, ranks.
ReasonName = Literal[
    "CPU quota", "binding", "other processes", "slow CPU",
    "latency", "bandwidth", "congestion",
    "imbalance", "late sender", "serial part", "dependencies",
    "memory bandwidth", "too many ranks",
]  # fmt: skip
REASONS: tuple[ReasonName, ...] = get_args(ReasonName)
NODE_REASONS: tuple[ReasonName, ...] = REASONS[:4]
# stands out: it costs enough to be changed. small: it doesn't. undecided: the launches can't tell.
ReasonOutcome = Literal["stands out", "small", "undecided"]


@dataclass(frozen=True)
class WhyReason:
    """One possible reason."""

    #: Name of the reason.
    name: ReasonName
    #: Whether it stands out, is small, or is undecided.
    outcome: ReasonOutcome
    #: Run time that it costs (s), median of the launches; None: unknown.
    seconds: float | None
    #: ``low``, ``high``: 95% interval of ``seconds``.
    low: float | None
    high: float | None
    #: ``seconds`` as a share of the run time.
    share: float | None
    #: Rank, host, function and line where to look; "" if it has no place.
    where: str
    #: What shows it, as a sentence; or why it is undecided.
    evidence: str
    #: The change to try, as a sentence; "" unless it stands out.
    change: str
    #: Maximum run time that the change would save, s.
    gain: float | None


@dataclass(frozen=True)
class WhyRank:
    """A rank in the median launch."""

    #: Number of the rank.
    rank: int
    #: Host of the rank.
    host: str
    #: CPUs that it may use.
    cpus: str
    #: Computing time outside of MPI, s.
    computing: float
    #: Time in MPI, s.
    mpi: float
    #: Time in which it was ready to run but had no CPU, s.
    without_cpu: float | None
    #: Time that a CPU quota held it back, s.
    held: float | None
    #: Speed of its CPU relative to the program's fastest CPUs.
    speed: float | None


@dataclass(frozen=True)
class WhyLaunchTime:
    """One launch."""

    #: plain, or in turn: the ranks of a node computed in turn at first.
    kind: str
    #: Run time from the end of MPI_Init to MPI_Finalize, s.
    seconds: float
    #: From its start to its end, with the launcher's work, s.
    wall: float


@dataclass(frozen=True)
class WhyFindings:
    """Why a program isn't faster."""

    #: Version of this layout.
    schema: int
    #: Command line of the program.
    command: list[str]
    #: Exit status of the program.
    status: int
    #: Start of the first launch, Unix time (s).
    utc: float
    #: MPI library of the program.
    mpi: str
    #: ``ranks``, ``hosts``: numbers of ranks and hosts.
    ranks: int
    hosts: int
    #: Run time of the median plain launch from the end of MPI_Init to MPI_Finalize, s.
    seconds: float
    #: ``low``, ``high``: 95% interval of ``seconds``.
    low: float
    high: float
    #: Part of the run time that no reason explains: mean computing time (s), median.
    computing: float
    #: The launches.
    launches: list[WhyLaunchTime]
    #: Time for all launches, s.
    budget: float
    #: Name of the first reason; "" if none stands out.
    first: str
    #: Why the question is undecided as a whole, as a clause; "" if it is decided.
    undecided: str
    #: All reasons, in the order in which they are asked.
    reasons: list[WhyReason]
    #: Line with the most computing time in the median launch; None without samples.
    hottest: SampledCode | None
    #: The ranks in the median launch.
    by_rank: list[WhyRank]
    #: Other processes of the host on which assay ran, the busiest first.
    others: list[OtherProcess]
    #: What the launches can't say, in sentences.
    unknown: list[str]

    def reason(self, name: ReasonName) -> WhyReason:
        """The reason with this name."""
        return next(one for one in self.reasons if one.name == name)
