"""Commands with placeholders for a placement: ``mpirun -n {ranks} -ppn {ppn} ./a.out``."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Mapping

from assay.errors import AssayError, nearest
from assay.model.placement import Placement

# Placeholders of a command, with the value of each.
PLACEHOLDERS = {
    "nodes": "nodes",
    "ppn": "ranks per node",
    "ranks": "ranks in total",
    "threads": "threads per rank, also in OMP_NUM_THREADS",
    "binding": "compact, spread, per-numa, near-device, none or numa:NODE",
    "smt": "on if ranks and threads share cores, also in OMP_PLACES; otherwise off",
    "devices": "devices per node that the ranks use, 0 if this isn't set",
    "order": "the order of ranks: block, cyclic, reversed or a list of seats",
    "adapter": "the network adapter, or default",
    "hostfile": "a file of the hosts' names, one line per rank in rank order",
    "rankfile": "a file of each rank's host and cores, as Open MPI reads it",
}
# OMP_PROC_BIND by binding. It is set if the command has the placeholder {binding}.
_OMP_BINDINGS = {"compact": "close", "spread": "spread", "per-numa": "close", "none": "false"}
_OMP_PLACES = {"off": "cores", "on": "threads"}
# Doubled braces are literal braces. Braces around anything but a name are unchanged.
_BRACES = re.compile(r"\{\{|\}\}|\{([a-z_]+)\}")


def placeholders(command: str) -> frozenset[str]:
    """The placeholders that a command uses. Raises AssayError for a placeholder that isn't in
    ``PLACEHOLDERS``."""
    found = frozenset(match[1] for match in _BRACES.finditer(command) if match[1])
    for name in sorted(found - PLACEHOLDERS.keys()):
        raise AssayError(
            f"There is no placeholder '{{{name}}}'.",
            where=command,
            fix=f"{nearest(name, PLACEHOLDERS)} Write {{{{{name}}}}} for the braces themselves.",
        )
    return found


def command_words(command: str, values: Mapping[str, str], *, shell: bool = False) -> list[str]:
    """The words of a command with its placeholders filled in.

    The command is split as a shell would split it and filled in afterwards, so that a value with
    spaces stays one word. With ``shell`` the command is one line for ``sh -c``, with its values
    quoted. Raises AssayError for an unknown placeholder, unclosed quotes and an empty command.
    """
    placeholders(command)
    if shell:
        return ["/bin/sh", "-c", _filled(command, {k: shlex.quote(v) for k, v in values.items()})]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AssayError(
            f"The command can't be split into words: {error}.",
            where=command,
            fix="Close its quotes.",
        ) from None
    if not words:
        raise AssayError("The command is empty.", fix="Such as 'mpirun -n {ranks} ./a.out'.")
    return [_filled(word, values) for word in words]


def placement_values(placement: Placement, hostfile: str, rankfile: str) -> dict[str, str]:
    """The value of each placeholder at a placement."""
    return {
        "nodes": str(placement.nodes),
        "ppn": str(placement.ppn),
        "ranks": str(placement.ranks),
        "threads": str(placement.threads),
        "binding": placement.binding,
        "smt": placement.smt,
        "devices": str(placement.devices),
        "order": placement.order,
        "adapter": placement.adapter or "default",
        "hostfile": hostfile,
        "rankfile": rankfile,
    }


def environment(placement: Placement, command: str) -> dict[str, str]:
    """The OpenMP variables of a command: OMP_NUM_THREADS; OMP_PROC_BIND if the command uses
    ``{binding}``; OMP_PLACES if it uses ``{smt}``.
    """
    variables = {"OMP_NUM_THREADS": str(placement.threads)}
    if "{binding}" in command and placement.binding in _OMP_BINDINGS:
        variables["OMP_PROC_BIND"] = _OMP_BINDINGS[placement.binding]
    if "{smt}" in command:
        variables["OMP_PLACES"] = _OMP_PLACES[placement.smt]
    return variables


def check_command(command: str, time: str = "", verify: str = "") -> None:
    """Raise AssayError for an invalid command, or an invalid pattern for its output."""
    command_words(command, dict.fromkeys(PLACEHOLDERS, "1"))
    for what, pattern in (("time", time), ("verify", verify)):
        try:
            with warnings.catch_warnings(action="ignore"):  # FutureWarning of re
                compiled = re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise AssayError(
                f"The pattern of '{what}' is not a regular expression: {error}.", where=pattern
            ) from None
        if what == "time" and pattern and compiled.groups > 1:
            raise AssayError(
                "The pattern of 'time' has several groups, so it isn't clear which one is the "
                "time.",
                where=pattern,
                fix=r"Put parentheses only around the seconds, such as 'Elapsed: (\S+) s'.",
            )


def _filled(text: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return values[match[1]] if match[1] else match[0][0]

    return _BRACES.sub(value, text)
