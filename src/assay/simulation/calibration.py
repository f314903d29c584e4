"""The error of simulated run times, by kind of program, and how HPL is executed by default.

``calibration.json`` has both, from measured and published runs. ``benchmarks/simulation_error.py``
makes it: each error comes from runs that were left out of the calibration, and 90% intervals
hold for 90% of such runs (docs/simulate.md, "How sure is it?").
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from assay.models.calls.linpack_work import LinpackExecution

CALIBRATION = Path(__file__).with_name("calibration.json")
# Half of a normal 90% interval, in standard deviations.
_NINETY = 1.6448536269514722
# A run with more ranks than this many times the most of the measured runs is an extrapolation.
FAR = 2


@dataclass(frozen=True)
class ModelError:
    """The error of predicted run times of a kind of program.

    Half-widths belong to 90% intervals of the logarithm of predicted over measured time.
    """

    #: What was measured, in words, such as ``HPL on published clusters of 2000 to 2005``.
    runs: str
    #: Number of these runs. ``most_ranks``: the most ranks of one.
    rows: int
    most_ranks: int
    #: Half-width of a simulation, and its increase per share of the time that is not computing.
    simulated: float
    waiting: float
    #: Half-width of the closed form; None if the kind has none.
    closed: float | None
    #: Share of ``held_of`` runs whose measured time is in the interval that the other runs give: of
    #: all kinds that were measured, or of the published runs.
    held: float
    held_of: int

    def half_width(self, *, simulated: bool, computing: float) -> float:
        """The half-width for a time of which the share ``computing`` is computing.

        Without a closed form, the simulation's half-width is used for it.
        """
        if not simulated and self.closed is not None:
            return self.closed
        return self.simulated + self.waiting * min(max(1.0 - computing, 0.0), 1.0)


@dataclass(frozen=True)
class Calibration:
    """What ``calibration.json`` contains."""

    #: HPL on listed clusters, which a description may replace.
    linpack: LinpackExecution
    #: By kind of program: ``npb.cg``, ``linpack``, ``linpack.look-ahead``, ``trace``.
    errors: dict[str, ModelError]


@cache
def calibration() -> Calibration:
    """The calibration that assay ships."""
    data = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    names = [field.name for field in fields(ModelError)]
    return Calibration(
        LinpackExecution(**data["linpack"]),
        {
            kind: ModelError(**{name: entry[name] for name in names})
            for kind, entry in data["errors"].items()
        },
    )


def time_interval(
    seconds: float,
    error: ModelError,
    *,
    simulated: bool,
    computing: float | None,
    spread: float = 0.0,
    least: float = 0.0,
) -> tuple[float, float]:
    """The 90% interval of a run time.

    ``computing``: computing of a rank, s; None counts as all of the time. ``spread``: standard
    deviation of the logarithm over draws; figures and the model err independently. ``least``: time
    that no run can be below, s, such as that of the arithmetic at the rate of DGEMM.
    """
    share = 1.0 if computing is None else computing / seconds
    width = math.hypot(error.half_width(simulated=simulated, computing=share), _NINETY * spread)
    low = min(max(seconds * math.exp(-width), least), seconds)
    return low, seconds * math.exp(width)
