"""Common parts of the comparisons: running programs, alternation, ratios, machine facts."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.stats.core.intervals import median_interval

ASSAY = [sys.executable, "-m", "assay"]


@dataclass
class Row:
    """One line of the table: assay compared with a peer or with a bound.

    ``assay`` and ``peer`` are medians of ``assay_values`` and ``peer_values`` in ``unit``.
    ``ratio`` is above 1 if assay is better, whether larger or smaller values are better;
    ``best_ratio`` is the same for the best values, ``paired`` the median of the ratios per round,
    by which goals are judged, with its 95% interval. ``met`` None: there is no goal for this line.
    ``load``: load average of the last minute, before the measurement.
    """

    topic: str
    what: str
    unit: str
    better: str
    assay: float
    peer: float | None
    peer_name: str
    goal: str = ""
    met: bool | None = None
    ratio: float | None = None
    paired: float | None = None
    paired_interval: tuple[float, float] | None = None
    best_ratio: float | None = None
    load: float | None = None
    assay_values: list[float] = field(default_factory=list)
    peer_values: list[float] = field(default_factory=list)
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Comparison:
    """The results of a script: its rows, and a sentence for each row that it left out.

    ``peers``: the records of the executables beside assay (``peers.Peer``), as dictionaries.
    """

    rows: list[Row] = field(default_factory=list)
    peers: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


class PeerError(Exception):
    """A program for comparison is missing, failed, or printed something unexpected."""


def compare(
    topic: str,
    what: str,
    unit: str,
    better: str,
    assay: Sequence[float],
    peer: Sequence[float],
    peer_name: str,
    *,
    at_least: float | None = None,
    goal: str = "",
    load: float | None = None,
    note: str = "",
    details: Mapping[str, Any] | None = None,
) -> Row:
    """A row of two alternating series; the goal is met if ``paired`` reaches ``at_least``."""
    best: Callable[[Sequence[float]], float] = max if better == "more" else min
    pairs = [advantage(a, b, better) for a, b in zip(assay, peer, strict=True)]
    paired = statistics.median(pairs)
    return Row(
        topic,
        what,
        unit,
        better,
        statistics.median(assay),
        statistics.median(peer),
        peer_name,
        goal,
        None if at_least is None else paired >= at_least,
        advantage(statistics.median(assay), statistics.median(peer), better),
        paired,
        interval(pairs),
        advantage(best(assay), best(peer), better),
        load,
        list(assay),
        list(peer),
        note,
        dict(details or {}),
    )


def advantage(assay: float, peer: float, better: str) -> float:
    """The ratio of performance: above 1 where assay is better."""
    return assay / peer if better == "more" else peer / assay


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95% interval of a median by order statistics; None for fewer than six values."""
    found = median_interval(np.array(values))
    return (float(found[0]), float(found[1])) if found else None


def alternate(
    rounds: int, *measure: Callable[[], float], warm: bool = False
) -> tuple[list[float], ...]:
    """Call each in turn, ``rounds`` times, in an order that reverses every round: A, B, B, A, …"""
    if warm:
        for each in measure:
            each()
    values: tuple[list[float], ...] = tuple([] for _ in measure)
    for index in range(rounds):
        order = range(len(measure)) if index % 2 == 0 else reversed(range(len(measure)))
        for which in order:
            values[which].append(measure[which]())
    return values


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    *,
    accept: Sequence[int] = (0,),
    cwd: Path | None = None,
) -> tuple[str, float]:
    """A program's output, and its seconds. Raises PeerError if it fails."""
    began = time.perf_counter()
    try:
        done = subprocess.run(
            [str(word) for word in command],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=cwd,
            check=False,
        )
    except OSError as error:
        raise PeerError(f"{Path(command[0]).name}: {error.strerror}.") from error
    took = time.perf_counter() - began
    if done.returncode not in accept:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        last = lines[-1] if lines else "it printed nothing"
        raise PeerError(f"{Path(command[0]).name} ended with {done.returncode}: {last}")
    return done.stdout, took


@dataclass
class Measured:
    """One ``assay measure``: the printed cells, its seconds, and the streams' records."""

    cells: list[dict[str, Any]]
    wall: float
    launches: list[list[dict[str, Any]]]

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Records of a kind, of all launches in order."""
        return [r for launch in self.launches for r in launch if r["record"] == kind]

    def medians(self) -> list[float]:
        """Each measurement's median of its main series after warm-up, in seconds."""
        return [statistics.median(kept(record)) for record in self.records("measurement")]

    def means(self) -> list[float]:
        """The means of each measurement: total time over number of operations."""
        return [statistics.fmean(kept(record)) for record in self.records("measurement")]

    def cpus(self) -> list[list[int]]:
        """The CPUs of each rank of the first launch."""
        return [r["cpus"] for r in self.launches[0] if r["record"] == "rank"]


def kept(measurement: Mapping[str, Any]) -> list[float]:
    """The values of a measurement's main series without the warm-up."""
    series = next(s for s in measurement["series"] if s["rank"] is None)
    values: list[float] = series["values"][measurement["warmup"] or 0 :]
    return values


def measure(kernel: str, *words: str, environment: Mapping[str, str] | None = None) -> Measured:
    """``assay measure KERNEL …`` of this interpreter's assay; a missed precision is no failure."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        command = [*ASSAY, "measure", kernel, *words, "--json", "--runs", folder]
        text, wall = run(command, environment)
        cells = json.loads(text)
        (made,) = Path(folder).iterdir()
        streams = sorted((made / "raw").glob("*.jsonl"))
        launches = [[json.loads(line) for line in p.read_text().splitlines()] for p in streams]
    return Measured(cells if isinstance(cells, list) else [cells], wall, launches)


@dataclass
class Quick:
    """One ``assay measure`` that keeps nothing: the printed cells and its seconds."""

    cells: list[dict[str, Any]]
    wall: float

    @property
    def precise(self) -> int:
        """Cells whose launches all reached their precision."""
        return sum(
            cell["precise_launches"] == max(m["n"] for m in cell["metrics"].values())
            for cell in self.cells
            if cell["metrics"]
        )


def measure_quickly(
    kernel: str,
    *words: str,
    before: Sequence[str] = (),
    cwd: Path | None = None,
) -> Quick:
    """As a user at a terminal would, the whole command timed; ``before``: words before it."""
    text, wall = run([*before, *ASSAY, "measure", kernel, *words, "--json"], cwd=cwd)
    cells = json.loads(text)
    return Quick(cells if isinstance(cells, list) else [cells], wall)


@contextmanager
def environment(words: Mapping[str, str]) -> Iterator[None]:
    """Set variables in the environment of all programs started within the context."""
    before = dict(os.environ)
    os.environ.update(words)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def build() -> None:
    """Build the kernels, so that no measurement waits for the compiler."""
    run([*ASSAY, "kernels", "--build"])


def embedded_mpirun() -> str:
    """The launcher of assay's embedded MPI."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun") or "mpirun"


def load() -> float:
    """Load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def cores() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> dict[str, Any]:
    """Model, cores, memory, kernel and virtualisation of the machine.

    Virtual machines call several generations of a processor by one name, so that the family and
    the model by CPUID are part of it.
    """
    cpuinfo = Path("/proc/cpuinfo").read_text()
    meminfo = Path("/proc/meminfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.M)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.M)
    processor = model[1].strip() if model else platform.processor()
    numbers = [re.search(rf"^{key}\s*:\s*(\d+)$", cpuinfo, re.M) for key in ("cpu family", "model")]
    if all(numbers):
        processor += " (family {}, model {})".format(*(found[1] for found in numbers if found))
    return {
        "processor": processor,
        "cores": cores(),
        "memory": int(memory[1]) * 1024 if memory else None,
        "kernel": platform.release(),
        "virtual": bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.M)),
    }


def machine_name(facts: Mapping[str, Any]) -> str:
    """A file name for a kind of machine, without its host name."""
    words = re.sub(r"[^a-z0-9]+", "-", str(facts["processor"]).lower()).strip("-")
    return f"{words}-{facts['cores']}-cores{'-virtual' if facts['virtual'] else ''}"


def versions() -> dict[str, str]:
    """Of assay, the libraries both sides use, and the compilers."""
    found = {
        name: importlib.metadata.version(name) for name in ("assay", "mpich", "scipy-openblas32")
    }
    found["python"] = platform.python_version()
    for compiler in ("g++", "gfortran"):
        if shutil.which(compiler):
            found[compiler] = run([compiler, "-dumpfullversion"])[0].strip()
    return found


def part(comparison: Comparison, load_before: float) -> dict[str, Any]:
    """The results of a script, as stored in a result file under its name."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load": {"before": load_before, "after": load()},
        "versions": {**versions(), **comparison.versions},
        "rows": [asdict(row) for row in comparison.rows],
        "peers": comparison.peers,
        "skipped": comparison.skipped,
    }


UNITS = {
    "B/s": ((1e9, "GB/s"), (1e6, "MB/s")),
    "flop/s": ((1e9, "Gflop/s"), (1e6, "Mflop/s")),
    "op/s": ((1e6, "Mop/s"),),
    "B": ((2.0**20, "MiB"),),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
}


def show(value: float | None, unit: str) -> str:
    """A value as text: three or four digits and a scaled unit."""
    if value is None:
        return "–"
    factor, name = next(
        ((f, n) for f, n in UNITS.get(unit, ((1.0, unit),)) if value >= f),
        UNITS.get(unit, ((1.0, unit),))[-1],
    )
    return f"{value / factor:.4g} {name}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| what | assay | beside it | ratio (pairs) | ratio (medians) | ratio (best) | goal | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        met = {True: "met", False: "**missed**", None: ""}[row["met"]]
        has_peer = row["peer"] is not None
        peer = f"{row['peer_name']}: {show(row['peer'], row['unit'])}" if has_peer else "–"
        known = (row["paired"], row["ratio"], row["best_ratio"])
        ratios = ["–" if value is None else f"{value:.3f}" for value in known]
        if row["paired_interval"]:
            low, high = row["paired_interval"]
            ratios[0] += f" [{low:.3f}, {high:.3f}]"
        cells = [row["what"], show(row["assay"], row["unit"]), peer, *ratios, row["goal"], met]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Options that every script has."""
    made = argparse.ArgumentParser(
        description=(doc or "").split("\n\n")[0], formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="few rounds: does it work at all")
    return made


def finish(comparison: Comparison) -> None:
    """Run one script alone and print its results."""
    print(table([asdict(row) for row in comparison.rows]))
    for row in comparison.rows:
        if row.note:
            print(f"- {row.what}: {row.note}")
    for peer in comparison.peers:
        print(f"peer: {peer['name']}, SHA-256 {peer['sha256']}, source: {peer['source']}")
    for sentence in comparison.skipped:
        print(f"skipped: {sentence}")


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"{time.strftime('%H:%M:%S')} load {load():.2f}  {text}", file=sys.stderr, flush=True)
