"""Energy counters of processors and their memory (RAPL), and whether they are readable.

Since Linux 5.10 only root may read them: they leak data of other processes (CVE-2020-8694).
"""

from __future__ import annotations

from assay.system.files import Tree

FOLDER = "/sys/class/powercap"


def energy_readable(tree: Tree) -> bool | None:
    """Whether this user may read all package counters; None if there are none."""
    zones = [
        f"{FOLDER}/{name}"
        for name in tree.names(FOLDER)
        if name.startswith("intel-rapl:")
        and (tree.word(f"{FOLDER}/{name}/name") or "").startswith("package")
    ]
    if not zones:
        return None
    return all(tree.integer(f"{zone}/energy_uj") is not None for zone in zones)
