"""What one launch of a program says: its run time in parts, and what its nodes took."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import AssayError
from assay.models.program.granularity import GrainModel, grain_model
from assay.models.program.losses.breakdown import TimeParts, time_parts
from assay.models.program.losses.pairs import SlowMessages, slow_pair
from assay.models.program.losses.turns import RankGaps, rank_gaps
from assay.models.program.losses.waiting import WaitKind, late_places, shares_by_kind
from assay.models.program.origins import wait_origins
from assay.models.program.prediction import ModelledRun, model_run
from assay.models.program.waits import WaitStates, wait_states
from assay.subjects.profile.places import span_name
from assay.subjects.profile.traced.phases import phases_of
from assay.subjects.why.node import HostLoad, RankNode, host_loads, rank_nodes, shares_with_cpu
from assay.trace.matching import MatchedTrace
from assay.trace.model import ProgramProfile


@dataclass(frozen=True)
class LateRank:
    """The place whose waiting is longest among those of one kind."""

    rank: int
    host: str
    place: str
    #: Function and line of the call that ends the computing.
    call: str
    #: ``own``, ``others``: computing time of the rank in the place, and the others' mean, s.
    own: float
    others: float


@dataclass(frozen=True)
class LaunchMeasures:
    """One plain launch."""

    parts: TimeParts
    #: Waiting by kind, s; together it is the waiting of ``parts``.
    waiting: dict[WaitKind, float]
    #: The first place of each kind.
    late: dict[WaitKind, LateRank]
    #: By rank.
    nodes: list[RankNode]
    loads: list[HostLoad]
    #: Computing of each rank between its calls.
    gaps: list[RankGaps]
    #: How communication grows with the number of ranks; None without a model.
    grain: GrainModel | None
    #: Why the run wasn't modelled, as a sentence; "" if it was.
    unmodelled: str
    #: Hosts between which messages take longer than elsewhere; None if there are none.
    slow: SlowMessages | None = None

    @property
    def seconds(self) -> float:
        """Run time, s."""
        return self.parts.seconds

    def scaled(self, seconds: float, time: float) -> float:
        """A part of this launch, as a part of a run of ``time`` s.

        Parts of launches that differ in length are compared as shares of them.
        """
        return seconds * time / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def without_cpu(self) -> float:
        """Largest share of a rank's time without a CPU."""
        return max((one.waiting_share for one in self.nodes), default=0.0)


def measures_of(profile: ProgramProfile, matched: MatchedTrace) -> LaunchMeasures:
    """The measures of one plain launch."""
    trace = matched.trace
    waits = wait_states(matched)
    run, unmodelled = _modelled(matched, waits)
    by_rank = {one.rank: one for one in rank_nodes(profile.ranks)}
    nodes = [by_rank[rank.rank] for rank in trace.ranks if rank.rank in by_rank]
    lost = [by_rank[rank.rank].lost if rank.rank in by_rank else 0.0 for rank in trace.ranks]
    parts = time_parts(matched, run, lost)
    places = late_places(matched, wait_origins(matched, waits))
    late: dict[WaitKind, LateRank] = {}
    for one in places:
        rank = trace.ranks[one.rank]
        late.setdefault(
            one.kind,
            LateRank(
                rank=rank.rank,
                host=rank.host,
                place=span_name(trace.sites, "computing", one.after, one.before),
                call=span_name(trace.sites, "communication", one.before, one.before),
                own=one.own,
                others=one.others,
            ),
        )
    shares = shares_by_kind(places)
    if not any(shares.values()):
        # Waiting without an origin: the ranks computed for different times, or not.
        shares["dependencies"] = 1.0
    return LaunchMeasures(
        parts=parts,
        waiting={kind: share * parts.waiting for kind, share in shares.items()},
        late=late,
        nodes=nodes,
        loads=host_loads(profile.ranks),
        gaps=rank_gaps(trace, shares_with_cpu(list(by_rank.values()))),
        grain=None if run is None else grain_model(run, run.calibrated.network),
        unmodelled=unmodelled,
        slow=slow_pair(matched),
    )


def _modelled(matched: MatchedTrace, waits: WaitStates) -> tuple[ModelledRun | None, str]:
    try:
        return model_run(matched, waits, phases_of(matched, waits).by_rank), ""
    except AssayError as error:
        return None, str(error)
