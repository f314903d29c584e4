"""Findings of a simulation: a program's run time on a described cluster."""

from __future__ import annotations

import msgspec

SIMULATION_SCHEMA = 1


class SimulationFindings(msgspec.Struct, frozen=True):
    """The run time of a program on a cluster that is described, not measured.

    ``schema``: of these findings. ``utc``: when. ``program``; ``cluster``: its title, ``file``: its
    description, ``topology``: its kind. ``ranks`` on ``nodes``, ``per_node`` on each. ``recorded``:
    run time of the traced run (s); None where the program is no trace.
    ``simulator``: name and version; None: SimGrid was not found. ``simulated``: run time by it with
    equal, steady nodes, s; None without it. ``interval``: the middle 95% of ``draws`` draws from
    ``seed`` of the nodes' speeds and the network's figures; None if nothing varies.
    ``mean``: of the draws. ``closed_form``: run time by assay's own model, s, None where there is
    none. ``computing``: of a rank, mean, s. ``factor``: the whole run over the iterations that were
    simulated. ``left_out``: sentences on calls that were changed. ``unknown``: sentences on what
    the numbers can't say. ``doubt``: why run times predicted from the trace are doubtful, as a
    clause; "" if nothing says so. ``remedies``: sentences on what removes such doubts.
    """

    schema: int
    utc: float
    program: str
    cluster: str
    file: str
    topology: str
    ranks: int
    nodes: int
    per_node: int
    recorded: float | None
    simulator: str | None
    simulated: float | None
    interval: tuple[float, float] | None
    mean: float | None
    draws: int
    seed: int
    closed_form: float | None
    computing: float | None
    factor: float
    left_out: list[str]
    unknown: list[str]
    doubt: str = ""
    remedies: list[str] = []
