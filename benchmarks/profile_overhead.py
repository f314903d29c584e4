"""The overhead of ``assay profile``: a program's run times without it, with a profile and with a
trace.

    python benchmarks/profile_overhead.py --launcher "mpirun -n 2" --rounds 20 cg.A.x mg.A.x

Programs print their run time as the NAS Parallel Benchmarks do ("Time in seconds = X", to 0.01 s),
and their rate ("Mop/s total = Y"), which gives the time to about five digits. The three ways
alternate in random order within each round. Printed per program: the ratio of the mean times to
that without it, with its 95% interval (bootstrap over rounds; the mean of ratios would be too high
by the square of the CoV), that of the medians, the coefficients of variation with 95% bootstrap
intervals, calls per rank, and the overhead that the profile itself states (calls × its cost per
call). ``--beside NAME=LIBRARY`` preloads another tool's library as a further way. ``--keep FILE``
keeps each complete round as a line of JSON and goes on from there when started again (more than
one: the first is written, all are read); ``--limit`` ends it after so many seconds; ``--rounds 0``
only prints.
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
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from overheads import AVERAGES, percent, ratio_draws, variation, variation_interval

from assay.kernels.builds.trace import build_trace

_TIME = re.compile(r"Time in seconds\s*=\s*([0-9.Ee+-]+)")
_RATE = re.compile(r"Mop/s total\s*=\s*([0-9.Ee+-]+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--launcher", default="mpirun -n 2")
    parser.add_argument("--mpicxx", default="mpicxx")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=LIBRARY")
    parser.add_argument("--keep", type=Path, action="append", default=[])
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS")
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
    rounds = [one for path in chosen.keep for one in _kept(path)]
    order = random.Random(chosen.seed + len(rounds))
    end = time.monotonic() + chosen.limit
    longest: dict[str, float] = {}
    for number in range(chosen.rounds):
        for program in chosen.programs:
            began = time.monotonic()
            done = sum(one.program == program.name for one in rounds)
            if done > number or began + longest.get(program.name, 0.0) > end:
                continue
            rounds.append(_round(chosen.launcher, program, ways, order))
            took = time.monotonic() - began
            longest[program.name] = max(longest.get(program.name, 0.0), took)
            if chosen.keep:
                with chosen.keep[0].open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(rounds[-1])) + "\n")
    every = {
        name: [one for one in rounds if one.program == name]
        for name in dict.fromkeys(one.program for one in rounds)
    }
    for name, of in every.items():
        _report(name, of, list(ways))
    for way in list(ways)[1:]:
        _report_mean(way, every)


@dataclass(frozen=True)
class _Round:
    """One run of a program in each way: s and Mop/s by way, and what the profiles say of rank 0."""

    program: str
    seconds: dict[str, float]
    stated: dict[str, float]
    calls: int
    trace_bytes: int
    rates: dict[str, float]

    def times(self) -> dict[str, float]:
        """To the digits of the rates, in units of the program's work: for ratios."""
        return {way: 1.0 / rate for way, rate in self.rates.items()}


def _kept(path: Path) -> list[_Round]:
    if not path.exists():
        return []
    return [_Round(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _round(
    launcher: str, program: Path, ways: dict[str, dict[str, str]], order: random.Random
) -> _Round:
    seconds: dict[str, float] = {}
    rates: dict[str, float] = {}
    stated: dict[str, float] = {}
    calls = size = 0
    for way in order.sample(list(ways), len(ways)):
        with tempfile.TemporaryDirectory() as folder:
            seconds[way], rates[way] = _run(launcher, program, ways[way], folder)
            for path in Path(folder).glob("rank-0.jsonl"):
                calls, stated[way] = _stated(path)
            for path in Path(folder).glob("rank-0.trace"):
                size = path.stat().st_size
    return _Round(program.name, seconds, stated, calls, size, rates)


def _run(
    launcher: str, program: Path, variables: dict[str, str], folder: str
) -> tuple[float, float]:
    """Its time, s, and its rate, Mop/s."""
    environment = {"ASSAY_PROFILE_DIR": folder, **variables} if variables else {}
    words = [
        "env",
        *(f"{key}={value}" for key, value in environment.items()),
        str(program.resolve()),
    ]
    done = subprocess.run(
        [*shlex.split(launcher), *words], capture_output=True, text=True, check=True,
        env=dict(os.environ), cwd=folder,
    )  # fmt: skip
    time, rate = _TIME.search(done.stdout), _RATE.search(done.stdout)
    if time is None or rate is None:
        sys.exit(f"{program} didn't print its time and rate.")
    return float(time.group(1)), float(rate.group(1))


def _stated(path: Path) -> tuple[int, float]:
    """Calls of the rank, and its own estimate of the overhead (share of its wall time)."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    calls = sum(one["calls"] for one in records if one["type"] == "kind")
    return calls, calls * records[0]["cost"] / records[0]["wall"]


def _report(name: str, rounds: list[_Round], ways: list[str]) -> None:
    """Print a program's lines."""
    seconds = np.mean([one.seconds["without"] for one in rounds])
    print(
        f"{name}: {len(rounds)} runs each, {seconds:.3g} s, {rounds[-1].calls} calls per rank, "
        f"trace {rounds[-1].trace_bytes} B"
    )
    for way in ways:
        found = _pairs(rounds, way)
        if found is None:
            continue
        base, values = found
        low, high = variation_interval(values)
        text = f"  {way:8} CoV {100 * variation(values):.2f}% [{100 * low:.2f}, {100 * high:.2f}]"
        if way != "without":
            for label, of in AVERAGES.items():
                draws = ratio_draws(base, values, of)
                text += f"  {label} {percent(of(values) / of(base), draws)}"
        stated = [one.stated[way] for one in rounds if way in one.stated]
        if stated:
            text += f"  stated {100 * np.mean(stated):.3f}%"
        print(text, flush=True)


def _report_mean(way: str, every: dict[str, list[_Round]]) -> None:
    """Print the mean over the programs, with its 95% interval over resampled rounds of each."""
    pairs = [found for rounds in every.values() if (found := _pairs(rounds, way))]
    if not pairs:
        return
    text = f"mean over {len(pairs)} programs, {way}:"
    for label, of in AVERAGES.items():
        mean = float(np.mean([of(values) / of(base) for base, values in pairs]))
        draws = np.mean([ratio_draws(base, values, of) for base, values in pairs], axis=0)
        text += f"  {label} {percent(mean, draws)}"
    print(text)


def _pairs(rounds: list[_Round], way: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Times without assay and in a way, of the rounds that have it."""
    times = [one.times() for one in rounds if way in one.rates]
    if not times:
        return None
    return np.array([one["without"] for one in times]), np.array([one[way] for one in times])


if __name__ == "__main__":
    main()
