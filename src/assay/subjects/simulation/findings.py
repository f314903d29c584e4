"""Findings of a simulation, from a program and the description of a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.models.calls.linpack import linpack_schedule
from assay.models.calls.linpack_work import DgemmCurve, RankWork
from assay.models.calls.npb import npb_messages, npb_operations, npb_schedule
from assay.models.linpack.time import grids_of
from assay.models.program.adapters import with_adapters
from assay.models.program.efficiency import computing_times
from assay.models.program.prediction import model_run, network_of, spread_over
from assay.models.program.repetition import iterations
from assay.models.program.replay import replay
from assay.models.program.waits import wait_states
from assay.simulation.calibration import calibration, time_interval
from assay.simulation.cluster import SimulatedCluster
from assay.simulation.platform import hosts_for
from assay.simulation.simgrid import HOW, SimGrid
from assay.simulation.simulate import SimulatedProgram, simulate
from assay.subjects.profile.doubts import Doubts, trace_doubts
from assay.subjects.profile.traced.findings import find_trace
from assay.subjects.simulation.model import SIMULATION_SCHEMA, SimulationFindings
from assay.topologies.loads import host_share
from assay.trace.events import Trace
from assay.trace.exports.simgrid import write_actions
from assay.trace.matching import MatchedTrace, match
from assay.units import format_share

_SOUND = Doubts(())
# Kinds of programs besides ``npb.KERNEL``.
TRACE, LINPACK, LOOK_AHEAD = "trace", "linpack", "linpack.look-ahead"


@dataclass(frozen=True)
class SimulationInput:
    """The program to simulate, and what assay knows about it without a simulator."""

    program: SimulatedProgram
    #: Kind of program, whose error is known (``simulation/calibration.py``), or "".
    kind: str = ""
    #: ``recorded``, ``computing``: recorded run time and mean computing time of a rank, s.
    recorded: float | None = None
    computing: float | None = None
    #: Time that no run at speed 1 can be below, s.
    least: float = 0.0
    #: Closed form of the run time (s) on a cluster with this number of ranks per node.
    closed_form: Callable[[SimulatedCluster, int], float] | None = None
    #: Sentences on limits of the results.
    unknown: tuple[str, ...] = ()
    #: Doubts about the trace.
    doubts: Doubts = _SOUND


@dataclass(frozen=True)
class SimulationSettings:
    """Simulation settings."""

    #: Number of ranks. ``draws``: number of random draws from ``seed``.
    per_node: int
    draws: int = 10
    seed: int = 1
    #: Maximum time of one simulation, s.
    limit: float = 300.0
    #: A new folder for SimGrid's files.
    keep: Path | None = None


def traced_input(name: str, trace: Trace) -> SimulationInput:
    """A traced run. Its closed form is the execution graph on the cluster's network."""
    matched = match(trace)

    def closed(cluster: SimulatedCluster, per_node: int) -> float:
        run = model_run(matched, wait_states(matched), [iterations(rank) for rank in trace.ranks])
        run = spread_over(run, hosts_for(cluster, len(trace.ranks), per_node))
        network = network_of(run, cluster.latency.value, cluster.bandwidth.value * cluster.adapters)
        return run.on(replay(with_adapters(run.graph, network), network))

    return SimulationInput(
        SimulatedProgram(name, len(trace.ranks), write=lambda folder: write_actions(trace, folder)),
        kind=TRACE,
        recorded=trace.end - trace.begin,
        computing=float(computing_times(trace).mean()),
        closed_form=closed,
        unknown=(
            "Ranks that shared cores or memory in the traced run compute just as slowly in the "
            "simulation.",
        ),
        doubts=_doubts(matched),
    )


def _doubts(matched: MatchedTrace) -> Doubts:
    """The doubts that the report on the trace states; none if there can't be a report on it."""
    try:
        return trace_doubts(find_trace(matched))
    except AssayError:
        return _SOUND


def npb_input(kernel: str, npb_class: str, ranks: int, rate: float) -> SimulationInput:
    """An NPB kernel by the catalogue's schedule. ``rate``: op/s of one rank's computing."""
    seconds = npb_operations(kernel, npb_class, ranks) / rate
    made = npb_schedule(kernel, npb_class, ranks, seconds)

    def write(folder: Path) -> list[str]:
        made.schedule.write(folder)
        return []

    def closed(cluster: SimulatedCluster, per_node: int) -> float:
        messages = npb_messages(kernel, npb_class, ranks)
        own = seconds / ranks / cluster.speed
        if len(set(hosts_for(cluster, ranks, per_node))) == 1:
            latency, each = cluster.within_latency, cluster.within_bandwidth
            return own + sum(
                number / ranks * (latency + size / each) for size, number in messages.items()
            )
        # Factor on the time per byte caused by shared adapters and links.
        rate = cluster.bandwidth.value
        share = host_share(cluster.topology, cluster.adapters * rate, cluster.trunk)
        crowd = rate * min(ranks, per_node) / share
        return own + sum(
            number / ranks * cluster.message(size, crowd) for size, number in messages.items()
        )

    return SimulationInput(
        SimulatedProgram(f"npb.{kernel}.{npb_class}", ranks, made.factor, write),
        kind=f"npb.{kernel}",
        computing=seconds / ranks,
        closed_form=closed,
        unknown=(
            "The messages are the messages of assay's NPB code; NASA's code sends different ones.",
            "Each rank computes at the given rate, regardless of how many ranks share a node's "
            "memory.",
        ),
    )


def linpack_input(n: int, ranks: int, rate: float, cluster: SimulatedCluster) -> SimulationInput:
    """HPL of ``n`` unknowns, executed as the description says.

    ``rate``: flop/s of one rank's DGEMM of large matrices. Raises ValueError if the order is below
    a panel.
    """
    execution = cluster.linpack
    p, q = grids_of(ranks)[-1]
    # The time of copies doesn't depend on the speed of computing.
    copy = execution.copies / cluster.within_bandwidth * cluster.speed
    work = RankWork(DgemmCurve(rate, execution.half), execution.panel * rate, copy)
    made = linpack_schedule(n, execution.block, p, q, work, look_ahead=execution.look_ahead)

    def write(folder: Path) -> list[str]:
        made.schedule.write(folder)
        return []

    arithmetic = 2.0 * n**3 / 3.0 / ranks / rate
    ahead = "a look-ahead of one panel" if execution.look_ahead else "no look-ahead"
    return SimulationInput(
        SimulatedProgram(f"linpack.{n}", ranks, made.factor, write, network=execution.network),
        kind=LOOK_AHEAD if execution.look_ahead else LINPACK,
        computing=arithmetic,
        least=arithmetic,
        unknown=(
            f"Linpack is modelled with panels of {execution.block} columns on a grid of {p} x {q}, "
            f"{ahead}, and the messages of assay's kernel. The messages reach "
            f"{format_share(execution.network)} of the network's bandwidth. A panel has "
            f"{format_share(execution.panel)} of DGEMM's rate, and DGEMM has half of its rate at "
            f"order {execution.half:g}. [linpack] of the description can state other values.",
        ),
    )


def mean_interval(drawn: Floats) -> tuple[float, float] | None:
    """The 95% interval of the mean of independent draws (Student's t)."""
    from scipy.special import stdtrit

    if len(drawn) < 2 or np.ptp(drawn) == 0.0:
        return None
    error = float(drawn.std(ddof=1)) / math.sqrt(len(drawn))
    half = float(stdtrit(len(drawn) - 1, 0.975)) * error
    return float(drawn.mean()) - half, float(drawn.mean()) + half


def spread_of(drawn: Floats | None) -> float:
    """Standard deviation of the logarithm over draws; 0 without two draws."""
    return 0.0 if drawn is None or len(drawn) < 2 else float(np.log(drawn).std(ddof=1))


def find_simulation(
    source: SimulationInput,
    cluster: SimulatedCluster,
    file: Path,
    simgrid: SimGrid | None,
    settings: SimulationSettings,
    progress: Callable[[int, int], None] | None = None,
) -> SimulationFindings:
    """The findings; without SimGrid, only the closed form.

    Raises AssayError if the ranks don't fit, if the simulation fails, or if neither SimGrid nor a
    closed form is available.
    """
    program = source.program
    placed = hosts_for(cluster, program.ranks, settings.per_node)
    unknown = list(source.unknown)
    closed = None
    if source.closed_form is not None:
        try:
            closed = source.closed_form(cluster, settings.per_node)
        except AssayError as error:
            unknown.append(f"There is no closed form: {error.what}")
    if simgrid is None and source.closed_form is None:
        raise AssayError(f"{program.name} has no closed form without SimGrid.", fix=HOW)
    times = None
    if simgrid is not None:
        times = simulate(
            cluster, program, settings.per_node, simgrid, draws=settings.draws,
            seed=settings.seed, limit=settings.limit, keep=settings.keep, progress=progress,
        )  # fmt: skip
    drawn = None if times is None or not len(times.drawn) else times.drawn
    drawn_interval = None
    if drawn is not None:
        low, high = np.quantile(drawn, [0.025, 0.975])
        drawn_interval = float(low), float(high)
    known = calibration().errors.get(source.kind)
    seconds = None if times is None else times.nominal if drawn is None else float(drawn.mean())

    def interval(
        of: float | None, *, simulated: bool, spread: float = 0.0
    ) -> tuple[float, float] | None:
        if of is None or known is None:
            return None
        computing = None if source.computing is None else source.computing / cluster.speed
        return time_interval(
            of, known, simulated=simulated, computing=computing, spread=spread,
            least=source.least / cluster.speed,
        )  # fmt: skip

    return SimulationFindings(
        schema=SIMULATION_SCHEMA,
        utc=time.time(),
        program=program.name,
        cluster=cluster.title,
        file=str(file),
        topology=cluster.topology.kind,
        ranks=program.ranks,
        nodes=len(set(placed)),
        per_node=settings.per_node,
        recorded=source.recorded,
        simulator=None if simgrid is None else f"SimGrid {simgrid.version}",
        simulated=None if times is None else times.nominal,
        interval=interval(seconds, simulated=True, spread=spread_of(drawn)),
        mean=None if drawn is None else float(drawn.mean()),
        mean_ci95=None if drawn is None else mean_interval(drawn),
        draws=0 if drawn is None else len(drawn),
        seed=settings.seed,
        closed_form=closed,
        computing=source.computing,
        factor=program.factor,
        left_out=[] if times is None else list(times.left_out),
        unknown=unknown,
        doubt=source.doubts.because("run time"),
        remedies=source.doubts.remedies,
        drawn_interval=drawn_interval,
        closed_interval=interval(closed, simulated=False),
        error_runs=None if known is None else known.runs,
        error_rows=0 if known is None else known.rows,
        error_ranks=0 if known is None else known.most_ranks,
        error_held=0.0 if known is None else known.held,
        error_held_of=0 if known is None else known.held_of,
        graph=source.kind == TRACE,
    )
