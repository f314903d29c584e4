"""A search of Linpack's settings: its trials and their loss against the best trial."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.kernels.linpack import USUAL_NB, usual_rows
from assay.model.placement import Value
from assay.models.linpack.sizing import SEARCH, LargestOrder, read_search, resolve
from assay.questions.common.findings import INTERNAL
from assay.questions.common.selection import Point
from assay.questions.speed.linpack.results import measurements_of
from assay.records.model import RunData

_CANDIDATE = re.compile(r"candidate_(\d+)")
_SETTING = re.compile(r"(\w+)=(\S+)")
# Display text of each setting.
_SETTINGS = {
    "nb": "NB {}",
    "p": "{} × {} processes",
    "broadcast": "broadcast {}",
    "swap": "swap {}",
    "depth": "look-ahead {}",
}


@dataclass(frozen=True)
class SettingsTrial:
    """A trial of one set of settings."""

    #: Values of the settings, by name.
    settings: Mapping[str, str]
    #: Order N of the trial.
    n: int
    #: Rate of the trial, in flop/s.
    rate: float
    #: Number of ranks of the placement.
    ranks: int

    def text(self, names: Sequence[str]) -> str:
        """The settings with these names, as text."""
        values = [(name, self.settings[name]) for name in names if name in self.settings]
        return ", ".join(_SETTINGS[name].format(value, self._columns) for name, value in values)

    @property
    def _columns(self) -> int:
        """Number of columns of the process grid."""
        rows = self.settings.get("p", "")
        return self.ranks // int(rows) if rows.isdigit() and int(rows) else 0


@dataclass(frozen=True)
class RatedTrial:
    """A trial and its loss against the best trial at its order."""

    #: The trial.
    trial: SettingsTrial
    #: 1 - the trial's rate over the best rate at its order.
    loss: float


@dataclass(frozen=True)
class LinpackSearch:
    """A search of settings."""

    #: Chosen settings.
    chosen: SettingsTrial
    #: Number of different settings that were tried.
    count: int
    #: Orders of the trials, ascending.
    orders: tuple[int, ...]
    #: Names of the settings in which trials differ.
    varied: tuple[str, ...]
    #: Trial with the largest loss; None if no trial is known.
    worst: RatedTrial | None
    #: Trial with the kernel's default block size and grid, at the largest order at which they were
    #: tried; None if they were not tried.
    usual: RatedTrial | None
    #: All trials, one per set of settings and order.
    tried: tuple[RatedTrial, ...] = field(metadata=INTERNAL)


def _search(chosen: SettingsTrial, tried: Sequence[SettingsTrial]) -> LinpackSearch:
    best: dict[int, float] = {}
    for trial in tried:
        best[trial.n] = max(trial.rate, best.get(trial.n, 0.0))
    rated = tuple(RatedTrial(trial, 1 - trial.rate / best[trial.n]) for trial in tried)
    own = {"nb": str(USUAL_NB), "p": str(usual_rows(chosen.ranks))}.items()
    usual = [one for one in rated if own <= one.trial.settings.items()]
    return LinpackSearch(
        chosen,
        count=len({tuple(sorted(trial.settings.items())) for trial in tried}),
        orders=tuple(sorted(best)),
        varied=tuple(
            name for name in _SETTINGS if len({trial.settings.get(name) for trial in tried}) > 1
        ),
        worst=max(rated, key=lambda one: one.loss, default=None),
        usual=max(usual, key=lambda one: (one.trial.n, one.trial.rate), default=None),
        tried=rated,
    )


def search_of(run: RunData, rmax: Point) -> LinpackSearch | None:
    """The search that chose the settings of Rmax; None if there was none."""
    for measurement in measurements_of(run, SEARCH, rmax):
        found = read_facts(measurement.record.facts, measurement.cell.placement.ranks)
        if found is not None:
            return found
    return None


def largest_of(run: RunData, rmax: Point) -> LargestOrder | None:
    """The largest order according to the search, and its limit.

    None without a search, or if the plan gives N.
    """
    cell = rmax.summary.cell
    for measurement in measurements_of(run, SEARCH, rmax):
        found = read_search(measurement.record.facts, cell.placement.ranks)
        if found is not None:
            return resolve(cell, found, run.manifest.plan.replication.budget).largest
    return None


def read_facts(facts: Mapping[str, Value], ranks: int) -> LinpackSearch | None:
    """A search, read from its facts; None if they contain no choice with a rate."""
    settings = {name: _plain(facts[name]) for name in _SETTINGS if name in facts}
    n, rate = facts.get("n"), facts.get("rate")
    if not settings or not isinstance(n, int | float) or not isinstance(rate, int | float):
        return None
    tried = [
        candidate
        for name, text in facts.items()
        if _CANDIDATE.fullmatch(name) and (candidate := _candidate(str(text), int(n), ranks))
    ]
    return _search(SettingsTrial(settings, int(n), float(rate), ranks), tried) if rate > 0 else None


def _candidate(text: str, order: int, ranks: int) -> SettingsTrial | None:
    """A trial from ``nb=128 p=1 broadcast=ring swap=spread depth=1 n=3000: 1.23e11``.

    Without n, ``order`` is used. None for a text without a rate.
    """
    listed, _, rate = text.rpartition(":")
    settings = dict(_SETTING.findall(listed))
    try:
        n, value = int(settings.pop("n", order)), float(rate)
    except ValueError:
        return None
    return SettingsTrial(settings, n, value, ranks) if value > 0 else None


def _plain(value: Value) -> str:
    """A fact in the form of candidates: whole numbers without a decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
