"""What a search of Linpack's settings tried, and how much they matter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.answers.linpack_data import Results, measurements_of
from assay.kernels.linpack import USUAL_NB, usual_rows
from assay.models.linpack import SEARCH, Largest, read_search, settle
from assay.plans.model import Value
from assay.records.model import RunData

_CANDIDATE = re.compile(r"candidate_(\d+)")
_SETTING = re.compile(r"(\w+)=(\S+)")
# What a setting is called beside its value.
_WORDS = {
    "nb": "NB {}",
    "p": "{} × {} processes",
    "broadcast": "broadcast {}",
    "swap": "swap {}",
    "depth": "look-ahead {}",
}


@dataclass(frozen=True)
class Candidate:
    """One set of settings by name, for so many ranks: its rate in flop/s in trials of order n."""

    settings: Mapping[str, str]
    n: int
    rate: float
    ranks: int

    def text(self, names: Sequence[str]) -> str:
        """Those of its settings, in words."""
        told = {name: self.settings[name] for name in names if name in self.settings}
        return ", ".join(_WORDS[name].format(value, self._columns) for name, value in told.items())

    @property
    def _columns(self) -> int:
        """Columns of the process grid."""
        rows = self.settings.get("p", "")
        return self.ranks // int(rows) if rows.isdigit() and int(rows) else 0


@dataclass(frozen=True)
class Search:
    """A search: what was chosen, and what was tried, a candidate once for each order."""

    chosen: Candidate
    tried: Sequence[Candidate]

    @property
    def orders(self) -> list[int]:
        """The orders of the trials, ascending."""
        return sorted({candidate.n for candidate in self.tried})

    @property
    def count(self) -> int:
        """How many different settings were tried."""
        return len({tuple(sorted(candidate.settings.items())) for candidate in self.tried})

    @property
    def varied(self) -> list[str]:
        """The settings in which candidates differ."""
        return [name for name in _WORDS if len({c.settings.get(name) for c in self.tried}) > 1]

    def loss(self, candidate: Candidate) -> float:
        """What a candidate lacks of the best of its order, as a share of that."""
        best = max(other.rate for other in self.tried if other.n == candidate.n)
        return 1 - candidate.rate / best

    @property
    def worst(self) -> Candidate:
        """The candidate that loses most. Raises ValueError where none was told."""
        return max(self.tried, key=self.loss)

    @property
    def usual(self) -> Candidate | None:
        """The block and the grid that the kernel takes by itself, where they were tried last."""
        own = {"nb": str(USUAL_NB), "p": str(usual_rows(self.chosen.ranks))}
        alike = [c for c in self.tried if own.items() <= c.settings.items()]
        return max(alike, key=lambda c: (c.n, c.rate), default=None)


def search_of(known: Results, run: RunData) -> Search | None:
    """The search that the settings of Rmax came from; None where there was none."""
    for measurement in measurements_of(run, SEARCH, known.rmax):
        made = read_facts(measurement.record.facts, measurement.cell.placement.ranks)
        if made is not None:
            return made
    return None


def largest_of(known: Results, run: RunData) -> Largest | None:
    """The largest order by the search, and what limited it; None where N was given by hand."""
    cell = known.rmax.summary.cell
    for measurement in measurements_of(run, SEARCH, known.rmax):
        found = read_search(measurement.record.facts, cell.placement.ranks)
        if found is not None:
            return settle(cell, found, run.manifest.plan.replication.budget).largest
    return None


def read_facts(facts: Mapping[str, Value], ranks: int) -> Search | None:
    """A search from its facts; None where they tell no choice with a rate."""
    settings = {name: _plain(facts[name]) for name in _WORDS if name in facts}
    n, rate = facts.get("n"), facts.get("rate")
    if not settings or not isinstance(n, int | float) or not isinstance(rate, int | float):
        return None
    tried = [
        candidate
        for name, text in facts.items()
        if _CANDIDATE.fullmatch(name) and (candidate := _candidate(str(text), int(n), ranks))
    ]
    return Search(Candidate(settings, int(n), float(rate), ranks), tried) if rate > 0 else None


def _candidate(text: str, order: int, ranks: int) -> Candidate | None:
    """``nb=128 p=1 broadcast=ring swap=spread depth=1 n=3000: 1.23e11``; n is ``order`` if unsaid.

    None for what tells no rate.
    """
    words, _, rate = text.rpartition(":")
    settings = dict(_SETTING.findall(words))
    try:
        n, value = int(settings.pop("n", order)), float(rate)
    except ValueError:
        return None
    return Candidate(settings, n, value, ranks) if value > 0 else None


def _plain(value: Value) -> str:
    """A fact as the candidates write it: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
