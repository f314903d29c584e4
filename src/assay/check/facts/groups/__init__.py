"""The groups of facts. Each is a module with ``facts(tree)``, called in a process that may hang.

The name of a fact begins with one of the prefixes that ``PREFIXES`` states for its group, so that
the facts of a group that could not be read are known to be unread and not taken for lost parts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable

from assay.check.model import Fact
from assay.system.files import Tree

#: By group, what the names of its facts begin with.
PREFIXES: dict[str, tuple[str, ...]] = {
    "processor": ("cpu.", "version.microcode"),
    "limits": ("limit.",),
    "frequency": ("frequency.", "throttle."),
    "memory": ("memory.", "numa.", "hugepages.", "swap."),
    "dimms": ("dimm.",),
    "ecc": ("ecc.", "edac."),
    "pci": ("pci.",),
    "devices": ("device.", "version.vbios."),
    "network": ("net.",),
    "infiniband": ("ib.", "version.firmware."),
    "mounts": ("mount.",),
    "versions": ("version.kernel", "version.bios", "version.driver.", "system."),
    "clock": ("clock.",),
    "processes": ("processes.", "daemon."),
    "sensors": ("sensor.",),
}
NAMES = tuple(PREFIXES)


def reader(name: str) -> Callable[[Tree], Iterable[Fact]]:
    """The function that reads the facts of a group."""
    found: Callable[[Tree], Iterable[Fact]] = importlib.import_module(f"{__name__}.{name}").facts
    return found
