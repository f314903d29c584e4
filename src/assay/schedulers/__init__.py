"""Batch systems: each has a module, a line in ``NAMES``, and a template per form of job script.

A module has a ``SYSTEM`` (``model.BatchSystem``) and its ``SCHEDULERS`` (``batch.Batch``), which
submit, query and cancel jobs, partly through PSI/J.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.schedulers.batch import Batch
    from assay.schedulers.model import BatchSystem

# Slurm comes first, because its installations may include wrappers named like PBS's and LSF's
# commands.
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
    """Every scheduler, one per form of job script; PBS has two."""
    modules = [import_module(f"assay.schedulers.{name}") for name in NAMES]
    return [scheduler for module in modules for scheduler in module.SCHEDULERS]


def job_variables() -> tuple[str, ...]:
    """The prefixes of the environment variables of jobs, one per batch system."""
    return tuple(system.prefix for system in systems())


def titles() -> str:
    """The titles of all batch systems, as a list in a sentence."""
    from assay.units import listed

    return listed([system.title for system in systems()])
