"""The facts of a machine. Every field is documented with its unit; unknown facts are None.

Stored values are SI base units: bytes, hertz, seconds, bytes per second.
"""

from __future__ import annotations

import msgspec

SYSTEM_SCHEMA = 1


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """All caches of one level, kind and size.

    ``level``: 1 is closest to the core. ``kind``: data, instruction or unified. ``size``: bytes of
    one instance. ``line``: bytes of a line. ``ways``: associativity, a count. ``shared_by``:
    hardware threads that share one instance, a count. ``count``: instances in the machine.
    """

    level: int
    kind: str | None = None
    size: int | None = None
    line: int | None = None
    ways: int | None = None
    shared_by: int | None = None
    count: int | None = None


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One NUMA node.

    ``id``: the kernel's number. ``cpus``: its hardware threads, by the kernel's numbers.
    ``memory``: bytes that belong to it. ``free``: bytes of it that are free. ``distances``: the
    firmware's relative cost of reaching each node, in the order of the ids, 10 being local (no
    unit).
    """

    id: int
    cpus: list[int] = []
    memory: int | None = None
    free: int | None = None
    distances: list[int] = []


class Frequency(msgspec.Struct, frozen=True, kw_only=True):
    """The core clock and how the kernel controls it.

    ``minimum``, ``maximum``: Hz, the hardware's range, turbo included. ``base``: Hz, the nominal
    clock without turbo. ``limit``: Hz, the highest that the kernel may choose. ``current``: Hz,
    mean over the hardware threads at the moment of detection. ``governors``: names in use (several
    if cores differ). ``driver``: the kernel's frequency driver. ``preference``: the
    energy/performance preference. ``turbo``: whether turbo (boost) is allowed.
    """

    minimum: float | None = None
    maximum: float | None = None
    base: float | None = None
    limit: float | None = None
    current: float | None = None
    governors: list[str] = []
    driver: str | None = None
    preference: str | None = None
    turbo: bool | None = None


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """The processors.

    ``vendor``: as the processor names itself, or ARM's implementer. ``name``: the marketing name.
    ``family``, ``model``, ``stepping``: the processor's own numbers (Arm: ``model`` is the part
    number). ``microcode``: its revision (x86). ``microarchitecture``: from assay's table.
    ``architecture``: the instruction set, such as x86_64. ``sockets``, ``cores`` (physical,
    online), ``threads`` (hardware threads, online): counts. ``threads_per_core``: count.
    ``siblings``: for each online core, the numbers of its hardware threads. ``hybrid``: whether
    cores are of several kinds. ``vectors``: vector extensions that may be used. ``vector_bits``:
    bits of the widest vector of doubles. ``fma``: whether there is a fused multiply-add.
    ``constant_tsc``: whether the time stamp counter runs at a constant rate and in idle states
    (x86). ``throttled``: thermal throttling events since boot, a count. ``energy_readable``:
    whether this user may read the energy counters (RAPL); None where there are none.
    """

    vendor: str | None = None
    name: str | None = None
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    microcode: str | None = None
    microarchitecture: str | None = None
    architecture: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    threads_per_core: int | None = None
    siblings: list[list[int]] = []
    hybrid: bool | None = None
    vectors: list[str] = []
    vector_bits: int | None = None
    fma: bool | None = None
    constant_tsc: bool | None = None
    throttled: int | None = None
    energy_readable: bool | None = None
    frequency: Frequency = Frequency()
    caches: list[Cache] = []


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Main memory.

    ``total``: bytes. ``available``: bytes that are available without swapping.
    ``swap_total``, ``swap_free``: bytes. ``page``: bytes of a huge page. ``huge_pages``,
    ``huge_pages_free``: reserved huge pages, counts. ``transparent``, ``defrag``: the mode of
    transparent huge pages (always, madvise, never) and of defragmentation for them.
    ``numa_balancing``: whether the kernel moves pages between nodes. ``shared``: capacity of
    /dev/shm (MPI's shared memory), bytes. ``nodes``: NUMA nodes.
    """

    total: int | None = None
    available: int | None = None
    swap_total: int | None = None
    swap_free: int | None = None
    page: int | None = None
    huge_pages: int | None = None
    huge_pages_free: int | None = None
    transparent: str | None = None
    defrag: str | None = None
    numa_balancing: bool | None = None
    shared: int | None = None
    nodes: list[NumaNode] = []


class Virtualisation(msgspec.Struct, frozen=True, kw_only=True):
    """Virtual machine and container.

    ``virtual``: whether this is a virtual machine. ``hypervisor``: its name. ``evidence``: the
    signs of it. ``steal``: steal time as a share (0 to 1) of the CPU time since boot.
    ``container``: the kind of container, None if none is detected.
    """

    virtual: bool | None = None
    hypervisor: str | None = None
    evidence: list[str] = []
    steal: float | None = None
    container: str | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on what this process may use.

    ``version``: control groups, 1 or 2. ``quota``: CPU seconds per second (cgroup cpu.max),
    None if unlimited. ``cpuset``: hardware threads its control group may use. ``affinity``:
    hardware threads this process may run on. ``memory``: bytes its control group may use, None if
    unlimited. ``throttled``: how often the quota stopped its control group, a count.
    ``memlock``: bytes it may lock in memory, None if unlimited or unknown.
    """

    version: int | None = None
    quota: float | None = None
    cpuset: list[int] | None = None
    affinity: list[int] | None = None
    memory: int | None = None
    throttled: int | None = None
    memlock: int | None = None


class OperatingSystem(msgspec.Struct, frozen=True, kw_only=True):
    """Kernel and distribution.

    ``name``: the distribution's. ``identifier``: its short name, such as debian. ``kernel``: the
    release. ``hostname``: the kernel's. ``uptime``: seconds since boot. ``load``: load
    averages over 1, 5 and 15 minutes (runnable tasks, a count). ``clock_source``,
    ``clock_sources``: the one in use and those available. ``aslr``: address space randomisation,
    0 off, 1 partly, 2 fully. ``mitigations``: vulnerabilities of the processor, each with the
    kernel's mitigation. ``isolated``: hardware threads kept free of other tasks at boot.
    """

    name: str | None = None
    identifier: str | None = None
    kernel: str | None = None
    hostname: str | None = None
    uptime: float | None = None
    load: list[float] | None = None
    clock_source: str | None = None
    clock_sources: list[str] = []
    aslr: int | None = None
    mitigations: dict[str, str] = {}
    isolated: list[int] = []


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """One network adapter or one port of a fabric device.

    ``name``: the kernel's, such as eth0, or device and port, such as mlx5_0:1. ``kind``: ethernet,
    infiniband, omni-path, slingshot, virtual or loopback. ``speed``: B/s in one direction, the
    current one. ``state``: as the kernel reports it (up, down, active …). ``mtu``: bytes.
    ``driver``: kernel driver. ``node``: NUMA node it is attached to. ``rate``: the speed as the
    fabric reports it, as text. ``firmware``: the device's firmware version. ``physical``: whether
    it belongs to a device (False for bridges, tunnels, the loopback). ``bus``: B/s that its PCI
    Express link carries at most in one direction, ``bus_width`` its lanes and ``bus_rate`` the
    transfers per second of a lane, all of the link as it was negotiated.
    """

    name: str
    kind: str | None = None
    speed: float | None = None
    state: str | None = None
    mtu: int | None = None
    driver: str | None = None
    node: int | None = None
    rate: str | None = None
    firmware: str | None = None
    physical: bool | None = None
    bus: float | None = None
    bus_width: int | None = None
    bus_rate: float | None = None


class Scheduler(msgspec.Struct, frozen=True, kw_only=True):
    """The batch system.

    ``name``: such as Slurm. ``command``: the path of its command. ``version``: as that command
    reports it. ``job``: the allocation this process runs in, None outside one.
    ``nodes``: nodes of that allocation, a count.
    """

    name: str
    command: str | None = None
    version: str | None = None
    job: str | None = None
    nodes: int | None = None


class System(msgspec.Struct, frozen=True, kw_only=True):
    """The machine under test.

    ``schema``: version of this layout. ``firmware``: the machine's (BIOS, UEFI).
    ``mounts``: network file systems and those of common folders, by mount point: type and options.
    ``scheduler``: None if none is found. ``tuning``: environment variables that tune MPI, OpenMP,
    BLAS or the C library, by name. The other fields are described by their types.
    """

    schema: int = SYSTEM_SCHEMA
    processor: Processor = Processor()
    memory: Memory = Memory()
    virtualisation: Virtualisation = Virtualisation()
    limits: Limits = Limits()
    os: OperatingSystem = OperatingSystem()
    adapters: list[Adapter] = []
    firmware: str | None = None
    mounts: dict[str, str] = {}
    scheduler: Scheduler | None = None
    tuning: dict[str, str] | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain values, as stored in a run's manifest."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, object]) -> System:
        """The inverse of ``to_dict``. Raises AssayError for another schema or an invalid value."""
        from assay.errors import AssayError

        found = plain.get("schema")
        if found != SYSTEM_SCHEMA:
            raise AssayError(
                f"The system's facts have schema {found!r}; this assay reads {SYSTEM_SCHEMA}.",
                fix="Read this run with the assay that wrote it.",
            )
        try:
            return msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise AssayError(
                f"The system's facts can't be read: {error}.",
                fix="Read this run with the assay that wrote it, or restore the file from a copy.",
            ) from None

    @classmethod
    def known(cls, plain: dict[str, object]) -> System | None:
        """As ``from_dict``; None where another version of assay wrote it in another form."""
        from assay.errors import AssayError

        try:
            return cls.from_dict(plain)
        except AssayError:
            return None

    @property
    def usable_threads(self) -> int | None:
        """Hardware threads that this process may run on: online, in its cpuset and its affinity."""
        for allowed in (self.limits.affinity, self.limits.cpuset):
            if allowed is not None:
                return len(allowed)
        return self.processor.threads

    @property
    def usable_cores(self) -> int | None:
        """Physical cores of which this process may use at least one hardware thread."""
        allowed = self.limits.affinity
        if allowed is None:
            allowed = self.limits.cpuset
        if allowed is None or not self.processor.siblings:
            return self.processor.cores
        return sum(1 for core in self.processor.siblings if set(core) & set(allowed))

    @property
    def usable_numa(self) -> dict[int, int]:
        """Physical cores that this process may use of each NUMA node, by the node's number.

        A node without such a core is listed with 0; empty where no nodes are known.
        """
        allowed = self.limits.affinity if self.limits.affinity is not None else self.limits.cpuset
        leads = {thread: min(core) for core in self.processor.siblings for thread in core}
        return {
            node.id: len(
                {leads.get(cpu, cpu) for cpu in node.cpus if allowed is None or cpu in allowed}
            )
            for node in self.memory.nodes
        }

    @property
    def last_level_caches(self) -> int | None:
        """Total bytes of all caches of the highest level; None where they aren't known."""
        known = [c for c in self.processor.caches if c.size and c.kind != "instruction"]
        last = max((cache.level for cache in known), default=0)
        return sum((c.size or 0) * (c.count or 1) for c in known if c.level == last) or None
