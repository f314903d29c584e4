"""OpenBLAS picks its kernels by the processor's model, and older ones for models it doesn't know.

Measured with OpenBLAS 0.3.34 on a Zen 5 server core: it took its Haswell (AVX2) kernels and did a
product of order 2000 at 33 Gflop/s, and at 55 Gflop/s with its SkylakeX (AVX-512) kernels, both on
a busy machine. The practical peak of such a processor is the second, so assay asks for it, says so,
and leaves the choice to whoever sets ``OPENBLAS_CORETYPE``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

from assay.kernels.probes import ask

CORETYPE = "OPENBLAS_CORETYPE"
AVX512_CORE = "SkylakeX"
# Kernels of OpenBLAS that use AVX2 at most, and what SkylakeX kernels need of a processor.
_AVX2_CORES = {"Haswell", "Zen", "Excavator"}
_AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
_CORE_NAME = """\
import ctypes, sys
name = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2] + "openblas_get_corename")
name.restype = ctypes.c_char_p
print(name().decode())
"""


def better_core(chosen: str, flags: Collection[str]) -> str | None:
    """The kernels to ask for in place of those ``chosen``; None if they fit the processor."""
    return AVX512_CORE if chosen in _AVX2_CORES and set(flags) >= _AVX512 else None


def core_environment(library: Path, prefix: str = "") -> dict[str, str]:
    """The variable that makes this OpenBLAS use the processor's vectors; empty where it does."""
    if CORETYPE in os.environ:
        return {}
    asked = ask([sys.executable, "-c", _CORE_NAME, str(library), prefix], depends=[library])
    better = better_core(asked.first_line, _processor_flags()) if asked.ok else None
    return {CORETYPE: better} if better else {}


def _processor_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> set[str]:
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return set()
    return {flag for line in lines if line.startswith("flags") for flag in line.split()[2:]}
