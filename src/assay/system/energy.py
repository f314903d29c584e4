"""The counters of energy of processors and their memory (RAPL), and whether they may be read.

Since Linux 5.10 only root may read them, for they tell of others' work (CVE-2020-8694).
"""

from __future__ import annotations

from assay.system.files import Tree

FOLDER = "/sys/class/powercap"


def energy_readable(tree: Tree) -> bool | None:
    """Whether all counters of packages may be read; None where there are none."""
    zones = [
        f"{FOLDER}/{name}"
        for name in tree.names(FOLDER)
        if name.startswith("intel-rapl:")
        and (tree.word(f"{FOLDER}/{name}/name") or "").startswith("package")
    ]
    if not zones:
        return None
    return all(tree.integer(f"{zone}/energy_uj") is not None for zone in zones)
