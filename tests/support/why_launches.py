"""Launches of simulated programs, as `assay why` sees them: traces, profiles and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.models.program.efficiency import computing_times
from assay.models.program.losses.turns import SharedTime
from assay.subjects.profile.sampled.findings import find_samples
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.why.findings import find, median_launch
from assay.subjects.why.measures import measures_of
from assay.subjects.why.model import WhyFindings
from assay.trace.events import Trace
from assay.trace.launches import WhyLaunch, WhyRun
from assay.trace.matching import match
from assay.trace.model import KindTotal, NodeRecord, ProgramProfile, RankHeader, RankProfile
from assay.trace.samples.model import ProgramSamples
from simulated_mpi import RUN, Net, Script, simulate

# One launch of a program: a rank's script, for launches that differ by the generator.
Program = Callable[[Script, np.random.Generator], None]


@dataclass(frozen=True)
class PlantedNode:
    """What a rank sees of its node. ``waits``: share of its time without a CPU. ``lost``: computing
    time without a CPU in s, for nodes that record it.
    """

    waits: float = 0.0
    lost: float | None = None
    held: float = 0.0
    cpus: str = ""
    speed: float = 1e9
    online: int = 64
    busy: float = 0.0


@dataclass(frozen=True)
class PlantedProgram:
    """A program with a known reason."""

    program: Program
    ranks: int = 8
    net: Net = field(default_factory=lambda: Net(collective=5e-6))
    hosts: Sequence[str] | None = None
    nodes: Callable[[int, int], PlantedNode] = lambda rank, launch: PlantedNode()


def profile_of(trace: Trace, nodes: Mapping[int, PlantedNode]) -> ProgramProfile:
    """The profile that belongs to a trace."""
    computing = computing_times(trace)
    ranks = []
    for place, rank in enumerate(trace.ranks):
        node = nodes.get(rank.rank, PlantedNode())
        wall = rank.wall
        waits = node.waits * wall + (node.lost or 0.0)
        header = RankHeader(
            version=1, rank=rank.rank, ranks=len(trace.ranks), process=1, host=rank.host,
            ended="finalize", threads="single", begin=0.0, begin_wall=1e9, wall=wall, runs=0,
            unfinished=0, fortran=True, complete=True, cpu_wait=waits,
        )  # fmt: skip
        record = NodeRecord(
            cpus=node.cpus or str(rank.rank), online=node.online,
            cpu_time=wall - waits, busy=node.busy,
            computing=None if node.lost is None else float(computing[place]) - node.lost,
            held=node.held * wall, speed_begin=node.speed, speed_end=node.speed,
        )  # fmt: skip
        inside = max(wall - float(computing[place]), 0.0)
        kinds = [KindTotal("point", len(rank.events), inside)]
        ranks.append(RankProfile(header, kinds, [], None, [], record))
    return ProgramProfile(run=RUN, ranks=ranks, absent=[], cut=[])


def asked(
    planted: PlantedProgram,
    launches: int = 4,
    shared: float | Sequence[float] | None = None,
    seed: int = 7,
    samples: Callable[[Trace], ProgramSamples] | None = None,
) -> WhyFindings:
    """The answer. ``shared``: share of the computing that ranks take from each other, in all
    launches or in each. ``samples``: those of a launch.
    """
    random = np.random.default_rng(seed)
    measures, pairs = [], []
    for launch in range(launches):
        trace = simulate(
            planted.ranks, lambda s: planted.program(s, random), planted.net, planted.hosts
        )
        nodes = {rank: planted.nodes(rank, launch) for rank in range(planted.ranks)}
        matched, profile = match(trace), profile_of(trace, nodes)
        measures.append(measures_of(profile, matched))
        pairs.append((profile, matched))
    middle = measures.index(median_launch(measures))
    run = WhyRun(
        1, "0.1.0", ["./app"], 1e9, None, 60.0,
        [WhyLaunch("plain", f"launch-{n + 1}", 2.0) for n in range(launches)],
    )  # fmt: skip
    shares = [shared] * launches if isinstance(shared, float) else shared or []
    compared = [SharedTime(1.0, 1.0 - share) for share in shares]
    profile, matched = pairs[middle]
    sampled = None if samples is None else find_samples(samples(matched.trace), matched)
    return find(run, profile, find_trace(matched), measures, compared, sampled=sampled)
