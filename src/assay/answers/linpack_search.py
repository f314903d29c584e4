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
    """One set of settings by name, for so many ranks, and its rate in flop/s in the trials."""

    settings: Mapping[str, str]
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
    """A search's trials at order ``n``: what was chosen, and every candidate, the best first."""

    n: int
    chosen: Candidate
    candidates: Sequence[Candidate]

    @property
    def varied(self) -> list[str]:
        """The settings in which candidates differ."""
        return [name for name in _WORDS if len({c.settings.get(name) for c in self.candidates}) > 1]

    def loss(self, candidate: Candidate) -> float:
        """The share of the choice's rate that another candidate lacks, both by their trials."""
        own = [c.rate for c in self.candidates if c.settings == self.chosen.settings]
        return 1 - candidate.rate / (own[0] if own else self.chosen.rate)

    def usual(self) -> Candidate | None:
        """The best candidate with the block and the grid that the kernel takes by itself."""
        own = {"nb": str(USUAL_NB), "p": str(usual_rows(self.chosen.ranks))}
        alike = [c for c in self.candidates if own.items() <= c.settings.items()]
        return alike[0] if alike else None


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
    candidates = [
        candidate
        for name, text in facts.items()
        if _CANDIDATE.fullmatch(name) and (candidate := _candidate(str(text), ranks)) is not None
    ]
    settings = {name: _plain(facts[name]) for name in _WORDS if name in facts}
    rate = facts.get("rate")
    if not settings or not isinstance(rate, int | float) or rate <= 0:
        return None
    ordered = sorted(candidates, key=lambda candidate: -candidate.rate)
    order = facts.get("n")
    n = int(order) if isinstance(order, int | float) else 0
    return Search(n, Candidate(settings, float(rate), ranks), ordered)


def _candidate(text: str, ranks: int) -> Candidate | None:
    """``nb=128 p=1 broadcast=ring swap=spread depth=1: 1.23e11``."""
    settings, _, rate = text.rpartition(":")
    try:
        value = float(rate)
    except ValueError:
        return None
    return Candidate(dict(_SETTING.findall(settings)), value, ranks) if value > 0 else None


def _plain(value: Value) -> str:
    """A fact as the candidates write it: whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
