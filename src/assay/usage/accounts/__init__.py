"""Formats of schedulers' accounts: one module of ``readers/`` per format, listed in ``NAMES``.

A module defines ``FORMAT`` (``model.AccountFormat``). The first format that recognises a file reads
it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from assay.usage.accounts.model import AccountFormat

NAMES = (
    "slurm_json",
    "flux",
    "slurm",
    "slurm_events",
    "slurm_shares",
    "slurm_completed",
    "pbs",
    "lsf",
    "swf",
)


@cache
def formats() -> dict[str, AccountFormat]:
    """The formats by the names of their modules, in the order in which they are tried."""
    return {name: import_module(f"assay.usage.accounts.readers.{name}").FORMAT for name in NAMES}
