"""Published run-to-run variation of four systems, from the figures in ``papers/``.

``variability.toml`` describes the systems as reports do.

Source: Kramer & Ryan (2003), the model for the question "how steady is it". Times are in s;
coefficients of variation are relative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assay.reference.papers.loading import figures_of

_TABLE = Path(__file__).with_name("variability.toml")

YEAR = 2003
SOURCE = "Kramer & Ryan (2003)"
# The NPB codes of table 2, with the class and the number of processes of their runs.
CODES = ("EP", "LU", "FT")
CLASS = "C"
# Section 6: version 2, in Fortran and C.
CODE = "NASA's NPB 2 for MPI"
RANKS = 128


@dataclass(frozen=True)
class PublishedSystem:
    """One of the four systems."""

    name: str
    site: str
    processor: str
    #: Number of processes per node. All CPUs of a node were used.
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
    return tuple(
        PublishedSystem(**{name: value for name, value in entry.items() if name != "cluster"})
        for entry in _systems()
    )


@cache
def published_runs() -> tuple[PublishedRuns, ...]:
    """Table 2: twelve entries, system by system."""
    figures = figures_of("kramer-2003")

    def value(cluster: str, code: str, name: str) -> float:
        return figures[f"{cluster}.npb.{code.lower()}.{name}"].si

    return tuple(
        PublishedRuns(
            system=system["name"],
            code=code,
            runs=int(value(system["cluster"], code, "runs")),
            mean=value(system["cluster"], code, "mean"),
            deviation=value(system["cluster"], code, "deviation"),
            cov=value(system["cluster"], code, "cov"),
        )
        for system in _systems()
        for code in CODES
    )


@cache
def published_clocks() -> tuple[PublishedClocks, ...]:
    """Table 3."""
    figures = figures_of("kramer-2003")
    return tuple(
        PublishedClocks(
            code=code,
            wall=figures[f"mcurie.npb.{code.lower()}.cov_by_wall_clock"].si,
            accounting=figures[f"mcurie.npb.{code.lower()}.cov_by_accounting"].si,
        )
        for code in CODES
    )


@cache
def _systems() -> list[dict[str, Any]]:
    """Each system with ``cluster``, its id in the figures."""
    import tomllib

    systems: list[dict[str, Any]] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["system"]
    return systems
