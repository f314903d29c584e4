"""Binds a rank of the site's program to the CPUs that a rank of the kernels would have.

``python -I -S seat.py PPN THREADS BINDING SMT PROGRAM ARGUMENT …`` is started by the MPI's launcher
in place of each rank, and becomes the program. The CPUs are chosen as in
native/harness/topology.cpp. If a node has fewer CPUs than ranks × threads, nothing is bound there
either. OpenMP's places are the rank's CPUs.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

# The number of a rank within its node, as launchers set it.
_LOCAL_RANK = (
    "MPI_LOCALRANKID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "SLURM_LOCALID",
    "PALS_LOCAL_RANKID",
)
_SYS = "/sys/devices/system/cpu"
CANNOT_START = 127


class Cpu(NamedTuple):
    """A CPU, in the order of pinning: ``sibling`` is its number among the CPUs of its core."""

    sibling: int
    package: int
    numa: int
    core: int
    id: int


def cpus_of_slots(cpus: list[Cpu], ranks: int, threads: int, binding: str, smt: str) -> list[int]:
    """The CPU of each thread of a node, rank after rank; empty where nothing is bound."""
    slots, ordered = ranks * threads, sorted(cpus)
    if binding == "none" or slots > len(ordered):
        return []
    if binding == "per-numa":
        nodes = sorted({cpu.numa for cpu in ordered})
        given: list[int] = []
        for place, node in enumerate(nodes):
            here = sum(rank * len(nodes) // ranks == place for rank in range(ranks))
            own = [cpu for cpu in ordered if cpu.numa == node]
            given += cpus_of_slots(own, here, threads, "compact", smt) if here else []
        return given if len(given) == slots else []
    if binding.startswith("numa:"):
        ordered = [cpu for cpu in ordered if cpu.numa == int(binding.partition(":")[2])]
        if slots > len(ordered):
            return []
    spread = binding == "spread"
    if smt == "on":
        return _on_shared_cores(ordered, slots, spread)
    cores = sum(cpu.sibling == ordered[0].sibling for cpu in ordered)
    return [
        ordered[slot * cores // slots if spread and slots <= cores else slot].id
        for slot in range(slots)
    ]


def _on_shared_cores(ordered: list[Cpu], slots: int, spread: bool) -> list[int]:
    """All hardware threads of the fewest cores: the first cores, or cores at equal distances."""
    by_core: dict[tuple[int, int, int], list[int]] = {}
    for cpu in ordered:
        by_core.setdefault((cpu.package, cpu.numa, cpu.core), []).append(cpu.id)
    cores = [by_core[key] for key in sorted(by_core)]
    given: list[int] = []
    used = 0
    while len(given) < slots:
        used += 1
        chosen = [cores[i * len(cores) // used if spread else i] for i in range(used)]
        given = [cpu for core in chosen for cpu in core]
    return given[:slots]


def read_cpus(allowed: set[int]) -> list[Cpu]:
    """The CPUs of this machine that may be used, with their positions."""
    found = []
    for cpu in sorted(allowed):
        topology = f"{_SYS}/cpu{cpu}/topology"
        siblings = [c for c in _list(f"{topology}/thread_siblings_list") if c in allowed] or [cpu]
        found.append(
            Cpu(
                siblings.index(cpu) if cpu in siblings else 0,
                _number(f"{topology}/physical_package_id", 0),
                _numa(cpu),
                _number(f"{topology}/core_id", cpu),
                cpu,
            )
        )
    return found


def _numa(cpu: int) -> int:
    try:
        names = os.listdir(f"{_SYS}/cpu{cpu}")  # noqa: PTH208
    except OSError:
        return 0
    return next((int(n[4:]) for n in names if n.startswith("node") and n[4:].isdecimal()), 0)


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.readline().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _number(path: str, otherwise: int) -> int:
    text = _text(path)
    return int(text) if text.isdecimal() else otherwise


def _list(path: str) -> list[int]:
    found: list[int] = []
    for part in filter(None, _text(path).split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def main(words: list[str]) -> None:
    """Bind this process and become the program."""
    ranks, threads, binding, smt = int(words[0]), int(words[1]), words[2], words[3]
    program = words[4:]
    local = next((os.environ[name] for name in _LOCAL_RANK if name in os.environ), "0")
    if ranks > 1 and not any(name in os.environ for name in _LOCAL_RANK):
        sys.exit("the launcher does not give a rank its number within its node")
    given = cpus_of_slots(read_cpus(os.sched_getaffinity(0)), ranks, threads, binding, smt)
    own = given[int(local) * threads : (int(local) + 1) * threads]
    if own:
        os.sched_setaffinity(0, own)
        os.environ["OMP_PLACES"] = ",".join(f"{{{cpu}}}" for cpu in own)
        os.environ["OMP_PROC_BIND"] = "close"
    try:
        os.execv(program[0], program)
    except OSError as error:
        sys.stderr.write(f"{program[0]}: {error.strerror}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(sys.argv[1:])
