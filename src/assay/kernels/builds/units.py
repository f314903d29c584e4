"""The native units that a kernel needs, so that a build holds only the kernels that a plan
measures.

A unit is a ``.cpp`` file in a family's folder. It needs the headers that it includes, and each
header needs the units that implement it: the units that include it before any other header of the
project and register no kernel. ``tests/native/test_units.py`` links every kernel from its units.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

# The folders of ``native/CMakeLists.txt`` whose units hold kernels, or what only some of them need.
FAMILIES = (
    "memory",
    "compute",
    "network",
    "storage",
    "noise",
    "linpack",
    "hpcg",
    "npb",
    "device",
    "gpu",
)
_INCLUDE = re.compile(r'(?m)^\s*#\s*include\s+"([^"]+)"')
_REGISTERED = re.compile(r'\bASSAY_KERNEL\(\s*"([^"]+)"')


def all_units(sources: Path) -> frozenset[str]:
    """The units of all kernels, as paths relative to the native sources."""
    return frozenset(
        path.relative_to(sources).as_posix()
        for family in FAMILIES
        for path in (sources / family).rglob("*.cpp")
    )


def units_of(sources: Path, kernels: Collection[str] | None) -> frozenset[str] | None:
    """The units that an executable with these kernels needs; None: all units.

    All units are needed without ``kernels``, if a name is empty, and if the sources register no
    kernel of a name.
    """
    if kernels is None:
        return None
    units = all_units(sources)
    includes = {name: _INCLUDE.findall(_text(sources / name)) for name in units}
    registered = {
        kernel: name for name in units for kernel in _REGISTERED.findall(_text(sources / name))
    }
    if not registered.keys() >= set(kernels):
        return None
    implementing = defaultdict(list)
    for name in units - set(registered.values()):
        if includes[name]:
            implementing[includes[name][0]].append(name)
    seen: set[str] = set()
    waiting = [registered[kernel] for kernel in kernels]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in includes:
            includes[name] = _INCLUDE.findall(_text(sources / name))
        waiting += includes[name] + implementing[name]
    found = frozenset(seen & units)
    return None if found in (units, frozenset()) else found


def units_in(content: Mapping[str, object]) -> frozenset[str] | None:
    """The units of a build, from the content of its key; None if it has all."""
    units = content.get("units")
    return frozenset(map(str, units)) if isinstance(units, list) else None


def _text(path: Path) -> str:
    """The content of a file; empty if it is missing, such as a header of a library."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
