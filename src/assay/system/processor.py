"""Detection of the processors: vendor, number, topology, vectors, clock, caches."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping

from assay.reference.microarchitectures import identify
from assay.system.energy import energy_readable
from assay.system.files import Tree, fields, to_cpus, to_integer, to_number
from assay.system.model import Cache, Frequency, Processor

_CPU = "/sys/devices/system/cpu"

# Vector extensions that are reported, by the kernel's flag, with the bits of their vectors of
# doubles (None: the flag implies no width). avx512f is the part of AVX-512 that has the doubles.
_VECTORS: dict[str, int | None] = {
    "sse2": 128,
    "sse4_2": 128,
    "avx": 256,
    "fma": None,
    "fma4": None,
    "avx2": 256,
    "avx512f": 512,
    "amx_tile": None,
    "neon": None,
    "asimd": 128,
    "sve": None,
    "sve2": None,
}

# MIDR_EL1.Implementer codes (Arm Architecture Reference Manual for A-profile, "MIDR_EL1").
_IMPLEMENTERS = {
    0x41: "ARM",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x61: "Apple",
    0xC0: "Ampere",
}


def detect_processor(tree: Tree) -> Processor:
    """All facts about the processors."""
    blocks = cpuinfo_blocks(tree.text("/proc/cpuinfo"))
    # On Arm the facts of a core may be in a separate block without a "processor" line.
    first: dict[str, str] = {}
    for block in blocks[:2]:
        first = {**block, **first}
    online = online_threads(tree, blocks)
    siblings, sockets = _arrangement(tree, blocks, online)
    arm = "CPU implementer" in first
    vendor, name, family, model, stepping = _identity(first, arm)
    flags = set((first.get("flags") or first.get("Features") or "").split())
    vectors = [v for v in _VECTORS if v in flags]
    entry = identify(vendor, family, model, name)
    return Processor(
        vendor=vendor,
        name=name,
        family=family,
        model=model,
        stepping=stepping,
        microcode=first.get("microcode") or None,
        microarchitecture=entry.name if entry else None,
        architecture=_architecture(tree, first, arm),
        sockets=sockets,
        cores=len(siblings) or None,
        threads=len(online) or None,
        threads_per_core=max((len(s) for s in siblings), default=None),
        siblings=siblings,
        hybrid=_hybrid(tree, blocks),
        vectors=vectors,
        vector_bits=_vector_bits(tree, vectors),
        fma=(bool(flags & {"fma", "fma4", "asimd"}) if flags else None),
        constant_tsc=({"constant_tsc", "nonstop_tsc"} <= flags) if flags and not arm else None,
        throttled=throttle_count(tree, online),
        energy_readable=energy_readable(tree),
        frequency=_frequency(tree, online, blocks, name),
        caches=_caches(tree, online),
    )


def cpuinfo_blocks(text: str | None) -> list[dict[str, str]]:
    """The blocks of /proc/cpuinfo, each as a mapping."""
    blocks = [fields(block) for block in re.split(r"\n[ \t]*\n", text or "")]
    return [block for block in blocks if block]


def online_threads(tree: Tree, blocks: Iterable[Mapping[str, str]]) -> list[int]:
    """The numbers of the hardware threads that are online; empty if unknown."""
    online = tree.cpus(f"{_CPU}/online")
    if online is None:
        numbers = (to_integer(block.get("processor")) for block in blocks)
        online = sorted({n for n in numbers if n is not None and n >= 0})
    return online


def _identity(
    first: Mapping[str, str], arm: bool
) -> tuple[str | None, str | None, int | None, int | None, int | None]:
    if arm:
        code = to_integer(first.get("CPU implementer"))
        vendor = None if code is None else _IMPLEMENTERS.get(code, f"implementer {code:#x}")
        part, revision = to_integer(first.get("CPU part")), to_integer(first.get("CPU revision"))
        return vendor, first.get("model name") or None, None, part, revision
    name = first.get("model name") or first.get("cpu")
    return (
        first.get("vendor_id") or ("IBM" if (name or "").startswith("POWER") else None),
        " ".join(name.split()) if name else None,
        to_integer(first.get("cpu family")),
        to_integer(first.get("model")),
        to_integer(first.get("stepping")),
    )


def _architecture(tree: Tree, first: Mapping[str, str], arm: bool) -> str | None:
    reported = tree.word("/proc/sys/kernel/arch")
    if reported or tree.live:
        return reported or platform.machine() or None
    if arm:
        return "aarch64"
    return "x86_64" if "lm" in first.get("flags", "").split() else None


def _arrangement(
    tree: Tree, blocks: Iterable[Mapping[str, str]], online: Iterable[int]
) -> tuple[list[list[int]], int | None]:
    """The hardware threads of each core, and the number of sockets."""
    cores: dict[tuple[int, ...], None] = {}
    packages: set[int] = set()
    for cpu in online:
        folder = f"{_CPU}/cpu{cpu}/topology"
        listed = tree.cpus(f"{folder}/core_cpus_list")
        if listed is None:
            listed = tree.cpus(f"{folder}/thread_siblings_list")
        if listed and cpu in listed:
            cores[tuple(listed)] = None
        package = tree.integer(f"{folder}/physical_package_id")
        if package is not None and package >= 0:
            packages.add(package)
    if not cores:
        cores, packages = _arrangement_of_cpuinfo(blocks)
    return [list(core) for core in cores], len(packages) or None


def _arrangement_of_cpuinfo(
    blocks: Iterable[Mapping[str, str]],
) -> tuple[dict[tuple[int, ...], None], set[int]]:
    cores: dict[tuple[int, int], list[int]] = {}
    packages: set[int] = set()
    for block in blocks:
        cpu, core, package = (
            to_integer(block.get(key)) for key in ("processor", "core id", "physical id")
        )
        if package is not None:
            packages.add(package)
        if cpu is not None and core is not None:
            cores.setdefault((package or 0, core), []).append(cpu)
    return {tuple(sorted(cpus)): None for cpus in cores.values()}, packages


def _hybrid(tree: Tree, blocks: Iterable[Mapping[str, str]]) -> bool | None:
    """Whether cores differ in kind: two Intel performance monitors, or several Arm part numbers."""
    if tree.exists("/sys/devices/cpu_atom") and tree.exists("/sys/devices/cpu_core"):
        return True
    parts = {block["CPU part"] for block in blocks if "CPU part" in block}
    if parts:
        return len(parts) > 1
    return False if blocks else None


def _vector_bits(tree: Tree, vectors: Iterable[str]) -> int | None:
    widths = [bits for v in vectors if (bits := _VECTORS[v]) is not None]
    if "sve" in vectors:
        length = tree.integer("/proc/sys/abi/sve_default_vector_length")
        if length is not None and 16 <= length <= 256:
            widths.append(8 * length)
    return max(widths, default=None)


def throttle_count(tree: Tree, online: Iterable[int]) -> int | None:
    """Thermal throttling events of these hardware threads since boot, of cores and packages."""
    counts = [
        count
        for cpu in online
        for kind in ("core", "package")
        if (count := tree.integer(f"{_CPU}/cpu{cpu}/thermal_throttle/{kind}_throttle_count"))
        is not None
    ]
    return sum(counts) if counts else None


def _frequency(
    tree: Tree, online: list[int], blocks: Iterable[Mapping[str, str]], name: str | None
) -> Frequency:
    def hertz(file: str, unit: float) -> list[float]:
        found = (tree.integer(f"{_CPU}/cpu{cpu}/{file}") for cpu in online)
        return [value * unit for value in found if value is not None and value > 0]

    def words(file: str) -> list[str]:
        found = {tree.word(f"{_CPU}/cpu{cpu}/cpufreq/{file}") for cpu in online}
        return sorted(word for word in found if word)

    current = [
        value * 1e6
        for block in blocks
        if (value := to_number(block.get("cpu MHz") or block.get("clock", "").removesuffix("MHz")))
    ]
    base = hertz("cpufreq/base_frequency", 1e3) or hertz("acpi_cppc/nominal_freq", 1e6)
    if not base and name and (match := re.search(r"@\s*(\d{1,2}\.\d{1,3})\s*GHz", name, re.ASCII)):
        base = [float(match[1]) * 1e9]
    preferences = words("energy_performance_preference")
    drivers = words("scaling_driver")
    return Frequency(
        minimum=min(hertz("cpufreq/cpuinfo_min_freq", 1e3), default=None),
        maximum=max(hertz("cpufreq/cpuinfo_max_freq", 1e3), default=None),
        base=max(base, default=None),
        limit=max(hertz("cpufreq/scaling_max_freq", 1e3), default=None),
        current=sum(current) / len(current) if current else None,
        governors=words("scaling_governor"),
        driver=drivers[0] if drivers else None,
        preference="/".join(preferences) or None,
        turbo=_turbo(tree),
    )


def _turbo(tree: Tree) -> bool | None:
    no_turbo = tree.integer(f"{_CPU}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = tree.integer(f"{_CPU}/cpufreq/boost")
    return None if boost is None else boost != 0


def _caches(tree: Tree, online: Iterable[int]) -> list[Cache]:
    """One entry per level, kind and size; instances differ in the CPUs that share them."""
    instances: dict[tuple[int, str, int, int, int], set[tuple[int, ...]]] = {}
    seen: set[tuple[str, tuple[int, ...]]] = set()
    for cpu in online:
        folder = f"{_CPU}/cpu{cpu}/cache"
        for index in tree.names(folder):
            if not index.startswith("index"):
                continue
            shared = tuple(to_cpus(tree.word(f"{folder}/{index}/shared_cpu_list")) or ())
            if shared and (index, shared) in seen:
                continue  # read already, through another thread that shares it
            seen.add((index, shared))
            level = tree.integer(f"{folder}/{index}/level")
            if level is None or level < 1:
                continue
            key = (
                level,
                (tree.word(f"{folder}/{index}/type") or "").lower(),
                to_bytes(tree.word(f"{folder}/{index}/size")) or 0,
                tree.integer(f"{folder}/{index}/coherency_line_size") or 0,
                tree.integer(f"{folder}/{index}/ways_of_associativity") or 0,
            )
            instances.setdefault(key, set()).add(shared)
    found = []
    for (level, kind, size, line, ways), shares in sorted(instances.items()):
        known = () not in shares
        found.append(
            Cache(
                level=level,
                kind=kind or None,
                size=size or None,
                line=line or None,
                ways=ways or None,
                shared_by=max(len(s) for s in shares) if known else None,
                count=len(shares) if known else None,
            )
        )
    return found


def to_bytes(text: str | None) -> int | None:
    """A size in the kernel's notation: ``48K`` is 49152."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)", (text or "").strip(), re.ASCII)
    if match is None:
        return None
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]
