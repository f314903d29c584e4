"""Errors of memory that the kernel's EDAC drivers counted (Documentation/driver-api/edac.rst)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.check.model import Fact
from assay.system.files import Tree

_FOLDER = "/sys/devices/system/edac/mc"


def facts(tree: Tree) -> Iterator[Fact]:
    """Per memory controller: size, DIMMs, corrected and uncorrected errors."""
    for controller in tree.names(_FOLDER):
        if not re.fullmatch(r"mc\d{1,4}", controller, re.ASCII):
            continue
        folder = f"{_FOLDER}/{controller}"
        dimms = [
            name
            for name in tree.names(folder)
            if re.fullmatch(r"(dimm|rank)\d{1,4}", name, re.ASCII)
        ]
        filled = [name for name in dimms if (tree.integer(f"{folder}/{name}/size") or 0) > 0]
        if filled:
            yield Fact(
                name=f"edac.{controller}.dimms",
                value=len(filled),
                rule="not below",
                look_at="check DIMMs",
            )
        size = tree.integer(f"{folder}/size_mb")
        if size is not None:
            yield Fact(
                name=f"edac.{controller}.size",
                value=float(size << 20),
                unit="B",
                look_at="check DIMMs",
            )
        for kind, title in (("ce", "corrected"), ("ue", "uncorrected")):
            count = tree.integer(f"{folder}/{kind}_count")
            if count is None:
                continue
            worst = _worst(tree, folder, dimms, kind) if count else ""
            yield Fact(
                name=f"ecc.{controller}.{title}",
                value=count,
                rule="counter",
                look_at=f"check DIMM {worst}" if worst else "check DIMMs",
            )


def _worst(tree: Tree, folder: str, dimms: list[str], kind: str) -> str:
    """The label of the DIMM with the most errors; empty if the driver doesn't tell."""
    counts = {name: tree.integer(f"{folder}/{name}/dimm_{kind}_count") or 0 for name in dimms}
    name = max(counts, key=lambda dimm: counts[dimm], default="")
    if not name or not counts[name]:
        return ""
    return tree.word(f"{folder}/{name}/dimm_label") or name
