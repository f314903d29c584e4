"""How much published systems varied from run to run; the data are in ``variability.toml``.

Source: Kramer & Ryan (2003), whose study of four systems is the model of "how steady is it". Times
are in s, coefficients of variation relative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("variability.toml")

YEAR = 2003
SOURCE = "Kramer & Ryan (2003)"
# The NPB of table 2, with the class and the number of processes of its runs.
CODES = ("EP", "LU", "FT")
CLASS = "C"
RANKS = 128


@dataclass(frozen=True)
class PublishedSystem:
    """One of the four systems. ``ppn``: processes per node; all CPUs of a node were used."""

    name: str
    site: str
    processor: str
    ppn: int
    network: str
    load: str


@dataclass(frozen=True)
class PublishedRuns:
    """Table 2: the run times of one code on one system. ``cov`` as printed."""

    system: str
    code: str
    runs: int
    mean: float
    deviation: float
    cov: float


@dataclass(frozen=True)
class PublishedClocks:
    """Table 3: the T3E's coefficient of variation by wall clock and by system accounting."""

    code: str
    wall: float
    accounting: float


def published_systems() -> tuple[PublishedSystem, ...]:
    """The four systems, in the paper's order."""
    return tuple(PublishedSystem(**entry) for entry in _document()["system"])


def published_runs() -> tuple[PublishedRuns, ...]:
    """Table 2: twelve entries, system by system."""
    return tuple(PublishedRuns(**entry) for entry in _document()["runs"])


def published_clocks() -> tuple[PublishedClocks, ...]:
    """Table 3."""
    return tuple(PublishedClocks(**entry) for entry in _document()["clocks"])


@cache
def _document() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))
