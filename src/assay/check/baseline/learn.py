"""Learns a baseline from learning checks, records of earlier checks and runs of the fleet."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from assay.arrays import Bools
from assay.check.baseline.common_course import hours_covered
from assay.check.baseline.components import component_baseline, middles, without
from assay.check.baseline.costs import CORE_GAP
from assay.check.baseline.described import described
from assay.check.baseline.fits import increasing
from assay.check.baseline.model import (
    Baseline,
    ComponentBaseline,
    DeviceSlots,
    SessionShift,
)
from assay.check.baseline.runs import RunSpread
from assay.check.baseline.samples import LearningCheck, SeriesSample, series_samples
from assay.check.baseline.undisturbed import undisturbed
from assay.check.components import BY_NAME, OF_DEVICES
from assay.check.model import CheckRecord
from assay.errors import AssayError
from assay.stats.fleet.judgement import judge
from assay.units import format_share

# Minimum number of nodes that are compared with each other.
_COMPARED = 5
# A node that differs for certain is left out from this deviation on even if the tail of the fleet
# might explain it: one such node among fifty would otherwise make its slowness usual.
_LEFT_OUT = 0.03
# Checks per node that the comparison of nodes reads.
_MOST_CHECKS = 6


@dataclass(frozen=True, kw_only=True)
class Learning:
    """What a baseline is learned from."""

    kind: str
    #: SHA-256 of the measuring program.
    program: str
    checks: Sequence[LearningCheck]
    #: Recent checks by host.
    records: Mapping[str, Sequence[CheckRecord]] = field(default_factory=dict)
    #: Hosts known to be slow, each with the reason, and what runs tell of the others
    #: (``runs.read_spreads``).
    slow: Mapping[str, str] = field(default_factory=dict)
    spreads: Mapping[str, RunSpread] = field(default_factory=dict)
    #: Encoded facts that the fleet has in common.
    facts: msgspec.Raw = field(default_factory=lambda: msgspec.Raw(b"null"))
    #: The devices, on whose terms checks and records are; None without any.
    devices: DeviceSlots | None = None
    #: Whether the nodes are virtual machines.
    virtual: bool = False
    #: The baseline that is replaced.
    before: Baseline | None = None


def learn(learning: Learning) -> Baseline:
    """The baseline of a kind of nodes.

    Nodes known to be slow, and nodes that are slower than the others for certain (``stats/fleet``),
    are left out. Raises AssayError without any usable check.
    """
    checks, disturbed = undisturbed(learning.checks)
    samples = series_samples(checks, learning.records)
    if not samples:
        raise AssayError(
            f"There are no checks of {learning.kind} to learn from.",
            fix="Run `assay check --record` on each node several times first.",
        )
    left_out = {host: why for host, why in learning.slow.items() if host in _hosts(samples)}
    left_out |= _outlying(samples, left_out)
    found: dict[str, ComponentBaseline] = {}
    for name, sample in samples.items():
        slow = np.array([host in left_out for host in sample.hosts], dtype=bool)
        kept = without(sample, slow)
        if kept.checks:
            usual = component_baseline(
                kept, _sessions_before(learning, name), virtual=learning.virtual
            )
            found[name] = _widened(usual, learning.spreads.get(name))
    if not found:
        raise AssayError(
            f"All {len(left_out)} nodes of {learning.kind} are slow, so that nothing is usual.",
            fix="Run `assay check --record` on more nodes.",
        )
    gap = found.pop(CORE_GAP, None)
    version = learning.before.version + 1 if learning.before is not None else 1
    hours = max(hours_covered(sample) for sample in samples.values())
    return Baseline(
        kind=learning.kind,
        version=version,
        anchored=_anchored(learning, version),
        created=time.time(),
        program=learning.program,
        nodes=max(each.nodes for each in found.values()),
        checks=max(each.checks for each in found.values()),
        components={name: found[name] for name in BY_NAME if name in found},
        core_gap=gap,
        devices=learning.devices if set(OF_DEVICES) & found.keys() else None,
        virtual=learning.virtual,
        facts=learning.facts,
        left_out=left_out,
        learned=[*disturbed, *described(found, hours, left_out)],
    )


def _sessions_before(learning: Learning, name: str) -> Sequence[SessionShift]:
    """The sessions of a series in the baseline that is replaced, by the same program."""
    before = learning.before
    if before is None or before.program != learning.program:
        return ()
    usual = before.core_gap if name == CORE_GAP else before.components.get(name)
    return () if usual is None else usual.sessions


def _widened(usual: ComponentBaseline, spread: RunSpread | None) -> ComponentBaseline:
    """Nodes' own levels as wide as in a run of more nodes; never narrower than in checks."""
    if spread is None or spread.nodes <= usual.nodes:
        return usual
    factor = spread.node_scatter / usual.node_scatter
    if factor <= 1.0:
        return usual
    return msgspec.structs.replace(
        usual,
        between=increasing(factor * np.array(usual.between)),
        node_scatter=spread.node_scatter,
    )


def _anchored(learning: Learning, version: int) -> int:
    """The version since which nodes' own levels hold: only another program ends them, and other
    terms on which devices are compared.

    Otherwise each new baseline would make the present level of a node the usual one.
    """
    before = learning.before
    same = before is not None and before.program == learning.program
    if same and before is not None and before.devices is not None:
        same = before.devices == learning.devices
    return before.anchored if before is not None and same else version


def _hosts(samples: Mapping[str, SeriesSample]) -> set[str]:
    return {sample.hosts[place] for sample in samples.values() for place in np.unique(sample.node)}


def _outlying(samples: Mapping[str, SeriesSample], known: Mapping[str, str]) -> dict[str, str]:
    """Nodes that are certainly slower than the others in some component."""
    names = [name for name in samples if name in BY_NAME]
    if not names:
        return {}
    hosts = samples[names[0]].hosts
    usable = [place for place, host in enumerate(hosts) if host not in known]
    if len(usable) < _COMPARED:
        return {}
    costs = np.full((len(hosts), len(names), _MOST_CHECKS), np.nan)
    for column, name in enumerate(names):
        _fill(costs[:, column], samples[name])
    chosen = costs[usable]
    measured: Bools = np.isfinite(chosen).any(axis=(1, 2))
    rows = [place for place, has in zip(usable, measured.tolist(), strict=True) if has]
    if len(rows) < _COMPARED:
        return {}
    judged = judge(costs[rows], names)
    found = {}
    for row in judged.named + judged.explained:
        shifts = judged.fleet.shift[row, : len(names)]
        worst = int(np.nanargmax(shifts))
        if (row in judged.named and shifts[worst] > 0.0) or shifts[worst] >= _LEFT_OUT:
            said = f"{format_share(float(shifts[worst]))} slower than the other nodes"
            found[hosts[rows[row]]] = f"{said} in {BY_NAME[names[worst]].title}"
    return found


def _fill(costs: np.ndarray, sample: SeriesSample) -> None:
    """The newest checks of each node, as times."""
    values = np.exp(middles(sample.bests) - np.median(middles(sample.bests)))
    order = np.lexsort((-sample.utc, sample.node))
    place, last = 0, -1
    for index in order.tolist():
        node = int(sample.node[index])
        place = place + 1 if node == last else 0
        last = node
        if place < costs.shape[1]:
            costs[node, place] = values[index]
