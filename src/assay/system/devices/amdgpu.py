"""The state of AMD's devices by the files of their driver (Documentation/gpu/amdgpu and
Documentation/hwmon of Linux; the topology of KFD).
"""

from __future__ import annotations

import re

import msgspec

from assay.system.devices.model import Device, DeviceUser
from assay.system.devices.pci_devices import FOLDER
from assay.system.files import Tree, to_integer

DRIVER = "amdgpu"
_TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
_PROCESSES = "/sys/class/kfd/kfd/proc"
# HSA_IOLINK_TYPE_XGMI of the kernel's kfd_crat.h.
_XGMI = 11
_MILLI, _MICRO = 1e-3, 1e-6


def read_amdgpu(tree: Tree, device: Device) -> Device:
    """The device with what its driver's files tell."""
    folder = f"{FOLDER}/{device.address}"
    monitor = _monitor(tree, folder)
    number, node = _kfd(tree, device.address)
    clock, most = _clocks(tree.text(f"{folder}/pp_dpm_sclk"))
    memory_clock, memory_most = _clocks(tree.text(f"{folder}/pp_dpm_mclk"))
    corrected, uncorrected = _errors(tree.text(f"{folder}/ras/umc_err_count"))
    partition = tree.word(f"{folder}/current_compute_partition")
    links = _links(tree, node)
    found: dict[str, object] = {
        "uuid": tree.word(f"{folder}/unique_id"),
        "memory": tree.integer(f"{folder}/mem_info_vram_total"),
        "memory_used": tree.integer(f"{folder}/mem_info_vram_used"),
        "driver": tree.word(f"/sys/module/{DRIVER}/version"),
        "firmware": tree.word(f"{folder}/vbios_version"),
        "clock": _scaled(tree, monitor, ("freq1_input",), 1.0) or clock,
        "clock_most": most,
        "memory_clock": _scaled(tree, monitor, ("freq2_input",), 1.0) or memory_clock,
        "memory_clock_most": memory_most,
        "power": _scaled(tree, monitor, ("power1_average", "power1_input"), _MICRO),
        "power_limit": _scaled(tree, monitor, ("power1_cap",), _MICRO),
        "power_limit_default": _scaled(tree, monitor, ("power1_cap_default",), _MICRO),
        # The junction is the hottest place; the edge is all that some devices have.
        "temperature": _scaled(tree, monitor, ("temp2_input", "temp1_input"), _MILLI),
        "temperature_slow": _scaled(tree, monitor, ("temp2_crit", "temp1_crit"), _MILLI),
        "ecc": True if corrected is not None else None,
        "ecc_corrected": corrected,
        "ecc_uncorrected": uncorrected,
        "retired_pages": _retired(tree.text(f"{folder}/ras/gpu_vram_bad_pages")),
        "mig": None if partition is None else partition.upper() != "SPX",
        "links": links,
        "links_up": links,
        "users": _users(tree, number),
    }
    known = {name: value for name, value in found.items() if value is not None}
    return msgspec.structs.replace(device, source="sysfs", **known)


def _monitor(tree: Tree, folder: str) -> str | None:
    names = tree.names(f"{folder}/hwmon")
    return f"{folder}/hwmon/{names[0]}" if names else None


def _scaled(tree: Tree, monitor: str | None, files: tuple[str, ...], scale: float) -> float | None:
    for file in files if monitor else ():
        value = tree.integer(f"{monitor}/{file}")
        if value is not None:
            return value * scale
    return None


def _clocks(text: str | None) -> tuple[float | None, float | None]:
    """The present clock and the greatest, Hz: lines such as ``1: 1700Mhz *``."""
    lines = re.findall(r"(?m)^\d+:\s*(\d{1,6})\s*[Mm][Hh]z\s*(\*?)", text or "", re.ASCII)
    if not lines:
        return None, None
    now = next((float(value) * 1e6 for value, mark in lines if mark), None)
    return now, max(float(value) for value, _ in lines) * 1e6


def _errors(text: str | None) -> tuple[int | None, int | None]:
    """Corrected and uncorrected errors of the memory: ``ue: 0`` and ``ce: 0``."""
    counts = dict(re.findall(r"(?m)^(ue|ce):\s*(\d{1,18})", text or "", re.ASCII))
    return to_integer(counts.get("ce")), to_integer(counts.get("ue"))


def _retired(text: str | None) -> int | None:
    """Pages marked R (retired) or P (reserved at the next start), one a line."""
    return None if text is None else len(re.findall(r"(?m):\s*[RP]\s*$", text))


def _kfd(tree: Tree, address: str) -> tuple[int | None, str | None]:
    """The device's number and its folder in the topology of KFD."""
    domain, bus, rest = address.split(":")
    slot, function = rest.split(".")
    place = int(bus, 16) << 8 | int(slot, 16) << 3 | int(function)
    for name in tree.names(_TOPOLOGY):
        folder = f"{_TOPOLOGY}/{name}"
        facts = dict(
            re.findall(r"(?m)^(\w+) (\d{1,20})$", tree.text(f"{folder}/properties") or "", re.ASCII)
        )
        here = facts.get("location_id") == str(place)
        if here and facts.get("domain", "0") == str(int(domain, 16)):
            return tree.integer(f"{folder}/gpu_id"), folder
    return None, None


def _links(tree: Tree, node: str | None) -> int | None:
    """Links to other devices; None without any."""
    found = 0
    for link in tree.names(f"{node}/io_links") if node else ():
        text = tree.text(f"{node}/io_links/{link}/properties") or ""
        found += re.search(rf"(?m)^type {_XGMI}$", text) is not None
    return found or None


def _users(tree: Tree, number: int | None) -> list[DeviceUser] | None:
    """Processes that have memory of the device."""
    if number is None or not tree.exists(_PROCESSES):
        return None
    found = []
    for pid in tree.names(_PROCESSES):
        memory = tree.integer(f"{_PROCESSES}/{pid}/vram_{number}")
        if pid.isdecimal() and memory:
            name = tree.word(f"/proc/{pid}/comm")
            found.append(DeviceUser(pid=int(pid), name=name, memory=memory))
    return found
