"""The devices of a fake node: what connects them, and what gpu.peer measures between them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from statistics import median

import msgspec

from assay.launch.fake.transfers import sample_series
from assay.model.placement import Value
from assay.records.schema import SampleSeries

PEER = "gpu.peer"


class PeerModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Islands of devices with links between them, and the host between islands."""

    #: Devices of an island, with neighbouring numbers; 0: all devices are one island.
    island: int = 0
    #: Bandwidth within an island and between islands, B/s in one direction.
    bandwidth: float = 240e9
    between: float = 20e9
    #: Time of a copy of 8 B within an island, s; ``latency_between``: between islands.
    latency: float = 2e-6
    latency_between: float = 8e-6
    #: Standard deviation of the logarithm of a pair's time in a launch.
    sigma: float = 0.01


def peer_series(
    model: PeerModel,
    parameters: Mapping[str, Value],
    devices: int,
    *,
    samples: int,
    seed: int,
    noise: str,
) -> tuple[list[SampleSeries], dict[str, Value]]:
    """The series of pairs, and facts, as the real kernel reports them.

    ``noise``: names the measurement.
    """
    import numpy as np

    draw = np.random.default_rng([seed, *noise.encode()])
    size, both = int(parameters["bytes"]), parameters["direction"] == "both"
    by_host = parameters["path"] == "host"
    pairs = [pair for pair in permutations(range(devices), 2) if pair[0] < pair[1] or not both]
    near = [
        not by_host and (not model.island or one // model.island == other // model.island)
        for one, other in pairs
    ]
    large, small = (
        [
            seconds * float(np.exp(model.sigma * draw.standard_normal()))
            for seconds in ((within if direct else between) for direct in near)
        ]
        for within, between in (
            (size / model.bandwidth, size / model.between),
            (model.latency, model.latency_between),
        )
    )
    series = []
    for suffix, times in (("", large), ("_latency", small)):
        for name, value in (("median_pair", median(times)), ("slowest_pair", max(times))):
            series.append(sample_series(f"{name}{suffix}", "s", [value] * samples))
        series += [
            sample_series(f"pair{suffix}", "s", [seconds], ends=ends)
            for ends, seconds in zip(pairs, times, strict=True)
        ]
    facts: dict[str, Value] = {
        "members": devices,
        "pairs": len(pairs),
        **{
            f"{name}_pairs": " ".join(
                f"{one}-{other}"
                for (one, other), direct in zip(pairs, near, strict=True)
                if direct == wanted
            )
            for name, wanted in (("direct", True), ("host", False))
        },
    }
    return series, facts
