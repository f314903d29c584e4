"""network.congestion beside GPCNeT on a lab whose trunk both saturate.

    .venv/bin/python benchmarks/congestion.py --gpcnet PATH [--load-bytes 4096] [--mpi NAME]

PATH is a ``network_load_test`` built with the MPI of the toolchain NAME, assay's own by default,
the one on PATH with ``--mpi path``. The patterns of both are the same if it was built with these
settings at the beginning of its source; otherwise the rows show the order of the impacts only:

- ``CONGESTOR_NODE_FRAC`` 0.5, ``NUM_CONGESTOR_TESTS`` 1: the incast of messages alone
- ``INCAST_BASELINE_ITERS`` 3: a pass has four messages, and two passes are in flight at most, as
  eight messages of assay are; ``INCAST_MSG_COUNT`` in doubles: ``--load-bytes`` in bytes
- ``BW_OUTSTANDING`` 1: one message for each neighbour
- ``NUM_LAT_TESTS``, ``NUM_BW_TESTS``, ``NUM_ALLREDUCE_TESTS`` 10: a test ends after its time, but
  goes on synchronising once for each of its thousands of repetitions, through the loaded network

Each round lets it place victims, and draws the same places for assay: two hosts at each of two
switches, whose trunk is slower than two of their adapters. It is started again until a victim is at
each switch, the first host one of them. Victims at one switch share no link with the congestors. If
the first host is a congestor, GPCNeT over MPICH 5.0.2 with UCX waits forever: a message that has
arrived is not found by a receive from any source. Over Debian's Open MPI 4.1 it needs
``OMPI_MCA_osc=pt2pt`` in the environment, since no other component has windows over TCP.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from common import ASSAY, Comparison, PeerError, build, compare, finish, load, parser, say

from assay.config import load_config
from assay.kernels.building import build_kernels
from assay.kernels.toolchains import select_toolchain
from assay.lab.entering import environment
from assay.lab.spec import Spec, Wire
from assay.launch.mpi.mpirun import launcher_words
from assay.model.placement import Placement
from assay.topologies.kinds import Switches
from patient_ranks import patient
from virtual_cluster import VirtualCluster

HOSTS = 4
ADAPTER, TRUNK = 6e6, 8e6  # B/s
WITHIN = 0.15
LONGEST = 150.0  # s of one run
# Ranks of Open MPI leave the CPU while they wait, as MPICH's do with ``patient``.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}
MOST_TRIES = 30  # of a round, until GPCNeT's places are usable
APART = 2  # a draw of assay with a victim at each switch
# GPCNeT's tests, and the same operations of assay; sizes in bytes.
VICTIMS: Mapping[str, tuple[str, ...]] = {
    "RR Two-sided Lat": ("victim=pingpong", "bytes=8"),
    "RR Two-sided BW+Sync": ("victim=halo", "bytes=131072", "operations=8"),
    "Multiple Allreduce": ("victim=allreduce", "bytes=8"),
}
_ROW = re.compile(r"\|\s*([A-Z][\w+ -]*?) \(\d+ B\) \|\s*([\d.]+) \|\s*[\d.]+ \|\s*([\w/]+) \|")


def impacts_of(text: str) -> dict[str, float]:
    """Ratios of the mean beside congestors to the isolated one, by test, from what it printed.

    They are computed from the rows, because the printed factors have one digit. Raises PeerError if
    a test lacks one of the two.
    """
    found: dict[str, list[float]] = {}
    for name, mean, unit in _ROW.findall(text):
        time = float(mean) if unit == "usec" else 1.0 / float(mean)
        found.setdefault(name, []).append(time)
    if any(len(found.get(name, [])) != 2 for name in VICTIMS):
        raise PeerError(f"GPCNeT did not print both results of each test:\n{text[-2000:]}")
    return {name: found[name][1] / found[name][0] for name in VICTIMS}


def on_lab(lab: VirtualCluster, folder: Path, words: Sequence[str]) -> str:
    """The output of a command on the lab's first host."""
    try:
        done = subprocess.run(
            lab.command(lab.hosts[0], *words), cwd=folder, capture_output=True, text=True,
            env=patient(environment(lab, {**os.environ, **YIELDING})), timeout=LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise PeerError(f"{words[0]} took more than {LONGEST:g} s.") from None
    if done.returncode not in (0, 1) or not done.stdout:
        raise PeerError(f"{words[0]} failed: {done.stderr[-2000:]}")
    return done.stdout


def peers_round(
    lab: VirtualCluster, folder: Path, gpcnet: Path, mpi: str | None
) -> dict[str, float]:
    """GPCNeT's impacts with a victim at each switch. Raises PeerError if it never has them so."""
    config = load_config(folder / "assay.toml")
    launcher = launcher_words(
        select_toolchain(mpi, config), Placement(nodes=HOSTS, ppn=1), cluster=config.cluster
    )
    places = folder / "network_nodes_congestion.dat"
    near = {host.name for host in lab.hosts[: HOSTS // 2]}
    for _ in range(MOST_TRIES):
        places.unlink(missing_ok=True)
        started = subprocess.Popen(
            lab.command(lab.hosts[0], *map(str, launcher), str(gpcnet)), cwd=folder, text=True,
            env=patient(environment(lab, {**os.environ, **YIELDING})), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            while started.poll() is None and len(placed(places)) < HOSTS // 2:
                time.sleep(0.02)
            victims = placed(places)
            if lab.hosts[0].name in victims and len(near.intersection(victims)) == 1:
                return impacts_of(started.communicate(timeout=LONGEST)[0])
        except subprocess.TimeoutExpired:
            raise PeerError(f"{gpcnet.name} took more than {LONGEST:g} s.") from None
        finally:
            started.terminate()
            started.wait()
        time.sleep(1.0)  # it draws places by the second
    raise PeerError(f"GPCNeT never placed a victim at each switch in {MOST_TRIES} tries.")


def placed(path: Path) -> list[str]:
    """The hosts that GPCNeT wrote into a file, as far as it has written it."""
    return path.read_text().split() if path.exists() else []


def our_round(
    lab: VirtualCluster, folder: Path, load_bytes: int, mpi: str | None
) -> dict[str, float]:
    """assay's impacts on the mean, by the name of GPCNeT's test."""
    found = {}
    for test, victim in VICTIMS.items():
        text = on_lab(lab, folder, [
            *ASSAY, "measure", "network.congestion", *victim, "aggressor=incast",
            f"load_bytes={load_bytes}", f"draw={APART}", "--nodes", str(HOSTS),
            "--launches", "1", "--samples", "8", "--budget", "20 s", "--json",
            *(["--toolchain", mpi] if mpi else []),
        ])  # fmt: skip
        cells = json.loads(text)
        cell = cells[0] if isinstance(cells, list) else cells
        found[test] = float(cell["metrics"]["impact_mean"]["median"])
    return found


def compare_impacts(gpcnet: Path, load_bytes: int, mpi: str | None, *, quick: bool) -> Comparison:
    """A row for each test of GPCNeT."""
    comparison = Comparison()
    ours: dict[str, list[float]] = {name: [] for name in VICTIMS}
    theirs: dict[str, list[float]] = {name: [] for name in VICTIMS}
    spec = Spec(Switches(1, 2, HOSTS // 2), (Wire(ADAPTER),), Wire(TRUNK))
    before = load()
    with tempfile.TemporaryDirectory() as place, VirtualCluster(spec=spec) as lab:
        folder = Path(place)
        (folder / "assay.toml").write_text(lab.config(), encoding="utf-8")
        for number in range(1 if quick else 6):
            peer = peers_round(lab, folder, gpcnet, mpi)
            own = our_round(lab, folder, load_bytes, mpi)
            for name in VICTIMS:
                theirs[name].append(peer[name])
                ours[name].append(own[name])
            said = ", ".join(f"{name} {own[name]:.3f} / {peer[name]:.3f}" for name in VICTIMS)
            say(f"round {number + 1}, assay / GPCNeT: {said}")
    for name in VICTIMS:
        row = compare(
            "network.congestion", f"impact on {name}, {load_bytes} B", "", "less",
            ours[name], theirs[name],
            "GPCNeT", at_least=1 - WITHIN, goal="within 15%", load=before,
        )  # fmt: skip
        # Agreement, not an advantage: too good is as wrong as too bad.
        row.met = row.paired is not None and 1 - WITHIN <= row.paired <= 1 / (1 - WITHIN)
        comparison.rows.append(row)
    return comparison


def _executable(text: str) -> Path:
    path = Path(text).resolve()
    if not os.access(path, os.X_OK):
        raise ArgumentTypeError(f"{path} is no executable: give GPCNeT's network_load_test")
    return path


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--gpcnet", type=_executable, required=True, help="network_load_test")
    options.add_argument(
        "--load-bytes", type=int, default=4096, help="size of the congestors' messages"
    )
    options.add_argument(
        "--mpi", metavar="NAME", help="toolchain of both, such as 'path' (default: assay's own)"
    )
    given = options.parse_args()
    if given.mpi:
        build_kernels(select_toolchain(given.mpi, load_config()), kernels=["network.congestion"])
    else:
        build()
    finish(compare_impacts(given.gpcnet, given.load_bytes, given.mpi, quick=given.quick))


if __name__ == "__main__":
    main()
