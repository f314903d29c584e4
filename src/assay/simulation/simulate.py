"""Simulated run times of a program on a cluster: replays with random speeds of nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.simulation.cluster import NodeVariability, SimulatedCluster
from assay.simulation.platform import hosts_for, options, platform_xml
from assay.simulation.simgrid import SimGrid, run_simulation
from assay.trace.exports.simgrid import LIST

# Number of random intervals of a node's speed over time; longer runs repeat them.
_INTERVALS = 500


@dataclass(frozen=True)
class SimulatedProgram:
    """The program to simulate."""

    name: str
    ranks: int
    #: Time of the whole run ÷ time of the simulated part.
    factor: float = 1.0
    #: Writes the actions of all ranks to a folder and returns sentences on what was left out.
    write: Callable[[Path], list[str]] | None = None
    #: An MPI program built for SimGrid and its arguments, instead of actions.
    command: tuple[str, ...] = ()
    #: Share of the bandwidth of adapters that its messages reach.
    network: float = 1.0


@dataclass(frozen=True)
class SimulatedTimes:
    """Simulated times."""

    #: Run time with equal, steady nodes, s.
    nominal: float
    #: Run times with random speeds of nodes and random figures of the network, s; empty if nothing
    #: varies.
    drawn: Floats
    #: Sentences on what was left out.
    left_out: tuple[str, ...]
    #: Output of a program that was executed.
    output: str


def simulate(
    cluster: SimulatedCluster,
    program: SimulatedProgram,
    per_node: int,
    simgrid: SimGrid,
    *,
    draws: int,
    seed: int,
    limit: float,
    keep: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SimulatedTimes:
    """The run times of ``draws`` draws from ``seed``, each within ``limit`` s.

    ``keep``: a new folder for the platform and the actions of the nominal run. Raises AssayError if
    the ranks don't fit, or the simulation fails.
    """
    placed = hosts_for(cluster, program.ranks, per_node)
    used = list(dict.fromkeys(placed))
    number = draws if cluster.variability.any or _uncertain(cluster) else 0
    with tempfile.TemporaryDirectory(prefix="assay-simulate-") as temporary:
        folder = Path(temporary) if keep is None else keep
        _make(folder, keep)
        left_out = program.write(folder) if program.write is not None else []
        (folder / "hosts").write_text("".join(f"{host}\n" for host in placed), encoding="ascii")
        words: Sequence[str | Path] = (
            ["-replay", LIST, *options(cluster)]
            if program.write is not None
            else [*options(cluster, program=True), *program.command]
        )

        def one(draw: int | None) -> tuple[float, str]:
            (folder / "platform.xml").write_text(
                _platform(cluster, used, folder, seed=seed, draw=draw, share=program.network),
                encoding="ascii",
            )
            seconds, text = run_simulation(simgrid, folder, program.ranks, words, limit)
            if seconds is None:
                raise AssayError(
                    "SimGrid printed no simulated time.",
                    where=str(folder),
                    detail=text[-2000:],
                    fix="Check that the program ends normally and that this version of SimGrid "
                    "is supported.",
                )
            return seconds * program.factor, text

        # The nominal run comes last, so that its platform is kept.
        drawn = []
        for draw in range(number):
            drawn.append(one(draw)[0])
            if progress is not None:
                progress(draw + 1, number + 1)
        nominal, text = one(None)
    return SimulatedTimes(
        nominal, np.array(drawn), tuple(left_out), text if program.command else ""
    )


def _make(folder: Path, keep: Path | None) -> None:
    if keep is None:
        return
    try:
        keep.mkdir(parents=True)
    except FileExistsError:
        raise AssayError(
            "The folder exists already.", where=str(folder), fix="Name another folder with --keep."
        ) from None
    except OSError as error:
        raise AssayError(
            f"The folder can't be made: {error.strerror or error}.",
            where=str(folder),
            fix="Name another folder with --keep.",
        ) from None


def _uncertain(cluster: SimulatedCluster) -> bool:
    return cluster.latency.spread > 0.0 or cluster.bandwidth.spread > 0.0


def _platform(
    cluster: SimulatedCluster,
    used: Sequence[str],
    folder: Path,
    *,
    seed: int,
    draw: int | None,
    share: float,
) -> str:
    """``share``: of the bandwidth of adapters that nodes reach."""
    latency, bandwidth = cluster.latency, cluster.bandwidth
    if draw is None:
        return platform_xml(
            cluster, used, latency=latency.value, bandwidth=bandwidth.value, speeds={}, profiles={},
            reached=share,
        )  # fmt: skip
    random = np.random.default_rng([seed, draw])
    drawn = [
        figure.value * float(np.exp(figure.spread * random.standard_normal()))
        for figure in (latency, bandwidth)
    ]
    varies = cluster.variability
    speeds = dict(
        zip(
            used,
            np.exp(varies.between_nodes * random.standard_normal(len(used))).tolist(),
            strict=True,
        )
    )
    profiles = {}
    if varies.over_time > 0.0:
        for host in used:
            profiles[host] = f"speed-{host}.txt"
            (folder / profiles[host]).write_text(speed_profile(varies, random), encoding="ascii")
    return platform_xml(
        cluster,
        used,
        latency=drawn[0],
        bandwidth=drawn[1],
        speeds=speeds,
        profiles=profiles,
        reached=share,
    )


def speed_profile(varies: NodeVariability, random: np.random.Generator) -> str:
    """A host's speed over time in SimGrid's format: a factor from each moment on, repeated."""
    factors = np.exp(varies.over_time * random.standard_normal(_INTERVALS))
    lines = [f"{k * varies.interval:.9g} {factor:.6f}" for k, factor in enumerate(factors.tolist())]
    return "\n".join([*lines, f"LOOPAFTER {varies.interval:.9g}", ""])
