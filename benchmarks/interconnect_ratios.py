"""Gains by a faster interconnect that Pepper & Gupta (2005) print, beside predictions of classes.

    python benchmarks/interconnect_ratios.py --keep FOLDER --bin DIR [--classes S,W,A,B]

On four nodes with one rank each, IS was 1.75 times as fast and CG almost 1.5 times as fast with
Myrinet as with Gigabit Ethernet, and EP was equally fast. The article prints no problem class, so
the ratios should lie between the predictions for neighbouring classes. DIR has is.S.x, cg.A.x … of
the NPB; each is traced on four ranks on this machine, and predicted with the latency and bandwidth
that the article prints. If ranks outnumber CPUs, they take turns, which lengthens their computing
times. These are scaled so that the run takes a fourth of a run with one rank on a network without
cost. The article's processors were slower than today's: predictions are repeated with computing
that takes ``--slower`` times as long. Ranks of CG's diagonal send to themselves. Such messages are
copies in memory; their cost is assumed, because it can't be taken from a run in which ranks wait
for CPUs.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from assay.campaign.commands.profile_program import profile_program
from assay.config import load_config
from assay.kernels.toolchains import select_toolchain
from assay.launch.mpi.mpirun import POLITE_WAITING
from assay.models.program.adapters import with_adapters
from assay.models.program.granularity import COARSE, FINE
from assay.models.program.links import IDEAL, LinkParameters
from assay.models.program.prediction import ModelledRun, model_run, network_of, spread_over
from assay.models.program.replay import replay
from assay.models.program.waits import wait_states
from assay.reference.interconnects import InterconnectClass, interconnects
from assay.subjects.profile.traced.phases import phases_of
from assay.trace.reading_trace import read_matched

PRINTED = {"is": 1.75, "cg": 1.5, "ep": 1.0}
_RANKS = 4
# Of a copy in the memory of such a node: s, and B/s of payload.
_COPY_LATENCY, _COPY_BANDWIDTH = 2e-6, 2e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--classes", default="S,W,A,B")
    parser.add_argument("--slower", default="1,2,4,8")
    chosen = parser.parse_args()
    slow = next(one for one in interconnects() if one.name.startswith("Gigabit Ethernet (Power"))
    fast = next(one for one in interconnects() if one.name.startswith("Myrinet (Power"))
    for name, printed in PRINTED.items():
        print(f"{name.upper()}: printed {printed}")
        for letter in chosen.classes.split(","):
            program = chosen.bin / f"{name}.{letter}.x"
            if not program.exists():
                continue
            run = _modelled(chosen.keep / program.stem, program)
            alone = _alone(chosen.keep / f"{program.stem}.seconds", program)
            if alone <= 0.0:
                print(f"  class {letter}: too short for the clock that it prints", flush=True)
                continue
            unit = alone / _RANKS / (run.factor * replay(run.graph, IDEAL).seconds)
            texts = []
            for factor in map(float, chosen.slower.split(",")):
                on_slow, grain = _time(run, slow, factor * unit)
                on_fast, _ = _time(run, fast, factor * unit)
                texts.append(f"×{factor:g}: {on_slow / on_fast:.3g} ({grain})")
            print(f"  class {letter}: {alone:.3g} s on one rank; computing " + ", ".join(texts),
                  flush=True)  # fmt: skip


def _modelled(folder: Path, program: Path) -> ModelledRun:
    if not (folder / "run.json").exists():
        config = load_config(None)
        launcher = str(select_toolchain(None, config).mpirun)
        polite = [word for pair in POLITE_WAITING.items() for word in ("-genv", *pair)]
        words = [launcher, "-n", str(_RANKS), *polite, str(program)]
        profile_program(words, folder, config, Console(quiet=True), trace=True)
    matched = read_matched(folder)
    waits = wait_states(matched)
    run = model_run(matched, waits, phases_of(matched, waits).by_rank)
    return spread_over(run, [f"node {rank}" for rank in range(_RANKS)])


def _alone(kept: Path, program: Path) -> float:
    """The time that the program prints on one rank, s: the shortest of three."""
    if not kept.exists():
        launcher = str(select_toolchain(None, load_config(None)).mpirun)
        command = [launcher, "-n", "1", str(program)]
        texts = [
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
            for _ in range(3)
        ]
        found = [re.search(r"Time in seconds\s*=\s*([0-9.Ee+-]+)", text) for text in texts]
        kept.write_text(str(min(float(one[1]) for one in found if one)), encoding="utf-8")
    return float(kept.read_text(encoding="utf-8"))


def _time(run: ModelledRun, kind: InterconnectClass, slower: float) -> tuple[float, str]:
    """The iterations' time (s) with slower computing, and their grain."""
    along = replace(run.graph.along, seconds=run.graph.along.seconds * slower)
    copies = LinkParameters(_COPY_LATENCY, 1.0 / _COPY_BANDWIDTH)
    network = replace(network_of(run, kind.latency, kind.bandwidth), within=copies)
    graph = with_adapters(replace(run.graph, along=along), network)
    found = replay(graph, network)
    computing = found.slopes.computing
    ratio = computing / max(found.seconds - computing, 1e-12)
    return found.seconds, "fine" if ratio <= FINE else "coarse" if ratio >= COARSE else "medium"


if __name__ == "__main__":
    main()
