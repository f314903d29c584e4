"""Programs from elsewhere on hosts of a lab, for ``lab_prediction.py`` and ``prediction.py``.

For the former, a program is traced with its ranks on one host, which gives its computing times
between calls, and with one rank per host on the lab. The first trace is replayed on a model of the
lab from its ping-pong; the second gives the real time.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from common import cores, environment, say
from rich.console import Console

from assay.campaign.commands.profile_program import profile_program
from assay.config import Config, load_config
from assay.errors import AssayError
from assay.kernels.toolchains import select_toolchain
from assay.launch.mpi.mpirun import launcher_words
from assay.model.placement import Placement
from assay.processes import POLITE_WAITING
from assay.simulation.cluster import SimulatedCluster
from assay.simulation.simgrid import SimGrid
from assay.subjects.simulation.findings import (
    SimulationSettings,
    find_simulation,
    traced_input,
)
from assay.trace.events import Trace
from assay.trace.reading_trace import read_trace
from virtual_cluster import VirtualCluster

ROUNDS = 4
LONGEST = 20
# Of that time: a run that took as long was ended.
_HUNG = 0.95


def program_times(
    programs: Mapping[str, str], hosts: Sequence[int], rate: float, folder: Path, limit: float
) -> dict[str, list[float]]:
    """Run times of each program by ``NAME HOSTSx1``, s, from ``ROUNDS`` launches in turn.

    ``programs``: commands by name; ``{ranks}`` in one is the number of ranks. ``rate``: of the
    links, B/s. Traces with all ranks on one host, one per program and number of ranks, are kept in
    ``folder``. After ``limit`` s no further launch is begun.
    """
    times: dict[str, list[float]] = {}
    end = time.monotonic() + limit
    folder.mkdir(parents=True, exist_ok=True)
    with lab_of(max(hosts), rate, folder) as lab:
        for name, command in programs.items():
            for ranks in hosts:
                alone = folder / f"{name}-{ranks}"
                if not (alone / "run.json").exists():
                    traced(command, Placement(nodes=1, ppn=ranks), alone, HERE)
        for _ in range(ROUNDS):
            for name, command in programs.items():
                for ranks in hosts:
                    if time.monotonic() > end:
                        return times
                    with tempfile.TemporaryDirectory() as place_of_trace:
                        place = Placement(nodes=ranks, ppn=1)
                        try:
                            taken = traced(command, place, Path(place_of_trace) / "trace", lab)
                        except AssayError as error:
                            say(f"{name} {ranks}x1: {error}")
                            continue
                    times.setdefault(f"{name} {ranks}x1", []).append(taken.end - taken.begin)
    return times


def program_prediction(
    name: str, ranks: int, folder: Path, where: SimulatedCluster, simgrid: SimGrid | None
) -> tuple[float | None, float | None]:
    """Run times by the closed form and by SimGrid, s, from the trace on one host."""
    found = find_simulation(
        traced_input(name, read_trace(folder / f"{name}-{ranks}")), where, Path("lab.toml"),
        simgrid, SimulationSettings(1, draws=1),
    )  # fmt: skip
    return found.closed_form, found.simulated


@dataclass(frozen=True)
class Host:
    """The place where programs are started: assay's settings there, and the words that enter the
    host.
    """

    config: Config
    enter: tuple[str, ...] = ()

    def launcher(self, place: Placement) -> list[str]:
        """The command line before a program's that starts its ranks at ``place``."""
        words = launcher_words(
            select_toolchain(None, self.config), place, cluster=self.config.cluster
        )
        return [*self.enter, *words]


HERE = Host(Config())


@contextmanager
def lab_of(hosts: int, rate: float, folder: Path) -> Iterator[Host]:
    """The first host of a lab with links of ``rate`` B/s, whose settings are written to ``folder``.

    Programs that are started meanwhile have ranks that sleep while they wait, if there are more
    hosts than CPUs.
    """
    polite = POLITE_WAITING if hosts > cores() else {}
    with VirtualCluster(hosts, rates=(rate,)) as lab, environment(polite):
        written = folder / "assay.toml"
        written.write_text(lab.config(), encoding="utf-8")
        yield Host(load_config(written), tuple(lab.command(lab.hosts[0])))


def traced(
    command: str, place: Placement, folder: Path, host: Host, longest: float = LONGEST
) -> Trace:
    """The trace of a run, which stays in ``folder``; ``{ranks}`` in the command is their number.

    Raises AssayError if it left no profile, or did not end within ``longest`` s.
    """
    words = host.launcher(place) + shlex.split(command.replace("{ranks}", str(place.ranks)))
    words = ["timeout", str(longest), *words]
    profile_program(words, folder, host.config, Console(quiet=True), trace=True)
    trace = read_trace(folder)
    if trace.end - trace.begin > _HUNG * longest:
        raise AssayError(f"It did not end within {longest:g} s.", where=str(folder))
    return trace
