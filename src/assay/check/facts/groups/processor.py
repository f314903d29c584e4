"""Processors: model, sockets, CPUs that are present and online, microcode."""

from __future__ import annotations

import os
from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree, fields, to_integer

_CPU = "/sys/devices/system/cpu"
# The blocks of /proc/cpuinfo are some 1.5 kB; the first says what all share.
_FIRST_BLOCKS = 16384
_LOOK = "check processor"
#: The fact that the node is a virtual machine: its host may slow it at any time.
VIRTUAL = "cpu.virtual"


def facts(tree: Tree) -> Iterator[Fact]:
    """Model, whether it is virtual, sockets, CPUs, threads per core, microcode."""
    first = _first_block(tree)
    yield Fact(name="cpu.model", value=_model(first), look_at=_LOOK)
    flags = first.get("flags")
    if flags is not None:
        yield Fact(name=VIRTUAL, value="hypervisor" in flags.split(), rule="shown")
    online = tree.cpus(f"{_CPU}/online")
    present = tree.cpus(f"{_CPU}/present")
    yield Fact(
        name="cpu.present",
        value=None if present is None else len(present),
        rule="not below",
        look_at=_LOOK,
    )
    yield Fact(
        name="cpu.online",
        value=None if online is None else len(online),
        rule="not below",
        look_at="check CPUs offline",
    )
    packages = {
        tree.integer(f"{_CPU}/cpu{cpu}/topology/physical_package_id") for cpu in online or []
    } - {None, -1}
    if packages:
        yield Fact(name="cpu.sockets", value=len(packages), look_at=_LOOK)
    threads = tree.integer(f"{_CPU}/smt/active")
    if threads is not None:
        yield Fact(name="cpu.smt", value=threads == 1, look_at="check BIOS settings")
    microcode = tree.word(f"{_CPU}/cpu0/microcode/version") or first.get("microcode")
    number = to_integer(microcode)
    if microcode:
        yield Fact(
            name="version.microcode",
            value=microcode if number is None else f"{number:#x}",
            look_at="check microcode",
        )


def _first_block(tree: Tree) -> dict[str, str]:
    """The first lines of /proc/cpuinfo; the rest takes long on nodes with many CPUs."""
    try:
        file = os.open(tree.path("/proc/cpuinfo"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return {}
    try:
        return fields(os.read(file, _FIRST_BLOCKS).decode("utf-8", "replace"))
    except OSError:
        return {}
    finally:
        os.close(file)


def _model(first: dict[str, str]) -> str | None:
    name = first.get("model name") or first.get("cpu")
    if name:
        return " ".join(name.split())
    # Arm processors state numbers: MIDR_EL1.Implementer and PartNum.
    maker, part = first.get("CPU implementer"), first.get("CPU part")
    return f"Arm {maker} {part}" if maker and part else None
