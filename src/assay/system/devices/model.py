"""One accelerator and its state. Unknown values are None, never 0."""

from __future__ import annotations

from typing import Literal

import msgspec

#: Where the state of a device comes from: NVIDIA's management library, ROCm SMI beside the files
#: of the driver, these files alone, or the PCI bus alone.
DeviceSource = Literal["nvml", "rocm_smi", "sysfs", "pci"]


class DeviceUser(msgspec.Struct, frozen=True, kw_only=True):
    """A process that uses a device."""

    pid: int
    #: Name by the kernel; None in another container.
    name: str | None = None
    #: Bytes of the device's memory that it uses.
    memory: int | None = None


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """An accelerator and its state at one moment."""

    #: ``0000:3b:00.0``: domain, bus, device and function, in lower case.
    address: str
    source: DeviceSource = "pci"
    #: Why its state is not known, as a sentence, and what brings the missing library.
    problem: str | None = None
    fix: str | None = None
    #: Whether the driver has lost it: it answers no request until it is reset.
    lost: bool = False
    vendor: str | None = None
    name: str | None = None
    #: The identifier that the vendor gives it.
    uuid: str | None = None
    #: Vendor and device by PCI, ``10de:2335``.
    identity: str | None = None
    #: NUMA node of its slot, and hardware threads near it.
    numa: int | None = None
    cpus: list[int] = []
    #: ``memory``, ``memory_used``: bytes.
    memory: int | None = None
    memory_used: int | None = None
    #: ``driver``, ``firmware`` (VBIOS), ``library``: versions.
    driver: str | None = None
    firmware: str | None = None
    library: str | None = None
    #: PCI Express: generation and lanes now, and the greatest of device and slot.
    link_generation: int | None = None
    link_generation_most: int | None = None
    link_width: int | None = None
    link_width_most: int | None = None
    #: Clocks of the multiprocessors and of the memory: now, the greatest, and the one that
    #: applications get, Hz.
    clock: float | None = None
    clock_most: float | None = None
    clock_application: float | None = None
    memory_clock: float | None = None
    memory_clock_most: float | None = None
    memory_clock_application: float | None = None
    #: Power now, its limit, and the limit that the device comes with, W.
    power: float | None = None
    power_limit: float | None = None
    power_limit_default: float | None = None
    #: °C, as for processors; ``temperature_slow``: where it lowers its clock.
    temperature: float | None = None
    temperature_slow: float | None = None
    #: What lowers its clock now, by the names in ``throttling.py``; None if unknown.
    throttle: list[str] | None = None
    #: Whether errors of its memory are corrected, and errors since the driver was loaded.
    ecc: bool | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    #: The same over the life of the device.
    ecc_corrected_ever: int | None = None
    ecc_uncorrected_ever: int | None = None
    #: Pages of memory that are no longer used, and rows that others replaced.
    retired_pages: int | None = None
    remapped_rows: int | None = None
    #: Whether a page or row waits for a reset, and whether a replacement failed.
    repair_pending: bool | None = None
    repair_failed: bool | None = None
    #: Numbers of its errors (XID) in the kernel's log; None if the log can't be read.
    xids: list[int] | None = None
    #: Whether it is divided into instances (MIG).
    mig: bool | None = None
    #: Whether the driver keeps it ready without users.
    persistence: bool | None = None
    #: default, exclusive thread, prohibited or exclusive process.
    compute_mode: str | None = None
    #: Links to other devices (NVLink, XGMI) that it has, and those that are up.
    links: int | None = None
    links_up: int | None = None
    #: Processes that use it; None if unknown.
    users: list[DeviceUser] | None = None
