"""The command that measures a run again, with enough launches for what it has too few of."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from assay.records.model import RunData

# Of the time that the run's budget gave for its launches; the last launch is often cut short.
_RESERVE = 1.2
# Options that the command states itself, or that don't change what is measured. The former have a
# value.
_REPLACED = ("--launches", "--budget", "--seed")
_OUTPUT = ("--json", "--report", "--no-report")


def command_again(
    run: RunData, *, needed: int, fewest: int | None, otherwise: Sequence[str]
) -> str:
    """The run's own command with ``needed`` launches of each cell, of which there were ``fewest``.

    A run whose plan asked for enough launches spent its budget before: that grows in proportion.
    ``fewest`` is None where launches are enough. ``otherwise``: the words in place of a command
    that started no run.
    """
    words = own_command(run.manifest.command) or list(otherwise)
    if fewest is None:
        return shlex.join(words)
    rule = run.manifest.plan.replication
    if rule.min_launches < needed:
        return shlex.join([*words, "--launches", str(needed)])
    # Whole minutes, which are also easier to change.
    minutes = math.ceil(rule.budget * _RESERVE * needed / max(fewest, 1) / 60)
    return shlex.join([*words, "--budget", f"{minutes} min"])


def own_command(command: Sequence[str]) -> list[str]:
    """The command of a new run, without what is to be replaced; empty for another command."""
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
