"""The predicted time of a workload on machines, by activity.

A workload is ``linpack``; ``npb.KERNEL.CLASS``; ``stream``; ``program.NAME``, a profiled program;
``jobs.NAME``, the jobs of a machine; or the name of a rate that the catalogue's nodes have, such as
``integer``: a throughput without communication. docs/methods/design.md states the equations and
their limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from assay.arrays import Floats
from assay.design.jobs import JOBS, DesignJobs
from assay.design.program import PROGRAM, DesignProgram, program_parts
from assay.design.slowest import slowest_factor
from assay.errors import AssayError, nearest
from assay.kernels import find_kernel
from assay.kernels.npb.lu import LU_SIZES
from assay.models.linpack.cluster import LinpackCluster, LinpackTimes, closed_form
from assay.models.linpack.combined import LinpackSources, ListedCurve

LINPACK, STREAM = "linpack", "stream"
# Standard deviation of the logarithm of a prediction's own error (without the errors of its
# inputs), by workload: the error of these equations against measured times
# (docs/methods/design.md).
MODEL_SPREAD = {"npb": 0.15, "program": 0.20, "jobs": 0.20, STREAM: 0.03}
_THROUGHPUT_SPREAD = 0.03
_NPB = ("ep", "is", "cg", "mg", "ft", "lu", "bt", "sp")
# Number of messages in a row for one call of a rank on P nodes: a tree, an exchange with every
# other node, or a single message.
_TREE, _ALL, _ONE = "tree", "all", "one"
_CALLS = {
    "ep": _TREE,
    "is": _ALL,
    "cg": _TREE,
    "ft": _ALL,
    "mg": _ONE,
    "lu": _ONE,
    "bt": _ONE,
    "sp": _ONE,
}
# Codes with traffic between all pairs: half of it crosses any halving of the machine.
_GLOBAL = {"is", "ft"}
# Codes in which every node receives everything that the other nodes send, not only a share.
_GATHERED = {"cg"}


@dataclass(frozen=True)
class MachineFigures:
    """Figures of machines, as arrays of one shape (or that NumPy broadcasts to one)."""

    #: Number of nodes. Per node: ``dgemm`` (flop/s), ``bandwidth`` (of memory, B/s), ``memory``
    #: (bytes), ``rate`` (op/s of the workload, NaN if unknown), ``link`` (B/s of all adapters).
    nodes: Floats
    dgemm: Floats
    bandwidth: Floats
    memory: Floats
    rate: Floats
    link: Floats
    #: Latency of a message between two nodes including hops, s.
    latency: Floats
    #: Bandwidth in one direction of the links between two halves of the machine, B/s.
    bisection: Floats
    #: Number of processes of a node in Linpack. ``cores``: number of cores of a node.
    processes: Floats
    cores: Floats
    #: ``program``, ``jobs``: the workload if it is a profiled program or a mix of jobs.
    program: DesignProgram | None = None
    jobs: DesignJobs | None = None
    #: ``between_nodes``, ``over_time``: variability of the nodes' speeds.
    between_nodes: float = 0.0
    over_time: float = 0.0
    #: Standard normal numbers for the slowest node; None for the median.
    drawn: Floats | None = None
    #: Linpack: what listed systems of the kind reached (None: only the closed form counts), the
    #: peak of a node (flop/s), and standard normal numbers for the error of the prediction.
    listed: ListedCurve | None = None
    peak: float = math.inf
    error: Floats | None = None

    def slowest(self, nodes: Floats) -> Floats:
        """The factor on computing if this number of nodes wait for each other (``slowest``)."""
        if not (self.between_nodes or self.over_time):
            return np.ones(1)
        return slowest_factor(nodes, self.between_nodes, self.over_time, self.drawn)


@dataclass(frozen=True)
class Times:
    """Seconds of one execution, by activity."""

    #: Number of operations.
    work: Floats
    #: Time in processors and memory of the nodes, s.
    compute: Floats
    #: Fixed cost of the messages, s.
    latency: Floats
    #: Time of the bytes through the adapters, s.
    link: Floats
    #: Time that the middle of the network adds, s.
    bisection: Floats

    @property
    def total(self) -> Floats:
        """The sum of the parts: nothing is assumed to overlap."""
        return self.compute + self.latency + self.link + self.bisection

    @property
    def rate(self) -> Floats:
        """Operations per second."""
        return self.work / self.total


PARTS = tuple(field.name for field in fields(Times) if field.name != "work")


def check_workload(name: str, described: Sequence[str]) -> None:
    """Check a name. Raises AssayError if it begins like a workload of assay but is not one.

    ``described``: the programs and mixes of jobs of the specification.
    """
    family, _, rest = name.partition(".")
    if name.startswith((PROGRAM, JOBS)) and name not in described:
        what, table = ("program", "program") if family == "program" else ("mix of jobs", "jobs")
        raise AssayError(
            f"There is no {what} '{rest}'.",
            fix=nearest(name, described) if described else f"Describe it in a [[{table}]].",
        )
    if family != "npb":
        return
    kernel, _, problem = rest.partition(".")
    if kernel not in _NPB:
        raise AssayError(
            f"There is no workload '{name}'.",
            fix=nearest(name, [f"npb.{known}.C" for known in _NPB]),
        )
    classes = _classes(kernel)
    if problem not in classes:
        raise AssayError(
            f"'{name}' doesn't name a class of npb.{kernel}.",
            fix=f"Write npb.{kernel}.CLASS with one of {', '.join(classes)}.",
        )


def model_spread(name: str, jobs: DesignJobs | None = None) -> float:
    """Standard deviation of the logarithm of the model's own error, for all workloads but Linpack.

    ``jobs``: the mix, if the workload is a mix of jobs; its draws differ in the busy share.
    """
    if jobs is not None:
        return math.hypot(MODEL_SPREAD["jobs"], jobs.busy.spread)
    return MODEL_SPREAD.get(name.partition(".")[0], _THROUGHPUT_SPREAD)


def needs_rate(name: str) -> bool:
    """Whether nodes need a rate with this name: not for Linpack, STREAM, programs and mixes."""
    return name not in (LINPACK, STREAM) and not name.startswith((PROGRAM, JOBS))


def most_rate(name: str, machines: MachineFigures) -> Floats:
    """The rate that no machine exceeds, whatever the model's error; infinite if none is known.

    Linpack is limited by DGEMM on all nodes and by the peak, STREAM by the memory of all nodes.
    """
    if name == LINPACK:
        return np.asarray(machines.nodes * np.minimum(machines.dgemm, machines.peak))
    if name == STREAM:
        return machines.nodes * machines.bandwidth
    return np.full(1, math.inf)


def times(name: str, machines: MachineFigures) -> Times:
    """The times of a workload on each machine."""
    if name == LINPACK:
        return _linpack(machines)
    zero = np.zeros(np.broadcast(machines.nodes, machines.rate).shape)
    if name == STREAM:
        moved = machines.nodes * machines.memory
        return Times(moved, moved / (machines.nodes * machines.bandwidth), zero, zero, zero)
    if machines.program is not None:
        return _program(machines.program, machines)
    if machines.jobs is not None:
        return _jobs(machines.jobs, machines)
    if not name.startswith("npb."):
        work = machines.nodes + zero  # a second of one unit on each node
        return Times(work, 1.0 / machines.rate + zero, zero, zero, zero)
    return _npb(name, machines)


def _program(program: DesignProgram, machines: MachineFigures) -> Times:
    """Times of a program; one operation is one run."""
    parts = program_parts(
        program, nodes=machines.nodes, cores=machines.cores, dgemm=machines.dgemm,
        bandwidth=machines.bandwidth, link=machines.link, latency=machines.latency,
    )  # fmt: skip
    shape = np.broadcast(parts.runs, parts.compute, parts.latency, parts.link).shape
    together = np.minimum(np.ceil(program.ranks / machines.cores), machines.nodes)
    slower = parts.compute * machines.slowest(together)
    shape = np.broadcast_shapes(shape, slower.shape)
    runs, compute, latency, link = (
        np.broadcast_to(one, shape) for one in (parts.runs, slower, parts.latency, parts.link)
    )
    return Times(runs, compute, latency, link, np.zeros(shape))


def _jobs(jobs: DesignJobs, machines: MachineFigures) -> Times:
    """Times of a mix of jobs; one operation is a second of one processor where the jobs ran.

    The machine's operations per second are the number of cores that the jobs keep busy ÷ the time
    of a core per operation. Accounts don't record messages, so messages cost nothing.
    """
    shape = np.broadcast(machines.nodes, machines.dgemm, machines.bandwidth).shape
    cores = np.broadcast_to(machines.nodes * machines.cores, shape)
    slower = jobs.slower(machines.cores, machines.dgemm, machines.bandwidth)
    zero = np.zeros(shape)
    return Times(cores * jobs.busy.at(cores), slower + zero, zero, zero, zero)


def linpack_sources(machines: MachineFigures) -> LinpackSources | None:
    """What each source tells about Linpack; None if listed systems aren't among ``machines``."""
    return _linpack_sources(machines)[1]


def _linpack_sources(machines: MachineFigures) -> tuple[LinpackTimes, LinpackSources | None]:
    described = LinpackCluster(
        nodes=machines.nodes,
        processes=machines.processes,
        dgemm=machines.dgemm,
        bandwidth=machines.bandwidth,
        memory=machines.memory,
        link=machines.link,
        latency=machines.latency,
        bisection=machines.bisection,
        slower=machines.slowest(machines.nodes),
    )
    closed = closed_form(described)
    if machines.listed is None:
        return closed, None
    equal = replace(described, bisection=np.full(1, math.inf), slower=np.ones(1))
    return closed, LinpackSources(
        nodes=machines.nodes,
        closed=closed.rate,
        as_listed=closed_form(equal).rate,
        curve=machines.listed,
        bound=most_rate(LINPACK, machines),
    )


def _linpack(machines: MachineFigures) -> Times:
    """The rate by all sources, its time divided by activity as in the closed form."""
    closed, sources = _linpack_sources(machines)
    scale = np.ones(1)
    if sources is not None:
        scale = closed.rate / sources.rate(
            np.zeros(1) if machines.error is None else machines.error
        )
    shape = np.broadcast_shapes(closed.work.shape, scale.shape)
    return Times(
        work=np.broadcast_to(closed.work, shape),
        compute=closed.compute * scale,
        latency=closed.latency * scale,
        link=closed.link * scale,
        bisection=closed.bisection * scale,
    )


def _npb(name: str, machines: MachineFigures) -> Times:
    kernel, problem = name.split(".")[1:]
    most = int(np.max(machines.nodes))
    table = _npb_demand(kernel, problem, most)
    at = np.asarray(machines.nodes, dtype=np.int64)
    demand = {key: column[at] for key, column in table.items()}
    nodes = machines.nodes
    own = demand["operations"] / (nodes * machines.rate)
    # Work that grows with the number of nodes (each node has whole vectors), by memory traffic.
    growth = np.maximum(demand["traffic"] - table["traffic"][1], 0.0)
    compute = own + growth / (nodes * machines.bandwidth) + own * demand["fill"]
    compute = compute * machines.slowest(nodes)
    per_node = demand["sent"] / nodes
    if kernel in _GATHERED:
        per_node = per_node * np.maximum(nodes - 1.0, 0.0)
    crossing = demand["sent"] * (0.25 if kernel in _GLOBAL else 0.0)
    link = per_node / machines.link
    through = np.maximum(crossing / machines.bisection - link, 0.0)
    return Times(
        work=demand["operations"] + np.zeros_like(compute),
        compute=compute,
        latency=demand["calls"] * machines.latency,
        link=link,
        bisection=np.where(nodes > 1, through, 0.0),
    )


@lru_cache(maxsize=64)
def _npb_demand(kernel: str, problem: str, most: int) -> Mapping[str, Floats]:
    """The demand of a class on 0 to ``most`` nodes (index) with one process per node.

    It comes from the catalogue of kernels: ``operations``, ``traffic`` (B), ``sent`` (B, all nodes
    together), ``calls`` (messages in a row on one node), ``fill`` (idle share of a pipeline).
    """
    find = find_kernel(f"npb.{kernel}")
    columns = {key: np.zeros(most + 1) for key in ("operations", "traffic", "sent", "calls")}
    for nodes in _sampled(most):
        work = find.work({"class": problem}, nodes, 1)
        for key in ("operations", "traffic", "sent"):
            columns[key][nodes] = work[key]
        columns["calls"][nodes] = work["messages"] / nodes if nodes > 1 else 0.0
        if nodes == 1:
            columns["sent"][nodes] = 0.0
    known = np.array(_sampled(most))
    every = np.arange(most + 1)
    result = {
        key: np.interp(every, known, column[known]) if most > 1 else column
        for key, column in columns.items()
    }
    steps = {
        _TREE: np.ceil(np.log2(np.maximum(every, 1))),
        _ALL: np.maximum(every - 1.0, 0.0),
        _ONE: np.ones(most + 1),
    }[_CALLS[kernel]]
    result["calls"] = result["calls"] * steps
    result["fill"] = np.zeros(most + 1)
    if kernel == "lu":
        points, _ = LU_SIZES[problem]
        result["fill"] = np.maximum(2.0 * np.sqrt(every) - 2.0, 0.0) / points
    return result


_EXACT = 64  # number of nodes up to which every number is computed; above it, 16 per doubling


def _sampled(most: int) -> list[int]:
    """Numbers of nodes for which the demand is computed; between them, it is interpolated."""
    few = range(1, min(most, _EXACT) + 1)
    if most <= _EXACT:
        return list(few)
    points = int(16 * np.log2(most / _EXACT)) + 2
    many = np.round(np.geomspace(_EXACT, most, points)).astype(int).tolist()
    return sorted({*few, *many})


def _classes(kernel: str) -> list[str]:
    for parameter in find_kernel(f"npb.{kernel}").parameters:
        if parameter.name == "class":
            return [str(choice) for choice in parameter.choices or ()]
    raise AssertionError(f"npb.{kernel} has classes")
