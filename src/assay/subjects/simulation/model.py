"""Findings of a simulation: a program's run time on a described cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

SIMULATION_SCHEMA = 2


@dataclass(frozen=True)
class SimulationFindings:
    """The run time of a program on a cluster that was described, not measured."""

    #: Version of these findings.
    schema: int
    #: Time of the simulation, Unix time (s).
    utc: float
    #: Name of the program.
    program: str
    #: Title of the cluster. ``file``: its description. ``topology``: kind of its topology.
    cluster: str
    file: str
    topology: str
    #: Number of ranks.
    ranks: int
    #: Number of nodes.
    nodes: int
    #: Ranks per node.
    per_node: int
    #: Run time of the traced run (s); None if the program isn't a trace.
    recorded: float | None
    #: Name and version of the simulator; None if SimGrid was not found.
    simulator: str | None
    #: Simulated run time with equal, steady nodes, s; None without a simulator.
    simulated: float | None
    #: 90% interval of the simulated run time, s: error of the model, draws of the nodes' speeds and
    #: the network's figures. None without a simulator or a known error.
    interval: tuple[float, float] | None
    #: Mean run time over the draws, s; None if nothing varies.
    mean: float | None
    #: Number of random draws of the nodes' speeds.
    draws: int
    #: Seed of the draws.
    seed: int
    #: Run time by assay's own model, s; None if there is no model.
    closed_form: float | None
    #: Mean computing time of a rank, s.
    computing: float | None
    #: Time of the whole run ÷ time of the simulated iterations.
    factor: float
    #: Sentences on calls that were changed.
    left_out: list[str]
    #: Sentences on limits of the numbers.
    unknown: list[str]
    #: Why run times predicted from the trace are doubtful, as a clause; "" if there is no doubt.
    doubt: str = ""
    #: Sentences on how to remove such doubts.
    remedies: list[str] = field(default_factory=list)
    #: 95% interval of the mean over the draws, s; None without two different draws.
    mean_ci95: tuple[float, float] | None = None
    #: The middle 95% of the run times over all draws, s; None if nothing varies.
    drawn_interval: tuple[float, float] | None = None
    #: 90% interval of the closed form, s; None if there is none, or its error isn't known.
    closed_interval: tuple[float, float] | None = None
    #: The runs that the model's error comes from, in words; None if no run of this kind of program
    #: was compared.
    error_runs: str | None = None
    #: Number of these runs.
    error_rows: int = 0
    #: The most ranks of one of them.
    error_ranks: int = 0
    #: Share of the runs of all kinds whose times are in the interval that the others give.
    error_held: float = 0.0
    #: Number of the runs of all kinds.
    error_held_of: int = 0
    #: Whether the closed form is the execution graph of a trace.
    graph: bool = False
