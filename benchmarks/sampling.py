"""What sampling costs: a program's run times without it, with ``assay profile --sample``, with mpiP
and with Score-P's sampling, in turn.

    python benchmarks/sampling.py --launcher "mpirun -n {ranks}" cg.A.x mg.A.x bt.W.x:1 \
        --openmp lu.W.x --mpip libmpiP.so --scorep FOLDER --keep rounds.jsonl

Programs print their rate, a verification and numbers as the NAS Parallel Benchmarks do. Each has
two ranks, or as many as follow its name; programs of ``--openmp`` have two threads. The ways
alternate in random order within each round. assay preloads the libraries that ``assay profile
--sample`` preloads, with the same variables. mpiP is preloaded and doesn't sample. Score-P needs
programs that are linked with it: those with the same names in the folder ``--scorep``.

Printed per program and way, as a table: the additional time by the ratio of the means and of the
medians, with 95% intervals (bootstrap over rounds), the coefficient of variation with its interval,
the additional CPU time, the additional peak memory of a rank (GNU time), the cost that the samples
state, and the runs whose printed numbers differ from those of the run without a tool. A run whose
verification fails ends the benchmark. ``--keep FILE`` keeps each round as a line of JSON and goes
on from there when started again; ``--rounds 0`` only prints.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from overheads import (
    AVERAGES,
    judged,
    limits,
    mean_difference,
    percent,
    ratio_draws,
    variation,
    variation_interval,
)

from assay.campaign.commands.preloading import Preload, preload_of
from assay.config import load_config
from assay.trace.samples.files import SAMPLE_FILES, read_process
from assay.trace.samples.rate import DEFAULT_RATE, sampling_variables

PLAIN, ASSAY, MPIP, SCOREP = "without", "assay", "mpiP", "Score-P"
_RATE = re.compile(r"Mop/s total\s*=\s*([0-9.Ee+-]+)")
_VERIFIED = re.compile(r"Verification\s*=\s*SUCCESSFUL")
# Lines with times, rates, dates and what a tool adds differ between two equal runs.
_VARYING = re.compile(r"time|mop|second|date|mpip|score-?p", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[EeDd][-+]?\d+)?")
# Goals: 1% of the time, 10 MiB per rank.
_MOST_TIME, _MOST_MEMORY = 1.01, 10.0


@dataclass(frozen=True)
class Program:
    """A program; ``threads`` above 0: of OpenMP, without MPI."""

    path: Path
    ranks: int = 2
    threads: int = 0

    @property
    def name(self) -> str:
        return f"{self.path.name}, {self.threads} threads" if self.threads else self.path.name


@dataclass(frozen=True)
class Run:
    """One run. ``time``: by the rate, in units of the program's work. ``cpu``: s, of all ranks.
    ``memory``: peak of the largest rank, MiB. ``stated``: share of the CPU time that sampling took.
    ``same``: the printed numbers are those of the round's run without a tool."""

    time: float
    cpu: float
    memory: float
    wall: float
    samples: int = 0
    stated: float = 0.0
    same: bool = True


@dataclass(frozen=True)
class Round:
    """One run of a program in each way."""

    program: str
    runs: dict[str, Run] = field(default_factory=dict)


def main() -> None:
    chosen = _options()
    programs = [_program(text) for text in chosen.programs]
    programs += [Program(path.resolve(), 1, chosen.threads) for path in chosen.openmp]
    rounds = list(kept(chosen.keep)) if chosen.keep else []
    order = random.Random(chosen.seed + len(rounds))
    end = time.monotonic() + chosen.limit
    longest: dict[str, float] = {}
    for number in range(chosen.rounds):
        for program in programs:
            done = sum(one.program == program.name for one in rounds)
            began = time.monotonic()
            if done > number or began + longest.get(program.name, 0.0) > end:
                continue
            rounds.append(_round(program, chosen, order))
            took = time.monotonic() - began
            longest[program.name] = max(longest.get(program.name, 0.0), took)
            if chosen.keep:
                with chosen.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(rounds[-1])) + "\n")
    for line in report(rounds):
        print(line)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM[:RANKS]")
    parser.add_argument("--openmp", nargs="+", type=Path, default=[], metavar="PROGRAM")
    parser.add_argument("--threads", type=int, default=2, help="of OpenMP programs")
    parser.add_argument("--launcher", default="mpirun -n {ranks}")
    parser.add_argument("--mpip", type=Path, metavar="LIBRARY")
    parser.add_argument("--scorep", type=Path, metavar="FOLDER")
    parser.add_argument("--scorep-set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--rate", type=float, default=DEFAULT_RATE, help="samples per s")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS")
    chosen = parser.parse_args()
    if chosen.rounds and shutil.which("time") is None:
        sys.exit("GNU time is missing. Install it (Debian: time).")
    return chosen


def _program(text: str) -> Program:
    path, _, ranks = text.partition(":")
    return Program(Path(path).resolve(), int(ranks or 2))


def kept(path: Path) -> Iterator[Round]:
    """The rounds in a file of ``--keep``."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        yield Round(found["program"], {way: Run(**run) for way, run in found["runs"].items()})


def _round(program: Program, chosen: argparse.Namespace, order: random.Random) -> Round:
    ways = [PLAIN, ASSAY]
    ways += [MPIP] if chosen.mpip and not program.threads else []
    ways += [SCOREP] if chosen.scorep and (chosen.scorep / program.path.name).exists() else []
    texts: dict[str, str] = {}
    runs: dict[str, Run] = {}
    for way in order.sample(ways, len(ways)):
        with tempfile.TemporaryDirectory() as folder:
            texts[way], runs[way] = _run(program, way, chosen, Path(folder))
    numbers = {way: printed_numbers(text) for way, text in texts.items()}
    found = {
        way: Run(**{**asdict(run), "same": numbers[way] == numbers[PLAIN]})
        for way, run in runs.items()
    }
    return Round(program.name, found)


def _run(program: Program, way: str, chosen: argparse.Namespace, folder: Path) -> tuple[str, Run]:
    """What it prints, and its values."""
    path = chosen.scorep.resolve() / program.path.name if way == SCOREP else program.path
    launcher = [] if program.threads else shlex.split(chosen.launcher.format(ranks=program.ranks))
    variables = _variables(way, chosen, folder, [*launcher, str(path)])
    if program.threads:
        variables["OMP_NUM_THREADS"] = str(program.threads)
    words = [
        *launcher, "time", "--append", f"--output={folder}/usage", "--format=%M %U %S", "env",
        *(f"{key}={value}" for key, value in variables.items()), str(path),
    ]  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    wall = time.monotonic() - began
    rate = _RATE.search(done.stdout)
    if done.returncode or rate is None or not _VERIFIED.search(done.stdout):
        sys.exit(
            f"{path} ({way}) ended with {done.returncode} without a successful verification: "
            f"{done.stderr.strip()[-300:]}"
        )
    used = [line.split() for line in (folder / "usage").read_text().splitlines()]
    samples, stated = stated_cost(folder)
    return done.stdout, Run(
        time=1.0 / float(rate[1]),
        cpu=sum(float(one[1]) + float(one[2]) for one in used),
        memory=max(int(one[0]) for one in used) / 1024,
        wall=wall,
        samples=samples,
        stated=stated,
    )


def _variables(
    way: str, chosen: argparse.Namespace, folder: Path, command: Sequence[str]
) -> dict[str, str]:
    """What makes a tool observe the program."""
    if way == ASSAY:
        preload = _preload(tuple(command))
        mine = {"ASSAY_PROFILE_DIR": str(folder), **sampling_variables(chosen.rate, os.environ)}
        return preload.variables(mine, command, {})
    if way == MPIP:
        return {"LD_PRELOAD": str(chosen.mpip.resolve())}
    if way == SCOREP:
        settings: Mapping[str, str] = dict(one.split("=", 1) for one in chosen.scorep_set)
        return {
            "SCOREP_EXPERIMENT_DIRECTORY": str(folder / "scorep"),
            "SCOREP_ENABLE_UNWINDING": "true",
            # In µs of a timer.
            "SCOREP_SAMPLING_EVENTS": f"timer@{round(1e6 / chosen.rate)}",
            **settings,
        }
    return {}


@cache
def _preload(command: tuple[str, ...]) -> Preload:
    return preload_of(command, load_config(), lambda _: None, sample=True)


def printed_numbers(text: str) -> list[str]:
    """The numbers with decimals that a program prints, except times, rates and dates."""
    lines = (line for line in text.splitlines() if not _VARYING.search(line))
    return [number for line in lines for number in _NUMBER.findall(line)]


def stated_cost(folder: Path) -> tuple[int, float]:
    """The samples of a folder, and the share of their CPU time that taking them cost."""
    processes = [read_process(path) for path in folder.glob(SAMPLE_FILES)]
    taken = sum(len(one.times) * one.header.period for one in processes)
    cost = sum(one.end.cost for one in processes if one.end is not None)
    return sum(len(one.times) for one in processes), cost / taken if taken else 0.0


def report(rounds: Sequence[Round]) -> Iterator[str]:
    """The table, and what the goals say of assay."""
    yield "| program | runs | way | time (means) | time (medians) | CoV | CPU time | memory, MiB " \
        "| stated | other numbers |"  # fmt: skip
    yield "| --- | ---: | --- | --- | --- | --- | --- | --- | ---: | ---: |"
    names = list(dict.fromkeys(one.program for one in rounds))
    for name in names:
        mine = [one for one in rounds if one.program == name]
        ways = list(
            dict.fromkeys(way for way in (PLAIN, ASSAY, MPIP, SCOREP) if _having(mine, way))
        )
        for way in ways:
            yield _row(name, way, mine)
    for way in (ASSAY, MPIP, SCOREP):
        yield from _mean_of_all(way, [[one for one in rounds if one.program == n] for n in names])


def _having(rounds: Sequence[Round], way: str) -> list[Round]:
    return [one for one in rounds if way in one.runs and PLAIN in one.runs]


def _values(rounds: Sequence[Round], way: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Without a tool and in a way, by round."""
    both = _having(rounds, way)
    base = [getattr(one.runs[PLAIN], what) for one in both]
    return np.array(base), np.array([getattr(one.runs[way], what) for one in both])


def _row(name: str, way: str, rounds: Sequence[Round]) -> str:
    base, values = _values(rounds, way, "time")
    low, high = variation_interval(values)
    cov = f"{100 * variation(values):.2f}% [{100 * low:.2f}, {100 * high:.2f}]"
    runs = [one.runs[way] for one in _having(rounds, way)]
    if way == PLAIN:
        wall = np.mean([one.wall for one in runs])
        cpu, memory = np.mean([one.cpu for one in runs]), np.mean([one.memory for one in runs])
        words = [name, len(runs), way, f"{wall:.3g} s", "", cov, f"{cpu:.3g} s", f"{memory:.1f}"]
        return _line(*words, "", "")
    times = [percent(of(values) / of(base), ratio_draws(base, values, of))
             for of in AVERAGES.values()]  # fmt: skip
    base, values = _values(rounds, way, "cpu")
    cpu_text = percent(values.mean() / base.mean(), ratio_draws(base, values, np.mean))
    mean, (low, high) = mean_difference(*_values(rounds, way, "memory"))
    stated = f"{100 * np.mean([one.stated for one in runs]):.3f}%" if way == ASSAY else ""
    return _line(
        "", len(runs), way, *times, cov, cpu_text, f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]",
        stated, sum(not one.same for one in runs),
    )  # fmt: skip


def _line(*words: object) -> str:
    return "| " + " | ".join(str(one) for one in words) + " |"


def _mean_of_all(way: str, programs: Sequence[Sequence[Round]]) -> Iterator[str]:
    """The mean over the programs, over resampled rounds of each, and the largest memory."""
    having = [rounds for rounds in programs if _having(rounds, way)]
    if not having:
        return
    pairs = [_values(rounds, way, "time") for rounds in having]
    least = min(len(base) for base, _ in pairs)
    for label, of in AVERAGES.items():
        mean = float(np.mean([of(values) / of(base) for base, values in pairs]))
        draws = np.mean([ratio_draws(base, values, of) for base, values in pairs], axis=0)
        text = f"mean over {len(pairs)} programs, {way}, {label}: {percent(mean, draws)}"
        yield (
            f"{text} (at most 1%: {judged(limits(draws), _MOST_TIME, least)})"
            if way == ASSAY
            else text
        )
    most = max(
        (mean_difference(*_values(rounds, way, "memory")) for rounds in having),
        key=lambda one: one[0],
    )
    text = f"largest additional memory of a rank, {way}: {most[0]:.1f} MiB"
    goal = f" (at most 10 MiB: {judged(most[1], _MOST_MEMORY, least)})" if way == ASSAY else ""
    yield text + goal


if __name__ == "__main__":
    main()
