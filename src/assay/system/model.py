"""The facts of a machine. Every field is documented with its unit; unknown facts are None.

Stored values are SI base units: bytes, hertz, seconds, bytes per second.
"""

from __future__ import annotations

import msgspec

from assay.system.devices.model import Device

SYSTEM_SCHEMA = 1


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """All caches of one level, kind and size."""

    #: 1 is closest to the core.
    level: int
    #: Data, instruction or unified.
    kind: str | None = None
    #: Bytes of one instance.
    size: int | None = None
    #: Bytes of a line.
    line: int | None = None
    #: Associativity, a count.
    ways: int | None = None
    #: Hardware threads that share one instance, a count.
    shared_by: int | None = None
    #: Instances in the machine.
    count: int | None = None


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """One NUMA node."""

    #: The kernel's number.
    id: int
    #: Kernel's numbers of its hardware threads.
    cpus: list[int] = []
    #: Bytes that belong to it.
    memory: int | None = None
    #: Free bytes.
    free: int | None = None
    #: The firmware's relative cost of reaching each node, in the order of the ids, 10 being local
    #: (no unit).
    distances: list[int] = []


class Frequency(msgspec.Struct, frozen=True, kw_only=True):
    """The core clock and how the kernel controls it."""

    #: ``minimum``, ``maximum``: Hz, the hardware's range, turbo included.
    minimum: float | None = None
    maximum: float | None = None
    #: Nominal clock without turbo, Hz.
    base: float | None = None
    #: Highest clock that the kernel may choose, Hz.
    limit: float | None = None
    #: Mean clock over the hardware threads at the time of detection, Hz.
    current: float | None = None
    #: Names of the governors in use (several if cores differ).
    governors: list[str] = []
    #: The kernel's frequency driver.
    driver: str | None = None
    #: The energy/performance preference.
    preference: str | None = None
    #: Whether turbo (boost) is allowed.
    turbo: bool | None = None


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """The processors."""

    #: Vendor as the processor names itself, or Arm's implementer.
    vendor: str | None = None
    #: The marketing name.
    name: str | None = None
    #: ``family``, ``model``, ``stepping``: the processor's own numbers (Arm: ``model`` is the part
    #: number).
    family: int | None = None
    model: int | None = None
    stepping: int | None = None
    #: Revision of the microcode (x86).
    microcode: str | None = None
    #: Microarchitecture by assay's table.
    microarchitecture: str | None = None
    #: The instruction set, such as x86_64.
    architecture: str | None = None
    #: Number of sockets.
    sockets: int | None = None
    #: Number of physical cores that are online.
    cores: int | None = None
    #: Number of hardware threads that are online.
    threads: int | None = None
    #: Number of hardware threads of a core.
    threads_per_core: int | None = None
    #: For each online core, the numbers of its hardware threads.
    siblings: list[list[int]] = []
    #: Whether cores are of several kinds.
    hybrid: bool | None = None
    #: Vector extensions that may be used.
    vectors: list[str] = []
    #: Bits of the widest vector of doubles.
    vector_bits: int | None = None
    #: Whether there is a fused multiply-add.
    fma: bool | None = None
    #: Whether the time stamp counter runs at a constant rate and in idle states (x86).
    constant_tsc: bool | None = None
    #: Thermal throttling events since boot, a count.
    throttled: int | None = None
    #: Whether this user may read the energy counters (RAPL); None if there are none.
    energy_readable: bool | None = None
    frequency: Frequency = Frequency()
    caches: list[Cache] = []


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Main memory."""

    #: Main memory in total, bytes.
    total: int | None = None
    #: Bytes that are available without swapping.
    available: int | None = None
    #: ``swap_total``, ``swap_free``: bytes.
    swap_total: int | None = None
    swap_free: int | None = None
    #: Bytes of a huge page.
    page: int | None = None
    #: ``huge_pages``, ``huge_pages_free``: reserved huge pages, counts.
    huge_pages: int | None = None
    huge_pages_free: int | None = None
    #: ``transparent``, ``defrag``: the mode of transparent huge pages (always, madvise, never) and
    #: of defragmentation for them.
    transparent: str | None = None
    defrag: str | None = None
    #: Whether the kernel moves pages between nodes.
    numa_balancing: bool | None = None
    #: Capacity of /dev/shm (MPI's shared memory), bytes.
    shared: int | None = None
    #: NUMA nodes.
    nodes: list[NumaNode] = []


class Virtualisation(msgspec.Struct, frozen=True, kw_only=True):
    """Virtual machine and container."""

    #: Whether this is a virtual machine.
    virtual: bool | None = None
    #: Name of the hypervisor.
    hypervisor: str | None = None
    #: Evidence for the hypervisor.
    evidence: list[str] = []
    #: Steal time as a share (0 to 1) of the CPU time since boot.
    steal: float | None = None
    #: The kind of container, None if none is detected.
    container: str | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on what this process may use."""

    #: Version of the control groups, 1 or 2.
    version: int | None = None
    #: CPU seconds per second (cgroup cpu.max), None if unlimited.
    quota: float | None = None
    #: Hardware threads its control group may use.
    cpuset: list[int] | None = None
    #: Hardware threads this process may run on.
    affinity: list[int] | None = None
    #: Bytes its control group may use, None if unlimited.
    memory: int | None = None
    #: Number of times that the quota stopped its control group.
    throttled: int | None = None
    #: Bytes it may lock in memory, None if unlimited or unknown.
    memlock: int | None = None


class OperatingSystem(msgspec.Struct, frozen=True, kw_only=True):
    """Kernel and distribution."""

    #: Name of the distribution.
    name: str | None = None
    #: Short name of the distribution, such as debian.
    identifier: str | None = None
    #: Release of the kernel.
    kernel: str | None = None
    #: Host name, as the kernel has it.
    hostname: str | None = None
    #: Seconds since boot.
    uptime: float | None = None
    #: Load averages over 1, 5 and 15 minutes (runnable tasks, a count).
    load: list[float] | None = None
    #: ``clock_source``, ``clock_sources``: the one in use and those available.
    clock_source: str | None = None
    clock_sources: list[str] = []
    #: Address space randomisation, 0 off, 1 partly, 2 fully.
    aslr: int | None = None
    #: Vulnerabilities of the processor, each with the kernel's mitigation.
    mitigations: dict[str, str] = {}
    #: Hardware threads kept free of other tasks at boot.
    isolated: list[int] = []


class Adapter(msgspec.Struct, frozen=True, kw_only=True):
    """One network adapter or one port of a fabric device."""

    #: Name by the kernel, such as eth0, or device and port, such as mlx5_0:1.
    name: str
    #: Ethernet, infiniband, omni-path, slingshot, virtual or loopback.
    kind: str | None = None
    #: Current speed in one direction, B/s.
    speed: float | None = None
    #: State by the kernel (up, down, active …).
    state: str | None = None
    #: Largest packet (MTU), bytes.
    mtu: int | None = None
    #: Kernel driver.
    driver: str | None = None
    #: NUMA node it is attached to.
    node: int | None = None
    #: The speed as the fabric reports it, as text.
    rate: str | None = None
    #: The device's firmware version.
    firmware: str | None = None
    #: Whether it belongs to a device (False for bridges, tunnels, the loopback).
    physical: bool | None = None
    #: The most that its PCI Express link carries in one direction, B/s. ``bus_width``: number of
    #: lanes; ``bus_rate``: transfers per second of a lane. All describe the link as negotiated.
    bus: float | None = None
    bus_width: int | None = None
    bus_rate: float | None = None


class Scheduler(msgspec.Struct, frozen=True, kw_only=True):
    """The batch system."""

    #: Name, such as Slurm.
    name: str
    #: Path of its command.
    command: str | None = None
    #: Version that this command reports.
    version: str | None = None
    #: Id of the allocation that this process runs in, None outside an allocation.
    job: str | None = None
    #: Nodes of that allocation, a count.
    nodes: int | None = None


class System(msgspec.Struct, frozen=True, kw_only=True):
    """The machine under test."""

    #: Version of this layout.
    schema: int = SYSTEM_SCHEMA
    processor: Processor = Processor()
    memory: Memory = Memory()
    virtualisation: Virtualisation = Virtualisation()
    limits: Limits = Limits()
    os: OperatingSystem = OperatingSystem()
    adapters: list[Adapter] = []
    #: Accelerators, with their state at the time of detection.
    devices: list[Device] = []
    #: Firmware of the machine (BIOS, UEFI).
    firmware: str | None = None
    #: Network file systems and those of common folders, by mount point: type and options.
    mounts: dict[str, str] = {}
    #: Batch system, None if none is found.
    scheduler: Scheduler | None = None
    #: Environment variables that tune MPI, OpenMP, BLAS or the C library, by name. The other fields
    #: are described by their types.
    tuning: dict[str, str] | None = None

    def to_dict(self) -> dict[str, object]:
        """Plain values, as stored in a run's manifest. Processes on devices are left out: they are
        other users', and gone when the run is read.
        """
        devices = [msgspec.structs.replace(device, users=None) for device in self.devices]
        plain: dict[str, object] = msgspec.to_builtins(
            msgspec.structs.replace(self, devices=devices)
        )
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
        """Like ``from_dict``, but None if another version of assay wrote it in another form."""
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

        A node without such a core is listed with 0. Empty if no nodes are known.
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
        """Total bytes of all caches of the highest level; None if unknown."""
        known = [c for c in self.processor.caches if c.size and c.kind != "instruction"]
        last = max((cache.level for cache in known), default=0)
        return sum((c.size or 0) * (c.count or 1) for c in known if c.level == last) or None
