"""Findings of a simulation: a program's run time on a described cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

SIMULATION_SCHEMA = 1


@dataclass(frozen=True)
class SimulationFindings:
    """The run time of a program on a cluster that is described, not measured."""

    #: Of these findings.
    schema: int
    #: When. ``program``.
    utc: float
    #: Name of the program.
    program: str
    #: Its title, ``file``: its description, ``topology``: its kind. ``ranks`` on ``nodes``,
    #: ``per_node`` on each.
    cluster: str
    file: str
    topology: str
    #: Number of ranks.
    ranks: int
    #: Number of nodes.
    nodes: int
    #: Ranks per node.
    per_node: int
    #: Run time of the traced run (s); None where the program is no trace.
    recorded: float | None
    #: Name and version; None: SimGrid was not found.
    simulator: str | None
    #: Run time by it with equal, steady nodes, s; None without it.
    simulated: float | None
    #: The middle 95% of ``draws`` draws from ``seed`` of the nodes' speeds and the network's
    #: figures; None if nothing varies.
    interval: tuple[float, float] | None
    #: Of the draws.
    mean: float | None
    #: Number of random draws of the nodes' speeds.
    draws: int
    #: Seed of the draws.
    seed: int
    #: Run time by assay's own model, s, None where there is none.
    closed_form: float | None
    #: Of a rank, mean, s.
    computing: float | None
    #: The whole run over the iterations that were simulated.
    factor: float
    #: Sentences on calls that were changed.
    left_out: list[str]
    #: Sentences on what the numbers can't say.
    unknown: list[str]
    #: Why run times predicted from the trace are doubtful, as a clause; "" if nothing says so.
    doubt: str = ""
    #: Sentences on what removes such doubts.
    remedies: list[str] = field(default_factory=list)
