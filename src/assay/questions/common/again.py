"""The command that repeats a run with enough launches for all methods."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from assay.records.model import RunData

# Factor on the budget that the launches need: the budget often cuts the last launch short.
_RESERVE = 1.2
# Options that the new command replaces (each takes a value), and options that don't change what is
# measured.
_REPLACED = ("--launches", "--budget", "--seed")
_OUTPUT = ("--json", "--report", "--no-report")


def command_again(
    run: RunData, *, needed: int, fewest: int | None, otherwise: Sequence[str]
) -> str:
    """The run's own command, changed so that each cell gets ``needed`` launches.

    ``fewest`` is the least number of launches that a cell got; None if all cells have enough. If
    the plan already asked for enough launches, the budget was too small and is increased in
    proportion. ``otherwise`` is the command to use if the run was not started by a command that can
    be repeated.
    """
    words = own_command(run.manifest.command) or list(otherwise)
    if fewest is None:
        return shlex.join(words)
    rule = run.manifest.plan.replication
    if rule.min_launches < needed:
        return shlex.join([*words, "--launches", str(needed)])
    # Whole minutes, which are easier to edit.
    minutes = math.ceil(rule.budget * _RESERVE * needed / max(fewest, 1) / 60)
    return shlex.join([*words, "--budget", f"{minutes} min"])


def own_command(command: Sequence[str]) -> list[str]:
    """The command without the options to replace; empty if it can't start a new run."""
    if list(command[1:2]) != ["run"] or "--resume" in command:
        return []
    kept = ["assay"]
    skip = False
    for word in command[1:]:
        if skip:
            skip = False
        elif word in _REPLACED:
            skip = True
        elif word not in _OUTPUT and not word.startswith(tuple(f"{name}=" for name in _REPLACED)):
            kept.append(word)
    return kept
