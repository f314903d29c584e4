"""Converts compilers' linkage names to the names in the source.

C++ names follow the Itanium C++ ABI and are converted by the C++ library. Names of Rust (its
RFC 2603, "v0", and the older ones, which look like those of C++) are converted by the system's
``c++filt`` or ``llvm-cxxfilt``, of which the former knows both. For Fortran, each
compiler builds the names of modules' procedures in its own way: GNU ``__module_MOD_sub``, Intel
``module_mp_sub_``, NAG ``module_MP_sub``, Cray ``sub$module_``, LLVM ``_QMmodulePsub`` (Flang's
document on bijective internal name uniquing). NVIDIA's ``module_sub_`` can't be distinguished from
a name with an underscore.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache

# Suffixes that compilers append for parts and variants of a function.
_VARIANT = re.compile(
    r"(?:\.(?:isra|constprop|part|cold|lto_priv|localalias|llvm|clone|specialized)(?:\.[\dA-F]+)*"
    r"|\.\d+)+$"
)
_OPENMP = re.compile(
    r"(?:\._omp_fn\.\d+|\.omp_outlined(?:_debug__)?(?:\.\d+)?|__nv_(?P<nv>\w+?)_F\d+L\d+_\d+)$"
)
_MAIN = {"MAIN__", "MAIN_", "_QQmain", "main_program_"}
_GNU = re.compile(r"__(\w+?)_MOD_(\w+)")
_INTEL = re.compile(r"([a-z]\w*?)_mp_([a-z]\w*?)_?")
_NAG = re.compile(r"([a-z]\w*?)_MP_([a-z]\w*)")
_CRAY = re.compile(r"([a-z]\w*)\$([a-z]\w*?)_?")
_LLVM = re.compile(r"_Q(?:[MSFPC][a-z0-9_]+|B\d*)+")
_LLVM_PART = re.compile(r"[MSFPC]([a-z0-9_]+)")
_PLAIN = re.compile(r"([a-z][a-z0-9_]*?)__?")
_RUST = re.compile(r"_R[A-Z]\w+|_ZN[\w$.]+?17h[0-9a-f]{16}E")
# Hashes: of a function in older names, of a crate in newer ones.
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_CRATE_HASH = re.compile(r"(?<=\w)\[[0-9a-f]{1,16}\]")
_FILTERS = ("c++filt", "llvm-cxxfilt")
_PATIENCE = 60.0


def demangled(name: str) -> str:
    """The name in the source; the linkage name itself if its form is unknown."""
    return all_demangled([name])[name]


def all_demangled(names: Iterable[str]) -> dict[str, str]:
    """The names in the source by linkage name. Names of Rust take one process for all of them."""
    every = sorted(set(names))
    plain = {name: _VARIANT.sub("", name) or name for name in every}
    rust = _rust(tuple(sorted({one for one in plain.values() if _RUST.fullmatch(one)})))
    return {name: rust.get(plain[name]) or _demangled(name) for name in every}


def _demangled(name: str) -> str:
    region = _OPENMP.search(name)
    if region is not None:
        rest = region["nv"] or name[: region.start()]
        return f"{demangled(rest)} [OpenMP]" if rest else name
    plain = _VARIANT.sub("", name) or name
    if plain in _MAIN:
        return "main program"
    return _fortran(plain) or _cxx(plain) or plain


@cache
def _rust(names: Sequence[str]) -> dict[str, str]:
    """Readable names of Rust's functions; without those that no tool of this system knows."""
    found: dict[str, str] = {}
    for program in _FILTERS:
        left = [name for name in names if name not in found]
        tool = shutil.which(program)
        if tool is None or not left:
            continue
        try:
            done = subprocess.run(
                [tool], input="".join(f"{name}\n" for name in left), capture_output=True,
                encoding="utf-8", errors="replace", timeout=_PATIENCE, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = done.stdout.splitlines()
        if done.returncode == 0 and len(lines) == len(left):
            found |= {
                name: _CRATE_HASH.sub("", _RUST_HASH.sub("", line))
                for name, line in zip(left, lines, strict=True)
                if line != name
            }
    return found


def _fortran(name: str) -> str:
    """The name of a Fortran procedure; "" if it isn't one."""
    for pattern in (_GNU, _INTEL, _NAG):
        match = pattern.fullmatch(name)
        if match is not None:
            return f"{match[1]}::{match[2]}"
    match = _CRAY.fullmatch(name)
    if match is not None:
        return f"{match[2]}::{match[1]}"
    if _LLVM.fullmatch(name):
        return "::".join(_LLVM_PART.findall(name))
    match = _PLAIN.fullmatch(name)
    return match[1] if match is not None else ""


def _cxx(name: str) -> str:
    """The name of a C++ function (or of Rust); "" if it isn't one."""
    if not name.startswith("_Z"):
        return ""
    found = _cxx_demangler()(name)
    return _RUST_HASH.sub("", found)


@cache
def _cxx_demangler() -> Callable[[str], str]:
    """The C++ library's ``__cxa_demangle``. Without it, names stay unchanged."""
    try:
        library = ctypes.CDLL(ctypes.util.find_library("stdc++") or "libstdc++.so.6")
        demangle, free = library.__cxa_demangle, ctypes.CDLL(None).free
    except (OSError, AttributeError):
        return lambda _: ""
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    demangle.restype = ctypes.c_void_p
    free.argtypes, free.restype = [ctypes.c_void_p], None

    def found(name: str) -> str:
        status = ctypes.c_int()
        text = demangle(name.encode(), None, None, ctypes.byref(status))
        if not text:
            return ""
        try:
            return ctypes.string_at(text).decode("utf-8", "replace")
        finally:
            free(text)

    return found
