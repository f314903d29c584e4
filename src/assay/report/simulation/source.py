"""Determines what `assay simulate` simulates, from the words of the command line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError, nearest
from assay.kernels import find_kernel
from assay.models.calls.npb import NPB
from assay.simulation.cluster import SimulatedCluster
from assay.simulation.simgrid import HOW, SimGrid
from assay.simulation.simulate import SimulatedProgram
from assay.subjects.simulation.findings import (
    SimulationInput,
    linpack_input,
    npb_input,
    traced_input,
)
from assay.trace.reading_trace import read_trace
from assay.units import parse_quantity

_COMMAND = "assay simulate"
_MOST_RANKS, _MOST_DRAWS, _MOST_ORDER = 10_000, 10_000, 10_000_000


def checked(on: Path | None, draws: int, ranks: int | None, ppn: int | None) -> Path:
    """The description's file. Raises AssayError if it is missing or a number is out of range."""
    if on is None:
        raise AssayError(
            "The cluster is missing.",
            where=_COMMAND,
            fix="Name a description of the cluster with --on; 'assay simulate --example > "
            "cluster.toml' writes an example.",
        )
    for option, number, most in (
        ("--draws", draws, _MOST_DRAWS), ("--ranks", ranks, _MOST_RANKS), ("--ppn", ppn, 10_000),
    ):  # fmt: skip
        if number is not None and not 1 <= number <= most:
            raise AssayError(f"{option} can't be {number}.", fix=f"Write 1 to {most}.")
    return on


def source_of(
    program: str | None,
    command: Sequence[str],
    ranks: int | None,
    rate: str | None,
    cluster: SimulatedCluster,
    simgrid: SimGrid | None,
) -> SimulationInput:
    """The program to simulate on the ``cluster``. Raises AssayError if it can't be simulated."""
    words = [*([program] if program is not None else []), *command]
    if not words:
        raise AssayError(
            "The program is missing.",
            where=_COMMAND,
            fix="Name npb.KERNEL.CLASS, linpack.ORDER, a folder with a trace, or a command after "
            "--.",
        )
    first = words[0]
    if first.startswith("npb.") and len(words) == 1:
        return _npb(first, ranks, rate)
    if first.startswith("linpack.") and len(words) == 1:
        return _linpack(first, ranks, rate, cluster)
    if rate is not None:
        raise AssayError("--rate is for NPB kernels and Linpack.", fix="Leave it out.")
    if len(words) == 1 and Path(first).is_dir():
        trace = read_trace(Path(first))
        if ranks is not None and ranks != len(trace.ranks):
            raise AssayError(
                f"The trace has {len(trace.ranks)} ranks, not {ranks}.",
                where=first,
                fix="Leave out --ranks, or trace a run with this number of ranks.",
            )
        return traced_input(Path(first).name, trace)
    return _command(words, ranks, simgrid)


def _linpack(
    name: str, ranks: int | None, rate: str | None, cluster: SimulatedCluster
) -> SimulationInput:
    order, block = name.partition(".")[2], cluster.linpack.block
    if not order.isdecimal() or not block <= int(order) <= _MOST_ORDER:
        raise AssayError(
            f"'{name}' has no valid order of Linpack.",
            fix=f"Write, for example, linpack.20000. The order must be from {block} to "
            f"{_MOST_ORDER:,}.",
        )
    if ranks is None or rate is None:
        raise AssayError(
            f"{'--ranks' if ranks is None else '--rate'} is missing.",
            where=name,
            fix=f'Example: {_COMMAND} {name} --on cluster.toml --ranks 16 --rate "40 Gflop/s". '
            "`assay run quick` measures the rate of DGEMM.",
        )
    number = float(parse_quantity(rate, "flop/s", where="--rate"))
    if not 0.0 < number < 1e18:
        raise AssayError(f"--rate can't be {rate}.", fix='Example: "40 Gflop/s".')
    return linpack_input(int(order), ranks, number, cluster)


def _npb(name: str, ranks: int | None, rate: str | None) -> SimulationInput:
    _, kernel, npb_class = (*name.split("."), "", "")[:3]
    if kernel not in NPB:
        raise AssayError(f"There is no NPB kernel '{kernel}'.", fix=nearest(kernel, NPB))
    classes = [
        str(choice)
        for parameter in find_kernel(f"npb.{kernel}").parameters
        if parameter.name == "class"
        for choice in parameter.choices or ()
    ]
    if npb_class not in classes:
        raise AssayError(
            f"npb.{kernel} has no class '{npb_class}'.", fix=f"Write one of {', '.join(classes)}."
        )
    if ranks is None or rate is None:
        missing = "--ranks" if ranks is None else "--rate"
        raise AssayError(
            f"{missing} is missing.",
            where=name,
            fix=f'Example: {_COMMAND} {name} --on cluster.toml --ranks 16 --rate "500 Mop/s". '
            "`assay run npb` measures the rate.",
        )
    number = float(parse_quantity(rate, "op/s", where="--rate"))
    if not 0.0 < number < 1e18:
        raise AssayError(f"--rate can't be {rate}.", fix='Example: "500 Mop/s".')
    return npb_input(kernel, npb_class, ranks, number)


def _command(words: Sequence[str], ranks: int | None, simgrid: SimGrid | None) -> SimulationInput:
    path = shutil.which(words[0])
    if path is None:
        raise AssayError(
            f"'{words[0]}' is not npb.KERNEL.CLASS, linpack.ORDER, a folder or a program.",
            where=_COMMAND,
            fix="Check the name.",
        )
    if ranks is None:
        raise AssayError("--ranks is missing.", where=_COMMAND, fix="Example: --ranks 16.")
    if simgrid is None:
        raise AssayError("Executing a program in a simulation requires SimGrid.", fix=HOW)
    linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    if "libsimgrid" not in linked:
        raise AssayError(
            f"'{words[0]}' is not compiled for SimGrid.",
            where=path,
            fix="Compile it with SimGrid's smpicc (smpicxx, smpif90), or trace it: assay profile "
            "--trace.",
        )
    program = SimulatedProgram(
        Path(path).name, ranks, command=(str(Path(path).resolve()), *words[1:])
    )
    return SimulationInput(
        program,
        unknown=(
            "The computing of the ranks was timed on this machine during the simulation, so "
            "speed 1 is the speed of this machine.",
        ),
    )
