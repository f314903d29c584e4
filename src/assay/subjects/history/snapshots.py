"""Differences of a machine and its toolchains before and after a change of its results.

A manifest holds the machine's properties at the start of its run. The snapshots of the runs before
and after a change are compared. A property that had one value in all runs before and another in all
runs after coincides with the change; this does not prove that it is the cause. A property that also
varies at other times is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.units import format_memory, format_quantity

# Facts of a manifest that are not compared, because they vary from run to run or describe the run.
_VOLATILE = {
    "schema",
    "os.uptime",
    "os.load",
    "memory.available",
    "memory.swap_free",
    "memory.huge_pages_free",
    "processor.throttled",
    "processor.frequency.current",
    "virtualisation.steal",
    "limits.throttled",
    "scheduler.job",
    "scheduler.nodes",
}
# What changes with a device's load, its errors and its library; the rest is its setup.
_STATE_OF_DEVICES = {
    *("memory_used", "link_generation", "clock", "memory_clock", "power", "temperature"),
    *("throttle", "ecc_corrected", "ecc_uncorrected", "ecc_corrected_ever"),
    *("ecc_uncorrected_ever", "xids", "source", "problem", "fix"),
}
_NAMES = {
    "assay": "assay",
    "hosts": "hosts",
    "os.kernel": "kernel",
    "os.name": "operating system",
    "os.hostname": "host",
    "os.clock_source": "clock source",
    "os.aslr": "address space randomisation",
    "processor.name": "processor",
    "processor.microcode": "microcode",
    "processor.frequency.governors": "frequency governor",
    "processor.frequency.limit": "frequency limit",
    "processor.frequency.turbo": "turbo",
    "processor.cores": "cores",
    "processor.threads": "hardware threads",
    "memory.total": "memory",
    "memory.transparent": "transparent huge pages",
    "memory.numa_balancing": "NUMA balancing",
    "firmware": "firmware",
    "limits.quota": "CPU quota",
    "virtualisation.hypervisor": "hypervisor",
    "scheduler.version": "scheduler's version",
}
_OF_TOOLCHAIN = {
    "mpi_version": "MPI",
    "mpi_flavour": "kind of MPI",
    "cxx_version": "compiler",
    "flags": "compiler flags",
    "blas.name": "BLAS",
    "blas.version": "BLAS",
    "launcher": "launcher",
    "launch_flags": "launch flags",
}
_BYTES = {"total", "size", "memory", "shared", "swap_total", "page"}
_HERTZ = {"minimum", "maximum", "base", "limit"}
_LONGEST = 60

Snapshot = Mapping[str, str]


@dataclass(frozen=True)
class SystemDifference:
    """A property that changed together with a result."""

    #: Name of the property.
    fact: str
    #: Path of the property in the manifest.
    path: str
    #: ``before``, ``after``: values of the property; null if it was missing.
    before: str | None
    after: str | None
    #: Whether it had one value in all compared runs before the change and another in all runs after
    #: it, and changed once in between. If not, it also varies at other times.
    coincides: bool


def snapshot(
    system: Mapping[str, object],
    toolchain: Mapping[str, object] | None,
    *,
    assay: str,
    hosts: str = "",
) -> Snapshot:
    """The facts of a run's manifest by their paths, as text that can be compared.

    ``toolchain``: the toolchain of the cell; ``hosts``: the hosts that it ran on.
    """
    found = dict(_flat("", system))
    found |= {f"toolchain.{path}": text for path, text in _flat("", toolchain or {})}
    found = {path: text for path, text in found.items() if not _is_volatile(path)}
    return found | {"assay": assay} | ({"hosts": hosts} if hosts else {})


def differences(
    before: Sequence[Snapshot], between: Sequence[Snapshot], after: Sequence[Snapshot]
) -> list[SystemDifference]:
    """Differences between the runs immediately before and after a change.

    ``between``: runs that may be before or after the change. Differences that coincide come first.
    """
    if not before or not after:
        return []
    last, first = before[-1], after[0]
    found = []
    for path in sorted({*last, *first}):
        old, new = last.get(path), first.get(path)
        if old == new:
            continue
        inner = [each.get(path) for each in between]
        switches = sum(a != b for a, b in zip([old, *inner], [*inner, new], strict=True))
        steady = (
            all(each.get(path) == old for each in before)
            and all(each.get(path) == new for each in after)
            and switches == 1
        )
        found.append(SystemDifference(fact_name(path), path, old, new, steady))
    return sorted(found, key=lambda each: (not each.coincides, each.path))


def difference_text(difference: SystemDifference) -> str:
    """``kernel 6.1.0 → 6.1.12``."""
    before = "none" if difference.before is None else _short(difference.before)
    after = "none" if difference.after is None else _short(difference.after)
    return f"{difference.fact} {before} → {after}"


def fact_name(path: str) -> str:
    """The name of a fact."""
    if path in _NAMES:
        return _NAMES[path]
    head, _, rest = path.partition(".")
    if head == "toolchain":
        return _OF_TOOLCHAIN.get(rest, f"toolchain's {_words(rest)}")
    if head == "tuning":
        return rest
    return _words(path)


def _words(path: str) -> str:
    return path.replace(".", " ").replace("_", " ")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _is_volatile(path: str) -> bool:
    if path.startswith("devices."):
        return ".users" in path or path.rpartition(".")[2] in _STATE_OF_DEVICES
    return path in _VOLATILE or (path.startswith("memory.nodes.") and path.endswith(".free"))


def _flat(path: str, value: object) -> list[tuple[str, str]]:
    """All facts below ``path`` except missing ones."""
    if value is None or value == "" or value == [] or value == {}:
        return []
    if isinstance(value, Mapping):
        return [
            fact
            for name, each in value.items()
            for fact in _flat(f"{path}.{name}" if path else str(name), each)
        ]
    if isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value):
        named = [(_name_of(each, place), each) for place, each in enumerate(value)]
        return [fact for name, each in named for fact in _flat(f"{path}.{name}", each)]
    return [(path, _text(path.rpartition(".")[2], value))]


def _name_of(part: Mapping[str, object], place: int) -> str:
    """The name of an entry of a list, independent of the entries' order if possible."""
    if "address" in part:  # devices of one name
        return str(part["address"])
    if "name" in part:
        return str(part["name"])
    if "level" in part:
        return f"L{part['level']} {part.get('kind') or ''}".rstrip()
    return str(part.get("id", place))


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        if name in _BYTES:
            return format_memory(value)
        return format_quantity(value, "Hz" if name in _HERTZ else "")
    if isinstance(value, list | tuple):
        return ", ".join(_text(name, each) for each in value)
    return str(value)
