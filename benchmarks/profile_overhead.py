"""What ``assay profile`` costs a program: run times without it, with a profile and with a trace.

    python benchmarks/profile_overhead.py --launcher "mpirun -n 2" --rounds 20 cg.A.x mg.A.x

Programs print their run time as the NAS Parallel Benchmarks do ("Time in seconds = X"). The three
ways alternate in random order within each round. Printed per program: mean of the ratio to the run
without it in the same round, with its 95% confidence interval (t), the coefficients of variation
with 95% bootstrap intervals, calls per rank, and the overhead that the profile itself states
(calls × its cost per call). ``--beside NAME=LIBRARY`` preloads another tool's library as a further
way.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import stats

from assay.kernels.builds.trace import build_trace

_TIME = re.compile(r"Time in seconds\s*=\s*([0-9.Ee+-]+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--launcher", default="mpirun -n 2")
    parser.add_argument("--mpicxx", default="mpicxx")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=LIBRARY")
    chosen = parser.parse_args()
    library = str(build_trace(chosen.mpicxx))
    ways: dict[str, dict[str, str]] = {
        "without": {},
        "profile": {"LD_PRELOAD": library},
        "trace": {"LD_PRELOAD": library, "ASSAY_PROFILE_TRACE": "1"},
    }
    for words in chosen.beside:
        name, _, path = words.partition("=")
        ways[name] = {"LD_PRELOAD": path}
    order = random.Random(chosen.seed)
    everything: dict[str, list[float]] = {way: [] for way in ways}
    for program in chosen.programs:
        times: dict[str, list[float]] = {way: [] for way in ways}
        stated = dict.fromkeys(ways, 0.0)
        calls = size = 0
        for _ in range(chosen.rounds):
            for way in order.sample(list(ways), len(ways)):
                with tempfile.TemporaryDirectory() as folder:
                    times[way].append(_run(chosen.launcher, program, ways[way], folder))
                    for path in Path(folder).glob("rank-0.jsonl"):
                        calls, stated[way] = _stated(path)
                    for path in Path(folder).glob("rank-0.trace"):
                        size = path.stat().st_size
        _report(program.name, times, stated, calls, size)
        for way, values in times.items():
            everything[way].append(float(np.mean(np.divide(values, times["without"]))))
    for way, ratios in everything.items():
        if way != "without":
            print(f"mean over {len(ratios)} programs, {way}: {100 * (np.mean(ratios) - 1):+.2f}%")


def _run(launcher: str, program: Path, variables: dict[str, str], folder: str) -> float:
    environment = {"ASSAY_PROFILE_DIR": folder, **variables} if variables else {}
    words = ["env", *(f"{key}={value}" for key, value in environment.items()), str(program)]
    done = subprocess.run(
        [*shlex.split(launcher), *words], capture_output=True, text=True, check=True,
        env=dict(os.environ), cwd=folder,
    )  # fmt: skip
    found = _TIME.search(done.stdout)
    if found is None:
        sys.exit(f"{program} didn't print its time.")
    return float(found.group(1))


def _stated(path: Path) -> tuple[int, float]:
    """Calls of the rank, and its own estimate of the overhead (share of its wall time)."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    calls = sum(one["calls"] for one in records if one["type"] == "kind")
    return calls, calls * records[0]["cost"] / records[0]["wall"]


def _report(
    name: str, times: dict[str, list[float]], stated: dict[str, float], calls: int, size: int
) -> None:
    base = np.array(times["without"])
    print(f"{name}: {len(base)} runs each, {np.mean(base):.3g} s, {calls} calls per rank, "
          f"trace {size} B")  # fmt: skip
    for way, values in times.items():
        ratios = np.array(values) / base
        half = stats.sem(ratios) * stats.t.ppf(0.975, len(ratios) - 1) if len(ratios) > 1 else 0.0
        low, high = _cov_interval(values)
        text = f"  {way:8} CoV {100 * _cov(values):.2f}% [{100 * low:.2f}, {100 * high:.2f}]"
        if way != "without":
            text += f"  overhead {100 * (ratios.mean() - 1):+.2f}% ± {100 * half:.2f}"
        if stated[way]:
            text += f"  stated {100 * stated[way]:.3f}%"
        print(text, flush=True)


def _cov(values: list[float] | np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.mean(values)) if len(values) > 1 else 0.0


def _cov_interval(values: list[float]) -> tuple[float, float]:
    generator = np.random.default_rng(1)
    samples = generator.choice(values, (2000, len(values)))
    covs = samples.std(axis=1, ddof=1) / samples.mean(axis=1)
    low, high = np.percentile(covs, [2.5, 97.5])
    return float(low), float(high)


if __name__ == "__main__":
    main()
