"""What AMD's management library tells beyond the driver's files: names, and counts of errors where
the files can't be read.

ROCm SMI (``librocm_smi64.so``) is part of ROCm 5 to 7, while AMD SMI came with ROCm 6. Only
functions whose arguments are the same in all of these versions are used (rocm_smi.h).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from ctypes import byref, c_uint32, c_uint64

import msgspec

from assay.system.devices.model import Device

FILES = ("librocm_smi64.so", *(f"librocm_smi64.so.{number}" for number in (7, 6, 5, 1)))
_TEXT = 128
# rsmi_gpu_block_t: the controller of the memory.
_UMC = 1


def read_rocm_smi(known: Mapping[str, Device]) -> dict[str, Device]:
    """The devices of ``known`` that the library shows, by address; empty without the library."""
    library = _library()
    if library is None or _call(library, "rsmi_init", c_uint64(0)) is False:
        return {}
    try:
        count = c_uint32(0)
        if not _call(library, "rsmi_num_monitor_devices", byref(count)):
            return {}
        found = {}
        for place in map(c_uint32, range(count.value)):
            identity = c_uint64(0)
            if _call(library, "rsmi_dev_pci_id_get", place, byref(identity)):
                device = known.get(_address(identity.value))
                if device is not None:
                    found[device.address] = _read(library, place, device)
        return found
    finally:
        _call(library, "rsmi_shut_down")


def _library() -> ctypes.CDLL | None:
    for file in FILES:
        try:
            return ctypes.CDLL(file)
        except OSError:
            continue
    return None


def _call(library: ctypes.CDLL, name: str, *words: object) -> bool:
    function = getattr(library, name, None)
    return bool(function is not None and function(*words) == 0)


def _address(identity: int) -> str:
    """Domain in the upper half, then bus, device and function."""
    domain, bus = identity >> 32, identity >> 8 & 0xFF
    return f"{domain:04x}:{bus:02x}:{identity >> 3 & 0x1F:02x}.{identity & 7}"


def _read(library: ctypes.CDLL, place: c_uint32, device: Device) -> Device:
    found: dict[str, object] = {"source": "rocm_smi"}
    text = ctypes.create_string_buffer(_TEXT)
    if _call(library, "rsmi_dev_name_get", place, text, ctypes.c_size_t(_TEXT)):
        found["name"] = text.value.decode("utf-8", "replace") or device.name
    if device.ecc_uncorrected is None:
        # Later versions write further counts behind the first two.
        counts = (c_uint64 * 16)()
        if _call(library, "rsmi_dev_ecc_count_get", place, c_uint64(_UMC), counts):
            found |= {"ecc_corrected": counts[0], "ecc_uncorrected": counts[1]}
    if device.retired_pages is None:
        pages = c_uint32(0)
        if _call(library, "rsmi_dev_memory_reserved_pages_get", place, byref(pages), None):
            found["retired_pages"] = pages.value
    return msgspec.structs.replace(device, **found)
