"""The state of NVIDIA's devices, by their management library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import c_void_p

import msgspec

from assay.system.devices.model import Device, DeviceUser
from assay.system.devices.nvml import DeviceIsLostError, Nvml
from assay.system.devices.pci_devices import plain_address
from assay.system.devices.throttling import COMPUTE_MODES, reasons
from assay.system.files import Tree

# nvmlClockType_t, nvmlTemperatureThresholds_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t.
_MULTIPROCESSORS, _MEMORY = 1, 2
_SLOWDOWN = 1
_CORRECTED, _UNCORRECTED = 0, 1
_SINCE_START, _EVER = 0, 1
_MEGA, _MILLI = 1e6, 1e-3


def read_nvml(tree: Tree, known: Mapping[str, Device]) -> dict[str, Device]:
    """The devices by address: those of ``known`` with their state, and others that the library
    shows. Raises NvmlError.
    """
    library = Nvml()
    try:
        versions = {
            "driver": library.version("DriverVersion"),
            "library": library.version("NVMLVersion"),
        }
        found: dict[str, Device] = {}
        for handle in library.devices():
            if handle is None:
                continue
            device = _read(library, handle, tree, known)
            if device is not None:
                found[device.address] = msgspec.structs.replace(device, **versions)
        for address in known.keys() - found.keys():
            if library.is_lost(address):
                lost = msgspec.structs.replace(known[address], source="nvml", lost=True)
                found[address] = msgspec.structs.replace(lost, **versions)
        return found
    finally:
        library.close()


def _read(
    library: Nvml, handle: c_void_p, tree: Tree, known: Mapping[str, Device]
) -> Device | None:
    try:
        address = library.address(handle)
    except DeviceIsLostError:
        return None  # known by its address on the bus, if at all
    if address is None:
        return None
    device = known.get(plain_address(address)) or Device(
        address=plain_address(address), vendor="NVIDIA"
    )
    device = msgspec.structs.replace(device, source="nvml")
    for part in _PARTS:
        try:
            read = {
                name: value for name, value in part(library, handle).items() if value is not None
            }
            device = msgspec.structs.replace(device, **read)
        except DeviceIsLostError:
            device = msgspec.structs.replace(device, lost=True)
    try:
        users = library.processes(handle)
    except DeviceIsLostError:
        return msgspec.structs.replace(device, lost=True)
    if users is None:
        return device
    return msgspec.structs.replace(device, users=[_user(tree, *each) for each in users])


def _user(tree: Tree, pid: int, memory: int | None) -> DeviceUser:
    return DeviceUser(pid=pid, name=tree.word(f"/proc/{pid}/comm"), memory=memory)


def _what(library: Nvml, device: c_void_p) -> dict[str, object]:
    memory = library.memory(device)
    return {
        "name": library.text(device, "Name"),
        "uuid": library.text(device, "UUID"),
        "firmware": library.text(device, "VbiosVersion"),
        "memory": memory[0] if memory else None,
        "memory_used": memory[1] if memory else None,
    }


def _link(library: Nvml, device: c_void_p) -> dict[str, object]:
    links = library.links(device)
    return {
        "link_generation": library.number(device, "CurrPcieLinkGeneration"),
        "link_generation_most": library.number(device, "MaxPcieLinkGeneration"),
        "link_width": library.number(device, "CurrPcieLinkWidth"),
        "link_width_most": library.number(device, "MaxPcieLinkWidth"),
        "links": links[0] if links else None,
        "links_up": links[1] if links else None,
    }


def _clocks(library: Nvml, device: c_void_p) -> dict[str, object]:
    found: dict[str, object] = {}
    for prefix, domain in (("", _MULTIPROCESSORS), ("memory_", _MEMORY)):
        for suffix, function in (
            ("", "ClockInfo"),
            ("_most", "MaxClockInfo"),
            ("_application", "ApplicationsClock"),
        ):
            value = library.number(device, function, domain)
            found[f"{prefix}clock{suffix}"] = value * _MEGA if value else None
    mask = library.large(device, "CurrentClocksEventReasons")
    if mask is None:
        mask = library.large(device, "CurrentClocksThrottleReasons")
    found["throttle"] = None if mask is None else reasons(mask)
    return found


def _heat(library: Nvml, device: c_void_p) -> dict[str, object]:
    watts = {
        "power": library.number(device, "PowerUsage"),
        "power_limit": library.number(device, "EnforcedPowerLimit"),
        "power_limit_default": library.number(device, "PowerManagementDefaultLimit"),
    }
    degrees = {
        "temperature": library.number(device, "Temperature", 0),
        "temperature_slow": library.number(device, "TemperatureThreshold", _SLOWDOWN),
    }
    return {
        **{name: None if value is None else value * _MILLI for name, value in watts.items()},
        **{name: None if value is None else float(value) for name, value in degrees.items()},
    }


def _errors(library: Nvml, device: c_void_p) -> dict[str, object]:
    mode = library.several(device, "EccMode", 2)
    counts = {
        name: library.large(device, "TotalEccErrors", kind, span)
        for name, kind, span in (
            ("ecc_corrected", _CORRECTED, _SINCE_START),
            ("ecc_uncorrected", _UNCORRECTED, _SINCE_START),
            ("ecc_corrected_ever", _CORRECTED, _EVER),
            ("ecc_uncorrected_ever", _UNCORRECTED, _EVER),
        )
    }
    pending = library.number(device, "RetiredPagesPendingStatus")
    rows = library.several(device, "RemappedRows", 4)
    waits = [bool(each) for each in (pending, rows[2] if rows else None) if each is not None]
    return {
        "ecc": bool(mode[0]) if mode else None,
        **counts,
        "retired_pages": library.retired_pages(device),
        "remapped_rows": rows[0] + rows[1] if rows else None,
        "repair_pending": any(waits) if waits else None,
        "repair_failed": bool(rows[3]) if rows else None,
    }


def _modes(library: Nvml, device: c_void_p) -> dict[str, object]:
    mig = library.several(device, "MigMode", 2)
    mode = library.number(device, "ComputeMode")
    persistence = library.number(device, "PersistenceMode")
    return {
        "mig": bool(mig[0]) if mig else None,
        "persistence": None if persistence is None else bool(persistence),
        "compute_mode": COMPUTE_MODES[mode]
        if mode is not None and mode < len(COMPUTE_MODES)
        else None,
    }


_PARTS: tuple[Callable[[Nvml, c_void_p], dict[str, object]], ...] = (
    _what, _link, _clocks, _heat, _errors, _modes,
)  # fmt: skip
