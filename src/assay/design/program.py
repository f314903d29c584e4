"""Profiled programs as workloads of a design: ``[[program]]`` of a specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.design.figures import FigureReader, Origin, Written, read_share
from assay.design.parts.model import Node
from assay.errors import nearest
from assay.toml import TomlDocument

PROGRAM = "program."
_MOST_RANKS = 10_000_000


class WrittenProgram(msgspec.Struct, frozen=True):
    """A ``[[program]]`` table of a file."""

    name: str
    ranks: int
    #: Node of the catalogue on which the program was profiled.
    node: str
    computing: Written
    messages: float = 0.0
    bytes: Written = "0 B"
    memory: str | float = 0.5


@dataclass(frozen=True)
class DesignProgram:
    """A run of ``ranks`` ranks.

    Each rank has ``computing`` (s, on a core of the node where it was profiled), and ``messages``
    and ``bytes`` that it sends.
    """

    ranks: int
    computing: float
    messages: float
    bytes: float
    #: Memory-bound share of the computing.
    memory: float
    #: ``dgemm``, ``bandwidth``: rates of a core on that node with all cores busy (flop/s, B/s).
    dgemm: float
    bandwidth: float


@dataclass(frozen=True)
class ProgramParts:
    """Seconds of a run, by activity."""

    #: Number of runs that the machine does at once.
    runs: Floats
    compute: Floats
    latency: Floats
    link: Floats


def read_programs(
    document: TomlDocument, table: object, nodes: Mapping[str, Node]
) -> Mapping[str, DesignProgram]:
    """The programs by workload name, ``program.NAME``.

    Raises AssayError with file, line and fix.
    """
    found: dict[str, DesignProgram] = {}
    reader = FigureReader(document)
    for index, one in enumerate(document.read(["program"], table, list[WrittenProgram])):
        path: list[str | int] = ["program", index]
        if PROGRAM + one.name in found or not one.name:
            raise document.error(
                [*path, "name"], f"There are two programs '{one.name}'.", "Rename one of them."
            )
        if one.node not in nodes:
            raise document.error(
                [*path, "node"], f"No catalogue has '{one.node}'.", nearest(one.node, nodes)
            )
        if not 1 <= one.ranks <= _MOST_RANKS or not 0.0 <= one.messages < 1e18:
            key = "messages" if 1 <= one.ranks <= _MOST_RANKS else "ranks"
            raise document.error(
                [*path, key],
                f"'{key}' can't be {getattr(one, key)}.",
                "Write the number of ranks of the run, at least 1."
                if key == "ranks"
                else "Write the number of messages that each rank sent, 0 or more.",
            )
        share = read_share(document, [*path, "memory"], one.memory)
        if share > 1.0:
            raise document.error(
                [*path, "memory"], "'memory' must be a share.", "Write 0% to 100%."
            )
        node = nodes[one.node]
        found[PROGRAM + one.name] = DesignProgram(
            ranks=one.ranks,
            computing=reader.figure([*path, "computing"], one.computing, "s", Origin()).value,
            messages=one.messages,
            bytes=reader.figure([*path, "bytes"], one.bytes, "B", Origin(), zero=True).value,
            memory=share,
            dgemm=node.dgemm.value / node.cores,
            bandwidth=node.bandwidth.value / node.cores,
        )
    return found


class MeasuredCore(Protocol):
    """A core of the measured machine and the share of its run time that memory bounds."""

    @property
    def memory(self) -> float:
        """The memory-bound share of the run time."""

    @property
    def dgemm(self) -> float:
        """flop/s."""

    @property
    def bandwidth(self) -> float:
        """B/s."""


def slowdown(measured: MeasuredCore, *, cores: Floats, dgemm: Floats, bandwidth: Floats) -> Floats:
    """Run time on a core of a node ÷ run time on the measured core.

    ``cores``, ``dgemm`` (flop/s) and ``bandwidth`` (B/s) describe the whole node.
    """
    compute = (1.0 - measured.memory) * measured.dgemm * cores / dgemm
    return np.asarray(compute + measured.memory * measured.bandwidth * cores / bandwidth)


def program_parts(
    program: DesignProgram,
    *,
    nodes: Floats,
    cores: Floats,
    dgemm: Floats,
    bandwidth: Floats,
    link: Floats,
    latency: Floats,
) -> ProgramParts:
    """Runs on nodes with one rank per core.

    They are the maximum number of runs at once or, if none fits, one run that takes longer.
    ``cores``, ``dgemm``, ``bandwidth`` and ``link`` describe a node. A core's speed relative to the
    profiled core follows from its share of DGEMM and of memory bandwidth.
    """
    needed = np.ceil(program.ranks / cores)
    beside = np.minimum(cores, program.ranks)
    slower = slowdown(program, cores=cores, dgemm=dgemm, bandwidth=bandwidth)
    several = needed > 1.0
    return ProgramParts(
        runs=np.where(nodes >= needed, np.floor(nodes / needed), nodes / needed),
        compute=program.computing * slower,
        latency=np.where(several, program.messages * latency, 0.0),
        link=np.where(several, program.bytes * beside / link, 0.0),
    )
