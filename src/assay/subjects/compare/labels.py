"""Short names of compared cells, for figures and screens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.subjects.compare.model import ComparedCell


def brief_labels(cells: Sequence[ComparedCell]) -> dict[str, str]:
    """Short names of cells, by full name: whatever all cells of a kernel share is omitted.

    ``network.pingpong bytes=8 mode=blocking, 2 ranks`` is ``pingpong bytes=8`` if all cells of
    network.pingpong are blocking and on two ranks.
    """
    names = list(dict.fromkeys(cell.name for cell in cells))
    parts = {name: _parts(name) for name in names}
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(parts[name][0], []).append(name)
    labels = {}
    for name in names:
        of_kernel = alike[parts[name][0]]
        counts = Counter(part for other in of_kernel for part in set(parts[other]))
        head, *others = parts[name]
        if len(of_kernel) > 1:
            others = [part for part in others if counts[part] < len(of_kernel)]
        words = [part for part in others if "=" in part]
        rest = [part for part in others if "=" not in part]
        labels[name] = ", ".join([" ".join([head.split(".")[-1], *words]), *rest])
    return labels if len(set(labels.values())) == len(labels) else {name: name for name in names}


def _parts(name: str) -> list[str]:
    """The kernel, each parameter, and each part of the placement."""
    head, *rest = name.split(", ")
    words = head.split(" ")
    plain = [word for word in words if "=" not in word]
    return [" ".join(plain), *(word for word in words if "=" in word), *rest]
