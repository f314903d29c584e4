"""A fake network under load: what network.congestion measures beside planted aggressors."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assay.launch.fake.transfers import sample_series
from assay.model.placement import Value
from assay.records.schema import SampleSeries

CONGESTION = "network.congestion"
# Operations of a launch and phase from which the ratio of a quantile is given, by its name.
_NEEDED = {"p99": (0.99, 1_000), "p999": (0.999, 10_000)}


class CongestionModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How aggressors slow victims. Pairs are named as in ``"incast/allreduce"``."""

    #: Time of each victim's operation on the quiet network, s; others take 20 µs.
    quiet: dict[str, float] = {}
    #: Factor on the times of a victim beside all aggressors, by pair; others aren't slowed. Beside
    #: a share of them the excess over 1 is this share of the excess.
    slowed: dict[str, float] = {}
    #: By pair, the part of the loaded operations that take ten times as long, beside all
    #: aggressors.
    delayed: dict[str, float] = {}
    #: Factor on all loaded operations, also of the control: an error of the method.
    bias: float = 1.0
    #: Standard deviation of the logarithm of an operation's time, and of a launch's ratio.
    sigma: float = 0.2
    launch_sigma: float = 0.01
    #: Operations of a launch in each phase.
    operations: int = 2000
    #: Rate at which all aggressors receive at full share, B/s.
    load: float = 1e9


def congestion_series(
    model: CongestionModel,
    parameters: Mapping[str, Value],
    nodes: int,
    *,
    samples: int,
    seed: int,
    noise: str,
) -> tuple[list[SampleSeries], dict[str, Value]]:
    """The series beside the time, and facts, as the real kernel reports them.

    ``noise``: names the measurement.
    """
    import numpy as np

    from assay.kernels.congestion import LEVELS, active_nodes

    draw = np.random.default_rng([seed, *noise.encode()])
    victim, share = str(parameters["victim"]), float(parameters["share"])
    pair = f"{parameters['aggressor']}/{victim}"
    factor = 1.0 + share * (model.slowed.get(pair, 1.0) - 1.0)
    factor *= model.bias * float(np.exp(model.launch_sigma * draw.standard_normal()))
    blocks = max(samples, 1)
    each = max(model.operations // blocks, 1)
    times = {
        phase: model.quiet.get(victim, 20e-6)
        * np.exp(model.sigma * draw.standard_normal((blocks, each)))
        for phase in ("quiet", "loaded")
    }
    slow = draw.random((blocks, each)) < share * model.delayed.get(pair, 0.0)
    times["loaded"] = times["loaded"] * factor * np.where(slow, 10.0, 1.0)
    medians = {phase: np.median(values, axis=1) for phase, values in times.items()}
    found: dict[str, tuple[str, list[float]]] = {
        "impact": ("", (medians["loaded"] / medians["quiet"]).tolist()),
        **{phase: ("s", values.tolist()) for phase, values in medians.items()},
    }
    statistics = {"mean": {phase: float(values.mean()) for phase, values in times.items()}}
    for name, (level, needed) in _NEEDED.items():
        if blocks * each >= needed:
            statistics[name] = {
                phase: float(np.quantile(values, level, method="median_unbiased"))
                for phase, values in times.items()
            }
    for name, of in statistics.items():
        found |= {f"{phase}_{name}": ("s", [value]) for phase, value in of.items()}
        found[f"impact_{name}"] = ("", [of["loaded"] / of["quiet"]])
    known = [level for level in LEVELS if blocks * each * (1.0 - level) >= 1.0 - 1e-9]
    for phase, values in times.items():
        levels = np.quantile(values, known, method="median_unbiased")
        found[f"{phase}_quantiles"] = ("s", levels.tolist())
    active = active_nodes(parameters, nodes)
    facts: dict[str, Value] = {
        "victims": " ".join(map(str, range(nodes // 2))),
        "aggressors": " ".join(map(str, range(nodes // 2, nodes // 2 + active))),
        "operations_quiet": blocks * each,
        "operations_loaded": blocks * each,
        "load": share * model.load,
    }
    return [sample_series(name, unit, values) for name, (unit, values) in found.items()], facts
