"""A user's command instead of a plan's kernels."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.kernels.outside import APP
from assay.model.command import check_command, placeholders
from assay.model.demand import ProgramDemand
from assay.model.rank_order import FITTED
from assay.plans.expand import Measure
from assay.plans.factors import PLACEMENT_WORDS
from assay.plans.levels import FactorLevel, Written
from assay.units import parse_duration

# By factor, alternative sets of placeholders. A command that has all placeholders of one set obeys
# the factor.
_VARIABLES: dict[str, tuple[frozenset[str], ...]] = {
    "nodes": (
        frozenset({"nodes"}), frozenset({"hostfile"}), frozenset({"rankfile"}),
        frozenset({"ranks", "ppn"}),
    ),
    "ppn": tuple(frozenset({name}) for name in ("ppn", "ranks", "hostfile", "rankfile")),
    "threads": (frozenset({"threads"}),),
    "binding": (frozenset({"binding"}),),
    "smt": (frozenset({"smt"}),),
    "order": (frozenset({"order"}), frozenset({"hostfile"}), frozenset({"rankfile"})),
    "adapter": (frozenset({"adapter"}),),
    "devices": (frozenset({"devices"}),),
    "node_set": (frozenset({"hostfile"}), frozenset({"rankfile"})),
}  # fmt: skip


class App(msgspec.Struct, frozen=True):
    """A command as requested."""

    #: The command line with placeholders (``model.command``).
    command: str
    #: ``time``, ``verify``: regular expressions for the printed time in seconds, and for the output
    #: of a correct result; empty for none.
    time: str = ""
    verify: str = ""
    #: Time limit in seconds; 0: derived from the fastest launch.
    timeout: float = 0.0
    #: Whether a shell runs it.
    shell: bool = False
    #: The file of its communication matrix; empty for none.
    matrix: str = ""
    #: Prediction of its profile; None: not profiled.
    demand: ProgramDemand | None = None


def read_app(
    command: str,
    time: str | None,
    verify: str | None,
    timeout: str | None,
    *,
    shell: bool = False,
    matrix: Path | None = None,
    demand: ProgramDemand | None = None,
) -> App:
    """The command as the command line gives it.

    Raises AssayError for invalid options, and for a matrix with a command that can't obey an order.
    """
    seconds = read_timeout(timeout)
    check_command(command, time or "", verify or "")
    if matrix is not None and not _is_controlled(command, "order"):
        raise AssayError(
            "The command has no placeholder that gives it an order of ranks.",
            where="--matrix",
            fix="Add {hostfile} or {rankfile}, such as 'mpirun -n {ranks} -f {hostfile} …'.",
        )
    path = str(matrix.absolute()) if matrix is not None else ""
    return App(
        command=command,
        time=time or "",
        verify=verify or "",
        timeout=seconds,
        shell=shell,
        matrix=path,
        demand=demand,
    )


def profiled_matrix(command: str, folder: Path) -> Path | None:
    """The matrix of a profile's folder, if it has one and the command can obey an order."""
    from assay.plans.fitted_order import PROFILE_MATRIX  # loads NumPy

    known = (folder / PROFILE_MATRIX).exists() and _is_controlled(command, "order")
    return folder if known else None


def read_timeout(timeout: str | None) -> float:
    """The seconds of ``--timeout``; 0 without it. Raises AssayError if it is not a time."""
    if timeout is None:
        return 0.0
    seconds = parse_duration(timeout, where="--timeout")
    if not 0 < seconds < math.inf:
        raise AssayError(f"'{timeout}' is not a time.", where="--timeout", fix='Such as "10 min".')
    return seconds


def _is_controlled(command: str, factor: str) -> bool:
    """Whether a command has the placeholders to obey a factor.

    Raises AssayError for unknown placeholders.
    """
    used = placeholders(command)
    return any(needed <= used for needed in _VARIABLES[factor])


def app_measures(measures: Sequence[Measure], app: App) -> list[Measure]:
    """A plan's measures with the command instead of their kernels.

    Only placement factors that the command obeys are kept. A [[measure]] of several kernels becomes
    one. The levels of ``order`` include the fitted order if and only if there is a communication
    matrix. Raises AssayError for an invalid command.
    """
    check_command(app.command, app.time, app.verify)
    controlled = {name for name in _VARIABLES if _is_controlled(app.command, name)}
    own: dict[str, tuple[Written, ...]] = {
        "command": (FactorLevel(app.command, "--app"),),
        "time": (FactorLevel(app.time, "--time"),),
        "verify": (FactorLevel(app.verify, "--verify"),),
        "shell": (FactorLevel(int(app.shell), "--shell"),),
        "timeout": (FactorLevel(app.timeout, "--timeout"),),
    }
    changed_measures: dict[str, Measure] = {}
    for measure in measures:
        factors = {
            name: levels
            for name, levels in measure.factors.items()
            if name in PLACEMENT_WORDS and name in controlled
        }
        if "order" in factors:
            factors["order"] = _orders(factors["order"], app)
        known = set(measure.factors) <= {*PLACEMENT_WORDS, "toolchain", "class"}
        if known and factors:
            changed = dataclasses.replace(measure, kernel=APP, factors={**factors, **own})
            changed_measures.setdefault(
                measure.where, changed
            )  # one for all kernels of a [[measure]]
    return list(changed_measures.values()) or [Measure(APP, own, "--app", search=True)]


def _orders(written: tuple[Written, ...], app: App) -> tuple[Written, ...]:
    plain = tuple(
        level for level in written if not (isinstance(level, FactorLevel) and level.raw == FITTED)
    )
    if app.matrix:
        return (*plain, FactorLevel(FITTED, "--matrix"))
    return plain or (FactorLevel("block", "--app"),)
