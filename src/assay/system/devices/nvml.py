"""NVIDIA's management library by ctypes: only functions that read.

Functions and structures: NVML API Reference Guide, part of the driver since 2011. A function that
this driver lacks, or that a device doesn't support, gives None.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_char, c_char_p, c_uint, c_ulonglong, c_void_p

FILE = "libnvidia-ml.so.1"
# nvmlReturn_t.
_SUCCESS, _TOO_SMALL, _LOST, _RESET = 0, 7, 15, 16
_TEXT = 96
_MOST_PROCESSES = 256
_MOST_LINKS = 18


class NvmlError(Exception):
    """The library can't be used; the text says why."""


class DeviceIsLostError(Exception):
    """The driver answers that the device fell off the bus or must be reset."""


class _Pci(ctypes.Structure):
    """nvmlPciInfo_t since version 3."""

    _fields_ = (
        ("legacy", c_char * 16), ("domain", c_uint), ("bus", c_uint), ("device", c_uint),
        ("identity", c_uint), ("subsystem", c_uint), ("address", c_char * 32),
    )  # fmt: skip


class _Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t of the functions with the suffixes _v2 and _v3."""

    _fields_ = (
        ("pid", c_uint), ("memory", c_ulonglong), ("instance", c_uint), ("compute", c_uint),
    )  # fmt: skip


class Nvml:
    """The initialised library. ``close`` it; nothing is changed on any device."""

    def __init__(self) -> None:
        """Raise NvmlError if there is no library or no driver."""
        try:
            self._library = ctypes.CDLL(FILE)
        except OSError as error:
            raise NvmlError(f"{FILE} can't be loaded: {error}") from None
        start = self._function("nvmlInit_v2")
        if start is None:
            raise NvmlError(f"{FILE} is too old: it lacks nvmlInit_v2")
        status = start()
        if status != _SUCCESS:
            raise NvmlError(self._words(status))

    def close(self) -> None:
        """End the use of the library."""
        if shut := self._function("nvmlShutdown"):
            shut()

    def devices(self) -> list[c_void_p | None]:
        """A handle per device that this process may see; None for one that is lost."""
        count = c_uint(0)
        counting, handle = (
            self._function(f"nvmlDeviceGet{name}_v2") for name in ("Count", "HandleByIndex")
        )
        if counting is None or handle is None or counting(byref(count)) != _SUCCESS:
            return []
        found: list[c_void_p | None] = []
        for place in range(count.value):
            device = c_void_p()
            found.append(device if handle(place, byref(device)) == _SUCCESS else None)
        return found

    def is_lost(self, address: str) -> bool:
        """Whether the device at that address fell off the bus or must be reset."""
        handle = self._function("nvmlDeviceGetHandleByPciBusId_v2")
        device = c_void_p()
        return handle is not None and handle(address.encode(), byref(device)) in (_LOST, _RESET)

    def version(self, name: str) -> str | None:
        """A version of the system: ``DriverVersion``, ``NVMLVersion``."""
        text = ctypes.create_string_buffer(_TEXT)
        function = self._function(f"nvmlSystemGet{name}")
        if function is None or function(text, _TEXT) != _SUCCESS:
            return None
        return text.value.decode("utf-8", "replace") or None

    def text(self, device: c_void_p, name: str) -> str | None:
        """A text of a device: ``Name``, ``UUID``, ``VbiosVersion``."""
        text = ctypes.create_string_buffer(_TEXT)
        if not self._get(f"nvmlDeviceGet{name}", device, text, c_uint(_TEXT)):
            return None
        return text.value.decode("utf-8", "replace") or None

    def number(self, device: c_void_p, name: str, *before: int) -> int | None:
        """An unsigned number of a device, behind the arguments ``before``."""
        value = c_uint(0)
        words = [c_uint(each) for each in before]
        return (
            value.value if self._get(f"nvmlDeviceGet{name}", device, *words, byref(value)) else None
        )

    def large(self, device: c_void_p, name: str, *before: int) -> int | None:
        """The same for functions that give 64 bits."""
        value = c_ulonglong(0)
        words = [c_uint(each) for each in before]
        return (
            value.value if self._get(f"nvmlDeviceGet{name}", device, *words, byref(value)) else None
        )

    def several(self, device: c_void_p, name: str, count: int) -> list[int] | None:
        """Several unsigned numbers of one function: current and pending mode, remapped rows."""
        values = [c_uint(0) for _ in range(count)]
        if not self._get(f"nvmlDeviceGet{name}", device, *map(byref, values)):
            return None
        return [value.value for value in values]

    def address(self, device: c_void_p) -> str | None:
        """The address on the PCI bus, as the library writes it."""
        info = _Pci()
        for version in ("_v3", "_v2"):
            if self._get(f"nvmlDeviceGetPciInfo{version}", device, byref(info)):
                text = info.address or info.legacy
                return str(text.decode("ascii", "replace"))
        return None

    def memory(self, device: c_void_p) -> tuple[int, int] | None:
        """Bytes in total and in use."""
        info = _Memory()
        if not self._get("nvmlDeviceGetMemoryInfo", device, byref(info)):
            return None
        return int(info.total), int(info.used)

    def retired_pages(self, device: c_void_p) -> int | None:
        """Pages retired after single-bit and double-bit errors."""
        total, known = 0, False
        for cause in (0, 1):
            count = c_uint(0)
            name = "nvmlDeviceGetRetiredPages"
            # With room for none, the library says how many there are.
            if self._get(name, device, c_uint(cause), byref(count), None, also=_TOO_SMALL):
                total, known = total + count.value, True
        return total if known else None

    def links(self, device: c_void_p) -> tuple[int, int] | None:
        """NVLinks that the device has, and those that are up; None without any."""
        states = [self.number(device, "NvLinkState", link) for link in range(_MOST_LINKS)]
        known = [state for state in states if state is not None]
        return (len(known), sum(known)) if known else None

    def processes(self, device: c_void_p) -> list[tuple[int, int | None]] | None:
        """Process id and bytes of each process that computes on the device."""
        found = (_Process * _MOST_PROCESSES)()
        for version in ("_v3", "_v2"):
            count = c_uint(_MOST_PROCESSES)
            name = f"nvmlDeviceGetComputeRunningProcesses{version}"
            if self._get(name, device, byref(count), found):
                unknown = (1 << 64) - 1
                return [
                    (each.pid, None if each.memory == unknown else int(each.memory))
                    for each in found[: count.value]
                ]
        return None

    def _function(self, name: str) -> Callable[..., int] | None:
        found: Callable[..., int] | None = getattr(self._library, name, None)
        return found

    def _get(self, name: str, *words: object, also: int = _SUCCESS) -> bool:
        """Whether the function exists and succeeds. Raises DeviceIsLostError."""
        function = self._function(name)
        if function is None:
            return False
        status = function(*words)
        if status in (_LOST, _RESET):
            raise DeviceIsLostError
        return status in (_SUCCESS, also)

    def _words(self, status: int) -> str:
        words = getattr(self._library, "nvmlErrorString", None)
        if words is None:
            return f"{FILE} answers {status}"
        words.restype = c_char_p
        text = (words(status) or b"").decode("utf-8", "replace")
        return f"{FILE} answers: {text or status}"
