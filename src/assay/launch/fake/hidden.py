"""The hidden shares of network.overlap on a scenario's machine, from the planted times."""

from __future__ import annotations

from collections.abc import Sequence

from assay.kernels.nonblocking.overlap import hidden_share
from assay.launch.fake.transfers import sample_series
from assay.records.schema import SampleSeries

_SHARES = {"overlap": "overlapped", "overlap_tested": "tested"}
# Of a machine that hides nothing: shares of the time of a sample, which has these four parts.
_NOTHING_HIDDEN = {"communication": 1, "computation": 1, "overlapped": 2, "tested": 2}


def overlap_series(planted: Sequence[SampleSeries], values: Sequence[float]) -> list[SampleSeries]:
    """The series that the scenario doesn't plant, as the real kernel reports them: the parts of
    samples of ``values`` seconds if it plants none, and the shares if all parts are known.
    """
    parts = [] if planted else _nothing_hidden(values)
    times = {series.metric: series.values for series in (*planted, *parts)}
    if not _NOTHING_HIDDEN.keys() <= times.keys():
        return parts
    found = []
    for name, both in _SHARES.items():
        of_samples = (times["communication"], times["computation"], times[both])
        shares = [hidden_share(*each) for each in zip(*of_samples, strict=True)]
        found.append(sample_series(name, "1", shares))
    return [*parts, *found]


def _nothing_hidden(values: Sequence[float]) -> list[SampleSeries]:
    whole = sum(_NOTHING_HIDDEN.values())
    return [
        sample_series(name, "s", [value * share / whole for value in values])
        for name, share in _NOTHING_HIDDEN.items()
    ]
