"""The devices that the kernels find on this machine, as their backends list them.

The libraries are loaded in a process of their own: a driver may crash, hang or keep threads.
"""

from __future__ import annotations

import subprocess
import sys

from assay.model.plan import UsableDevices

# Loading a driver takes a second or two; where many devices wake up, longer.
_LONGEST = 60.0

# Each backend in the order of backend=auto (native/device/find.cpp), with the library and the
# functions that count and name its devices. Prints the first backend that has any: its name, the
# number, and the name of its first device.
_PROGRAM = r"""
import ctypes, sys

def first(*names):
    for name in names[:-1]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return ctypes.CDLL(names[-1])

def cuda():
    library = ctypes.CDLL("libcuda.so.1")
    number = ctypes.c_int(0)
    if library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(number)) or not number.value:
        return 0, ""
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    named = library.cuDeviceGet(ctypes.byref(device), 0) == 0
    named = named and library.cuDeviceGetName(name, 256, device) == 0
    return number.value, name.value.decode(errors="replace") if named else ""

def hip():
    library = first("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                    "/opt/rocm/lib/libamdhip64.so")
    number, name = ctypes.c_int(0), ctypes.create_string_buffer(256)
    if library.hipGetDeviceCount(ctypes.byref(number)) or not number.value:
        return 0, ""
    named = library.hipDeviceGetName(name, 256, 0) == 0
    return number.value, name.value.decode(errors="replace") if named else ""

def opencl():
    library = ctypes.CDLL("libOpenCL.so.1")
    number = ctypes.c_uint(0)
    library.clGetPlatformIDs(0, None, ctypes.byref(number))
    platforms = (ctypes.c_void_p * number.value)()
    library.clGetPlatformIDs(number, platforms, None)
    found = 0
    for platform in platforms:
        count = ctypes.c_uint(0)
        arguments = (ctypes.c_void_p(platform), ctypes.c_uint64(0xFFFFFFFF), 0, None)
        if library.clGetDeviceIDs(*arguments, ctypes.byref(count)) == 0:
            found += count.value
    return found, ""

for backend in (cuda, hip, opencl):
    try:
        found, name = backend()
    except (OSError, AttributeError):
        continue
    if found:
        print()
        print(backend.__name__, found, name)
        sys.exit()
print()
print("none 0")
"""


def usable_devices() -> UsableDevices | None:
    """The devices of the first backend that has any; None if a driver hangs or fails."""
    command = [sys.executable, "-S", "-c", _PROGRAM]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, timeout=_LONGEST, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Drivers may print as well.
    words = (found.stdout.splitlines() or [""])[-1].split(maxsplit=2)
    if found.returncode != 0 or len(words) < 2 or not words[1].isdigit():
        return None
    return UsableDevices(words[0], int(words[1]), words[2] if len(words) > 2 else "")
