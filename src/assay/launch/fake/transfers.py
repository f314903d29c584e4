"""The CPUs of a fake node: which are near each other, and what memory.core_to_core measures."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.launch.fake.fabric import rounds
from assay.model.placement import Value
from assay.records.schema import SampleSeries

CORES = "memory.core_to_core"
# The facts that say where CPUs are. Each names the CPU's group.
_FACTS = ("cores", "shared_caches", "numa_nodes", "packages")


class TransferModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of CPUs within groups, and the time of a transfer at each level."""

    #: CPUs per group, by the time of a transfer within it in s, as text: ``{ "2": 10e-9 }``. CPUs
    #: with neighbouring numbers share a group.
    within: dict[str, float] = {}
    #: Time of a transfer between CPUs that share no group, s.
    between: float = 60e-9
    #: Standard deviation of the logarithm of a pair's time in a launch.
    sigma: float = 0.02
    #: What the operating system says: CPUs per group, by fact (``cores``, ``shared_caches``,
    #: ``numa_nodes``, ``packages``); without an entry all CPUs share one, and each has
    #: a core of its own.
    named: dict[str, int] = {}


def sample_series(
    metric: str, unit: str, values: list[float], ends: tuple[int, int] | None = None
) -> SampleSeries:
    """A series of all ranks together, or of the pair with these ends."""
    rank, peer = ends or (None, None)
    return SampleSeries(metric=metric, unit=unit, rank=rank, peer=peer, starts=[], values=values)


def transfer_series(
    model: TransferModel,
    parameters: Mapping[str, Value],
    cpus: int,
    *,
    samples: int,
    seed: int,
    launch: int,
    noise: str,
) -> tuple[list[SampleSeries], dict[str, Value]]:
    """The series of pairs, and facts, as the real kernel reports them.

    ``launch``: the launch's seed, which chooses the first round. ``noise``: names the measurement.
    """
    import numpy as np

    draw = np.random.default_rng([seed, *noise.encode()])
    pairs = [pair for turn in rounds(cpus, int(parameters["most"]), launch) for pair in turn]
    sizes = sorted((int(size), seconds) for size, seconds in model.within.items())
    times = [
        next((t for size, t in sizes if one // size == other // size), model.between)
        * float(np.exp(model.sigma * draw.standard_normal()))
        for one, other in pairs
    ]
    typical, slowest = float(np.median(times)), max(times)
    series = [
        sample_series("median_pair", "s", [typical] * samples),
        sample_series("slowest_pair", "s", [slowest] * samples),
        *(
            sample_series("pair", "s", [seconds], ends=(one, other))
            for (one, other), seconds in zip(pairs, times, strict=True)
        ),
    ]
    facts: dict[str, Value] = {
        "members": cpus,
        "pairs": len(pairs),
        "pairs_in_all": cpus * (cpus - 1) // 2,
        "cpus": " ".join(map(str, range(cpus))),
    }
    for name in _FACTS:
        size = model.named.get(name, 1 if name == "cores" else cpus)
        facts[name] = " ".join(str(cpu // size) for cpu in range(cpus))
    return series, facts
