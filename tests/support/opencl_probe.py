"""Whether OpenCL's driver works on this machine: prints the number of platforms.

``opencl_probe.py`` compiles a kernel for the first device and runs it, in a process of its own,
since a driver may hang, or crash, on a processor that its compiler doesn't know.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_ulong, c_void_p
from functools import cache

_SOURCE = b"__kernel void set(__global int *to) { to[get_global_id(0)] = 7; }"
_ALL_DEVICES, _COPY, _SIZE = 0xFFFFFFFF, 1 << 5, 16
# For how long a driver may compile and run the kernel, s.
_LIMIT = 120.0


@cache
def working_platforms() -> tuple[int, str]:
    """The number of platforms, if the driver compiles and runs a kernel in time; else 0 and why."""
    try:
        done = subprocess.run(
            [sys.executable, "-S", __file__],
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 0, f"OpenCL's driver didn't run a kernel in {_LIMIT:.0f} s."
    if done.returncode == 0:
        return int(done.stdout), ""
    if done.returncode == 1:
        return 0, "No OpenCL driver, such as pocl-opencl-icd, is installed."
    return 0, f"OpenCL's driver doesn't run a kernel: step {done.returncode} failed."


def main() -> None:
    """Run the kernel. Exits with the number of the step that failed."""
    try:
        library = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        sys.exit(1)
    for name in ("CreateContext", "CreateCommandQueue", "CreateProgramWithSource", "CreateKernel"):
        getattr(library, f"cl{name}").restype = c_void_p
    library.clCreateBuffer.restype = c_void_p
    error, count, platform, device = c_int(), c_uint(), c_void_p(), c_void_p()
    values = (c_int * _SIZE)()

    def checked(step: int, status: int) -> None:
        if status != 0:
            sys.exit(step)

    checked(1, library.clGetPlatformIDs(1, byref(platform), byref(count)))
    checked(2, library.clGetDeviceIDs(platform, c_ulong(_ALL_DEVICES), 1, byref(device), None))
    context = c_void_p(library.clCreateContext(None, 1, byref(device), None, None, byref(error)))
    checked(3, error.value)
    queue = c_void_p(library.clCreateCommandQueue(context, device, c_ulong(0), byref(error)))
    checked(4, error.value)
    text = c_char_p(_SOURCE)
    program = c_void_p(
        library.clCreateProgramWithSource(context, 1, byref(text), None, byref(error))
    )
    checked(5, error.value)
    checked(6, library.clBuildProgram(program, 1, byref(device), b"", None, None))
    kernel = c_void_p(library.clCreateKernel(program, b"set", byref(error)))
    checked(7, error.value)
    size = c_size_t(ctypes.sizeof(values))
    buffer = c_void_p(
        library.clCreateBuffer(context, c_ulong(_COPY | 1), size, values, byref(error))
    )
    checked(8, error.value)
    checked(9, library.clSetKernelArg(kernel, 0, c_size_t(ctypes.sizeof(buffer)), byref(buffer)))
    whole = (c_size_t * 1)(_SIZE)
    status = library.clEnqueueNDRangeKernel(queue, kernel, 1, None, whole, None, 0, None, None)
    checked(10, status)
    status = library.clEnqueueReadBuffer(queue, buffer, 1, c_size_t(0), size, values, 0, None, None)
    checked(11, status)
    checked(12, 0 if list(values) == [7] * _SIZE else 1)
    print(count.value)


if __name__ == "__main__":
    main()
