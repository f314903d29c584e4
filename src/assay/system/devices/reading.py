"""The accelerators of this machine with their state: the bus first, then what the driver tells.

No library is loaded unless a device is bound to its driver, or the driver's device files are there
(in a container without the files of the bus).
"""

from __future__ import annotations

import msgspec

from assay.system.devices.amdgpu import DRIVER as AMD_DRIVER
from assay.system.devices.amdgpu import read_amdgpu
from assay.system.devices.kernel_log import logged_xids
from assay.system.devices.model import Device
from assay.system.devices.nvml import NvmlError
from assay.system.devices.nvml_reading import read_nvml
from assay.system.devices.pci_devices import driver_of, pci_devices
from assay.system.devices.rocm_smi import read_rocm_smi
from assay.system.files import Tree

_NVIDIA_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia/version")
_NVIDIA_FIX = (
    "Install it in the driver's version: libnvidia-ml1 (Debian), libnvidia-compute-NUMBER "
    "(Ubuntu), nvidia-driver-cuda-libs (RHEL, Fedora), nvidia-compute-G06 (SUSE); in a container, "
    "start it with NVIDIA's runtime."
)


def needs_library(tree: Tree) -> bool:
    """Whether a driver is there whose library would be loaded, which may hang."""
    devices = pci_devices(tree)
    return _has_nvidia(tree, devices) or any(
        driver_of(tree, device.address) == AMD_DRIVER for device in devices
    )


def read_devices(tree: Tree) -> list[Device]:
    """The devices in the order of their addresses. May hang if a driver does; raises nothing.

    Another machine's files (``tree.live`` is false) show what the bus and the drivers' files tell.
    """
    found = {device.address: device for device in pci_devices(tree)}
    amd = {a: d for a, d in found.items() if driver_of(tree, a) == AMD_DRIVER}
    found |= {address: read_amdgpu(tree, device) for address, device in amd.items()}
    if tree.live and amd:
        found |= read_rocm_smi({address: found[address] for address in amd})
    if _has_nvidia(tree, list(found.values())):
        found |= _nvidia(tree, {a: d for a, d in found.items() if d.vendor == "NVIDIA"})
    unbound = [a for a, d in found.items() if d.source == "pci" and d.problem is None]
    for address in unbound if tree.live else ():
        found[address] = _without_driver(tree, found[address])
    return [found[address] for address in sorted(found)]


def _has_nvidia(tree: Tree, devices: list[Device]) -> bool:
    if any(d.vendor == "NVIDIA" and driver_of(tree, d.address) == "nvidia" for d in devices):
        return True
    return any(tree.exists(file) for file in _NVIDIA_FILES)


def _nvidia(tree: Tree, known: dict[str, Device]) -> dict[str, Device]:
    if not tree.live:
        return known
    try:
        read = read_nvml(tree, known)
    except NvmlError as error:
        problem = f"{error}."
        return {
            address: msgspec.structs.replace(device, problem=problem, fix=_NVIDIA_FIX)
            for address, device in known.items()
        }
    xids = logged_xids(tree)
    found = known | read
    if xids is not None:
        found = {
            address: msgspec.structs.replace(device, xids=xids.get(address, []))
            for address, device in found.items()
        }
    hidden = found.keys() - read.keys()
    return found | {
        address: msgspec.structs.replace(
            found[address],
            problem="The driver doesn't show it to this process.",
            fix="Request it from the scheduler, or allow its device file in the container.",
        )
        for address in hidden
    }


def _without_driver(tree: Tree, device: Device) -> Device:
    driver = driver_of(tree, device.address)
    if driver is None:
        problem = "No driver is bound to it."
    elif device.vendor == "Intel":
        return device  # its state is not read
    else:
        problem = f"Its driver, {driver}, is not the one of its maker's kit."
    fix = {
        "NVIDIA": "Install NVIDIA's driver, which brings nvidia-smi and libnvidia-ml.so.1.",
        "AMD": "Load amdgpu (modprobe amdgpu), or install amdgpu-dkms.",
        "Intel": "Load xe or i915.",
    }
    return msgspec.structs.replace(device, problem=problem, fix=fix.get(device.vendor or "", ""))
