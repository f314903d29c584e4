"""Kinds of nodes: nodes of one kind share a baseline.

A kind is what a node was bought as: processor, sockets, CPUs, memory, accelerators. A node that
loses a part must not become a kind of its own, without a baseline: it is compared with the nearest
kind that has the same processor.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from assay.check.facts.common import least_nodes
from assay.check.model import Fact, FactValue

_GIB = 1 << 30
_UNKNOWN = "unknown"
_SLUG = re.compile(r"(.+)-(\d+)s-(\d+)c-(\d+)g(?:-(\d+)a)?", re.ASCII)
_MOST_CHARACTERS = 60
# Words of processor names that all processors of a maker have.
_NOISE = re.compile(
    r"\((r|tm|c)\)|\b(cpu|processor|genuine|authentic\w*|\d+-core|with .*)\b|@.*", re.IGNORECASE
)


def kind_of(facts: Iterable[Fact]) -> str:
    """The kind of a node: ``amd-epyc-7763-2s-256c-512g``, with ``-4a`` for four accelerators.

    It is safe as a file name. Memory is rounded up to what is sold, as firmware and kernel keep up
    to some percent for themselves.
    """
    values = {fact.name: fact.value for fact in facts}
    cpus = _number(values.get("cpu.present")) or _number(values.get("cpu.online"))
    accelerators = _number(values.get("pci.accelerator.count"))
    parts = [
        _slug(str(values.get("cpu.model") or _UNKNOWN)),
        f"{_number(values.get('cpu.sockets'))}s",
        f"{cpus}c",
        f"{installed_memory(values.get('memory.total'))}g",
    ]
    if accelerators:
        parts.append(f"{accelerators}a")
    return "-".join(parts)


def nearest_kind(facts: Iterable[Fact], known: Iterable[str], before: str = "") -> str:
    """The kind, among those with a baseline, that a node is compared with; empty if none has its
    processor.

    ``before``: the node's kind at its last check. It stays unless the processor is another one, as
    a node that lost half of its memory could be taken for a kind with half the memory. Otherwise
    the node's own kind counts, and then the nearest one, preferably with more than the node has.
    """
    own = kind_of(facts)
    kinds = sorted(set(known))
    if before in kinds and _processor(own) in (_UNKNOWN, _processor(before)):
        return before
    if own in kinds:
        return own
    return min(
        (kind for kind in kinds if _processor(kind) == _processor(own)),
        key=lambda kind: _distance(own, kind),
        default="",
    )


def kinds_of_fleet(by_host: Mapping[str, Sequence[Fact]]) -> dict[str, list[str]]:
    """The hosts of each kind, when a fleet is learned.

    A few nodes that look like a kind of their own and have the processor of a larger kind belong
    to that one: they lost something.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for host, facts in by_host.items():
        found[kind_of(facts)].append(host)
    for kind in sorted(found, key=lambda each: len(found[each])):
        alike = [other for other in found if _processor(other) == _processor(kind)]
        total = sum(len(found[other]) for other in alike)
        larger = [other for other in alike if len(found[other]) > len(found[kind])]
        if larger and len(found[kind]) < least_nodes(total):
            nearest = min(larger, key=lambda other: _distance(kind, other))
            found[nearest] += found.pop(kind)
    return {kind: sorted(hosts) for kind, hosts in sorted(found.items())}


def installed_memory(value: FactValue) -> int:
    """The GiB that a node was bought with, of the bytes that its kernel has; 0 if unknown.

    Sizes that are sold are multiples of an eighth to a sixteenth of themselves.
    """
    if not isinstance(value, int | float) or value <= 0 or not math.isfinite(value):
        return 0
    gib = value / _GIB
    step = 2.0 ** (math.floor(math.log2(gib)) - 3) if gib >= 8 else 1.0
    return math.ceil(gib / step - 1e-9) * round(step) if step >= 1 else math.ceil(gib)


def _number(value: FactValue) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _slug(model: str) -> str:
    words = re.findall(r"[a-z0-9]+", _NOISE.sub(" ", model.lower()))
    return "-".join(words)[:_MOST_CHARACTERS].strip("-") or _UNKNOWN


def _processor(kind: str) -> str:
    match = _SLUG.fullmatch(kind)
    return match[1] if match else kind


def _distance(own: str, kind: str) -> tuple[float, str]:
    """Logarithms of the ratios of all sizes; a kind with less than the node has is twice as far,
    since nodes lose parts and seldom gain some.
    """
    ours, theirs = _SLUG.fullmatch(own), _SLUG.fullmatch(kind)
    if ours is None or theirs is None:
        return math.inf, kind
    total = 0.0
    for here, there in zip(ours.groups()[1:], theirs.groups()[1:], strict=True):
        ratio = math.log((int(there or 0) + 1) / (int(here or 0) + 1))
        total += ratio if ratio >= 0 else -2 * ratio
    return total, kind
