"""Batch systems: a module each and its line here, and a template per notation of job scripts.

A module holds a ``SYSTEM`` (``model.BatchSystem``) and its ``SCHEDULERS`` (``batch.Batch``), which
submit job scripts, ask for their state and cancel them through PSI/J.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.schedulers.batch import Batch
    from assay.schedulers.model import BatchSystem

# Slurm comes first, because it brings look-alikes of other schedulers' commands.
NAMES = (
    "slurm",
    "pbs",
    "lsf",
    "flux",
)


def systems() -> list[BatchSystem]:
    """Every batch system that assay can submit to."""
    found: list[BatchSystem] = [import_module(f"assay.schedulers.{name}").SYSTEM for name in NAMES]
    return found


def schedulers() -> list[type[Batch]]:
    """Every scheduler, by the notation of its job scripts; PBS has two."""
    modules = [import_module(f"assay.schedulers.{name}") for name in NAMES]
    return [scheduler for module in modules for scheduler in module.SCHEDULERS]


def job_variables() -> tuple[str, ...]:
    """The prefixes of the variables by which a process finds the job that it runs in."""
    return tuple(system.prefix for system in systems())


def titles() -> str:
    """All of them in a sentence."""
    from assay.units import listed

    return listed([system.title for system in systems()])
