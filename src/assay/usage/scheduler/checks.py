"""Checks of the input of the scheduler's model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.units import counted
from assay.usage.scheduler.machine import FailedNodes, Machine, Reservation
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Workload

# Limits of the simulation: nodes, processors or GPUs of a node, and times in s.
_MOST_NODES = 20_000_000
_MOST_PER_NODE = 1_000_000_000
_LATEST = 1e15
_FLOATS = ("submit", "run", "limit", "memory", "think")
_INTS = ("nodes", "processors", "gpus", "user", "account", "partition", "qos", "after")


def check(workload: Workload, machine: Machine, policy: Policy) -> None:
    """Raises AssayError unless the model can simulate this.

    A job that exceeds the machine or its partition is not an error: the model refuses it.
    """
    _check_machine(machine)
    _check_policy(policy)
    _check_slurm(machine, policy)
    _check_workload(workload, max(1, len(machine.partitions)))


def _check_machine(machine: Machine) -> None:
    where = "machine"
    if not machine.nodes:
        raise AssayError("The machine has no nodes.", where=where, fix="Name at least one kind.")
    for index, kind in enumerate(machine.nodes):
        here = f"{where}, nodes[{index}]"
        _within(kind.count, 1, _MOST_NODES, f"{here}, count")
        _within(kind.processors, 1, _MOST_PER_NODE, f"{here}, processors")
        _within(kind.gpus, 0, _MOST_PER_NODE, f"{here}, gpus")
        _within(kind.memory, 0.0, math.inf, f"{here}, memory")
    _within(machine.size, 1, _MOST_NODES, f"{where}, number of nodes")
    last = machine.size - 1
    for partition in machine.partitions:
        here = f"{where}, partition '{partition.name}'"
        _check_range(partition.first, partition.last, last, here)
        _within(partition.longest, 0.0, math.inf, f"{here}, longest")
        _within(partition.largest, 0, _MOST_NODES, f"{here}, largest")
        _within(partition.tier, -1_000_000, 1_000_000, f"{here}, tier")
    for index, reservation in enumerate(machine.reservations):
        _check_period(reservation, last, f"{where}, reservations[{index}]")
    for index, failure in enumerate(machine.failures):
        _check_period(failure, last, f"{where}, failures[{index}]")


def _check_period(period: Reservation | FailedNodes, last: int, where: str) -> None:
    _check_range(period.first, period.last, last, where)
    _within(period.begin, -_LATEST, _LATEST, f"{where}, begin")
    _within(period.end, period.begin, math.inf, f"{where}, end")


def _check_range(first: int, last: int | None, most: int, where: str) -> None:
    _within(first, 0, most, f"{where}, first")
    if last is not None:
        _within(last, first, most, f"{where}, last")


def _check_policy(policy: Policy) -> None:
    where = "policy"
    _within(policy.reservations, 0, _MOST_PER_NODE, f"{where}, reservations")
    timing = policy.timing
    times = ("main", "delay", "tick", "tick_offset", "backfill", "offset")
    for name in (*times, "resolution", "window", "launch", "done"):
        _within(getattr(timing, name), 0.0, _LATEST, f"{where}, timing, {name}")
    _within(timing.depth, 0, _MOST_PER_NODE, f"{where}, timing, depth")
    factors = policy.multifactor
    for name in ("age", "size", "fair_share", "qos", "partition"):
        _within(getattr(factors, name), -1e100, 1e100, f"{where}, multifactor, {name}")
    for name in ("max_age", "half_life", "period"):
        _within(getattr(factors, name), 1e-3, _LATEST, f"{where}, multifactor, {name}")
    _within(factors.damping, 1e-9, 1e100, f"{where}, multifactor, damping")
    for table in ("shares", "qos_priority"):
        for name, value in getattr(factors, table).items():
            _within(value, 0.0, 1e100, f"{where}, multifactor, {table}, '{name}'")
    maui = policy.maui
    for name in ("queue_time", "expansion", "processors", "fair_share"):
        _within(getattr(maui, name), -1e100, 1e100, f"{where}, maui, {name}")
    _within(maui.window, 1e-3, _LATEST, f"{where}, maui, window")
    _within(maui.windows, 1, 10_000, f"{where}, maui, windows")
    _within(maui.decay, 0.0, 1.0, f"{where}, maui, decay")
    for name, value in maui.targets.items():
        _within(value, -1e100, 1e100, f"{where}, maui, targets, '{name}'")


def _check_slurm(machine: Machine, policy: Policy) -> None:
    """Slurm's own plan is modelled only for whole nodes that are all equal."""
    if policy.backfill != "slurm":
        return
    if len(machine.nodes) > 1 or policy.sharing != "node" or policy.allocation != "free":
        raise AssayError(
            "Slurm's plan is modelled only for jobs that have equal nodes to themselves, anywhere "
            "in the machine.",
            where="policy, backfill",
            fix="Use 'conservative', or one kind of nodes, sharing 'node' and allocation 'free'.",
        )


def _check_workload(workload: Workload, partitions: int) -> None:
    size = len(workload.submit)
    for name in (*_FLOATS, *_INTS):
        if getattr(workload, name).shape != (size,):
            raise AssayError(
                f"The column has the shape {getattr(workload, name).shape}, 'submit' ({size},).",
                where=f"jobs, {name}",
                fix="Give all columns the same length.",
            )
    _column(workload, "submit", -_LATEST, _LATEST, only=workload.after < 0)
    _column(workload, "run", 0.0, _LATEST)
    _column(workload, "limit", 1e-3, _LATEST)
    _column(workload, "think", 0.0, _LATEST)
    _column(workload, "memory", 0.0, 1e18)
    _column(workload, "nodes", 0, _MOST_PER_NODE)
    _column(workload, "processors", 1, _MOST_PER_NODE)
    _column(workload, "gpus", 0, _MOST_PER_NODE)
    _column(workload, "user", 0, len(workload.users) - 1)
    _column(workload, "account", 0, len(workload.accounts) - 1)
    _column(workload, "qos", 0, len(workload.qualities) - 1)
    _column(workload, "partition", 0, partitions - 1)
    _column(workload, "after", -1, size - 1)
    late = np.flatnonzero(workload.after >= np.arange(size))
    if late.size:
        raise AssayError(
            "The job waits for itself or for a later job.",
            where=f"jobs, after[{late[0]}]",
            fix="Let jobs wait only for earlier jobs.",
        )
    alone = np.flatnonzero(workload.after < 0)
    back = np.flatnonzero(np.diff(workload.submit[alone]) < 0)
    if back.size:
        raise AssayError(
            "The job is submitted before the one that precedes it.",
            where=f"jobs, submit[{alone[back[0] + 1]}]",
            fix="Sort the jobs by their submission.",
        )


def _column(
    workload: Workload,
    name: str,
    least: float,
    most: float,
    *,
    only: NDArray[np.bool_] | None = None,
) -> None:
    values: NDArray[Any] = getattr(workload, name)
    wrong = ~((values >= least) & (values <= most))
    if only is not None:
        wrong &= only
    places = np.flatnonzero(wrong)
    if places.size:
        raise AssayError(
            f"{values[places[0]]} is outside {least:g} to {most:g} "
            f"({counted(places.size, 'job')}).",
            where=f"jobs, {name}[{places[0]}]",
            fix="Leave the job out, or correct the value.",
        )


def _within(value: float, least: float, most: float, where: str) -> None:
    if not least <= value <= most:
        raise AssayError(
            f"{value} is outside {least:g} to {most:g}.", where=where, fix="Correct the value."
        )
