"""Whole sweeps over message sizes compared with OSU's: the seconds of the command.

    .venv/bin/python benchmarks/sweeps.py --osu DIR [--virtual-cluster]

network.pingpong, 0 B to 4 MiB, against osu_latency; bcast and allreduce, 1 and 8 B to 1 MiB,
against osu_bcast and osu_allreduce; all with OSU's defaults. OSU's programs launch once, take a
fixed number of messages and give no interval. One launch of assay continues until the 95% interval
of each size's median *within that launch* is within ±1%; this is compared with them. For
collectives OSU's takes less than the start of Python and MPI, and there is no goal. Then both are
launched repeatedly, until the median *of launches* is known to ±1% at all sizes, or OSU's had a
minute and assay half of it: the time to ±1% on both sides. The goal for assay is half of OSU's
time. With --virtual-cluster (needs root) the one launch between two hosts of assay's virtual
cluster, connected at 1 Gbit/s, as on a cluster of OSU's users.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    Comparison,
    PeerError,
    Quick,
    Row,
    alternate,
    build,
    compare,
    embedded_mpirun,
    finish,
    load,
    measure_quickly,
    parser,
    run,
    say,
)
from places import NODE, Place, gigabit

from assay.lab import network
from assay.stats.core.intervals import median_interval

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Seconds after which OSU's side gives up; assay's, which should take half of the time, slightly
# before half of it, because the last launch and the summary follow.
LONGEST, HALF = 60.0, 24.0
# OSU's programs print microseconds with two digits: 0.16 may be 0.155 or 0.165, 3% of it.
STEP = 0.01
TIMES_AS_SOON = 2.0
# Launches differ more than samples within one: many short launches rather than few long ones.
ACROSS = ("--launches", "6..400", "--samples", "5..200", "--budget", f"{HALF:g} s")
ONE_LAUNCH = ("--launches", "1", "--samples", "40000", "--budget", "60 s")


@dataclass(frozen=True)
class Sweep:
    """A kernel with its arguments, and OSU's program that takes the same sizes by default."""

    name: str
    words: tuple[str, ...]
    low: int
    high: int
    program: str
    goal: float | None  # of one launch

    @property
    def sizes(self) -> list[int]:
        """Powers of two, preceded by 0 if the kernel allows it."""
        powers = [1 << k for k in range(self.high.bit_length()) if 1 << k >= self.low]
        return [0, *powers] if self.low == 0 else powers


SWEEPS = (
    Sweep("ping-pong", ("network.pingpong",), 0, 1 << 22, "osu_latency", 1.0),
    Sweep("bcast", ("network.collective", "op=bcast"), 1, 1 << 20, "osu_bcast", None),
    Sweep("allreduce", ("network.collective", "op=allreduce"), 8, 1 << 20, "osu_allreduce", None),
)


def assay_seconds(sweep: Sweep, place: Place, how: Sequence[str], into: list[Quick]) -> float:
    """The seconds of the whole command; also appended to ``into``."""
    sizes = "bytes=" + ",".join(map(str, sweep.sizes))
    words = (*sweep.words, sizes, *place.measure, *how)
    into.append(measure_quickly(*words, before=place.before, cwd=place.cwd))
    return into[-1].wall


def osu_seconds(sweep: Sweep, place: Place, mpirun: str, folder: Path) -> float:
    """The seconds of the whole command; raises PeerError unless it measured the sweep's sizes."""
    program = folder.resolve() / sweep.program
    command = [*place.before, mpirun, *place.mpirun, program]
    text, wall = run(command, AS_ROOT, cwd=place.cwd)
    sizes = [int(size) for size in re.findall(r"^(\d+)\s+[\d.]+\s*$", text, re.M)]
    # Newer versions leave 0 B out, and begin allreduce at one character instead of one double.
    if not {*sweep.sizes} - {0} <= {*sizes} or max(sizes) != sweep.high:
        raise PeerError(f"{sweep.program} took other sizes than {sweep.low} to {sweep.high} B.")
    return wall


def rows_at(place: Place, mpirun: str, folder: Path, rounds: int) -> Iterator[Row]:
    """One row per sweep."""
    for sweep in SWEEPS:
        say(f"{sweep.name}, the sweep, {place.name}")
        found: list[Quick] = []
        row = _row(
            f"{sweep.name} sweep, {place.name}, one launch",
            partial(assay_seconds, sweep, place, ONE_LAUNCH, found),
            partial(osu_seconds, sweep, place, mpirun, folder),
            rounds,
            sweep.program,
        )
        counts = [each.precise for each in found]
        row.note = f"{', '.join(map(str, counts))} of {len(sweep.sizes)} sizes reached ±1%."
        row.details = {"reached": counts}
        if sweep.goal is not None:
            row.goal = f"≥ {sweep.goal:g}, all sizes at ±1%"
            assert row.paired
            row.met = row.paired >= sweep.goal and min(counts) == len(sweep.sizes)
        yield row


def equally_sure(mpirun: str, folder: Path, rounds: int) -> Iterator[Row]:
    """One row per sweep: until the launches agree to ±1%, or a minute is over, on both sides."""
    for sweep in SWEEPS:
        say(f"{sweep.name}, the sweep, until launches agree")
        found: list[Quick] = []
        others: list[int] = []
        row = _row(
            f"{sweep.name} sweep, {NODE.name}, ±1% across launches",
            partial(assay_seconds, sweep, NODE, ACROSS, found),
            partial(osu_until_sure, sweep, mpirun, folder, others),
            rounds,
            f"{sweep.program}, launched until as sure",
        )
        counts = [
            sum(_headline(cell)["stop"] == "precision" for cell in each.cells) for each in found
        ]
        of = len(sweep.sizes)
        row.note = (
            f"{', '.join(map(str, counts))} of {of} sizes reached ±1% with assay, "
            f"{', '.join(map(str, others))} of {of} with {sweep.program}, by rounds."
        )
        row.details = {"reached": counts, "peer_reached": others}
        row.goal = f"≥ {TIMES_AS_SOON:g}, as many sizes"
        assert row.paired
        row.met = row.paired >= TIMES_AS_SOON and sum(counts) >= sum(others)
        yield row


def _headline(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metric that is timed: a ping-pong's latency, a collective's time."""
    metrics = cell["metrics"]
    found: Mapping[str, Any] = metrics["latency"] if "latency" in metrics else metrics["time"]
    return found


def osu_until_sure(sweep: Sweep, mpirun: str, folder: Path, reached: list[int]) -> float:
    """Seconds of successive launches, until the median of launches is known to ±1% at all sizes.

    This is assay's own rule. The number of sizes that reached it is appended to ``reached``.
    """
    began = time.monotonic()
    numbers: dict[int, list[float]] = {}
    while True:
        text, _ = run([mpirun, *NODE.mpirun, folder.resolve() / sweep.program], AS_ROOT)
        for size, value in re.findall(r"^(\d+)\s+([\d.]+)\s*$", text, re.M):
            numbers.setdefault(int(size), []).append(float(value))
        sure = sum(map(_sure, numbers.values()))
        spent = time.monotonic() - began
        if sure == len(numbers) or spent >= LONGEST:
            reached.append(sure)
            return spent


def _sure(values: Sequence[float]) -> bool:
    """Whether the median of launches is known to ±1%; each was rounded to OSU's step of print."""
    known = median_interval(values)
    return known is not None and known[1] - known[0] + STEP <= 0.02 * statistics.median(values)


def _row(
    what: str, ours: Callable[[], float], theirs: Callable[[], float], rounds: int, peer: str
) -> Row:
    now = load()
    assay, other = alternate(rounds, ours, theirs)
    return compare("sweeps", what, "s", "less", assay, other, peer, load=now)


def compare_sweeps(
    folder: Path | None, mpirun: str, *, quick: bool, virtual_cluster: bool
) -> Comparison:
    """Rows within the node and, on request, between two hosts."""
    comparison = Comparison()
    if folder is None:
        comparison.skipped.append("sweeps: name the folder of OSU's programs with --osu.")
        return comparison
    try:
        comparison.rows += rows_at(NODE, mpirun, folder, 1 if quick else 7)
        comparison.rows += equally_sure(mpirun, folder, 1 if quick else 3)
        problem = network.why_not() if virtual_cluster else "not asked for (--virtual-cluster)."
        if problem:
            comparison.skipped.append(f"sweeps between two hosts: {problem}")
            return comparison
        with gigabit() as place:
            comparison.rows += rows_at(place, mpirun, folder, 1 if quick else 5)
    except PeerError as error:
        comparison.skipped.append(f"sweeps: {error}")
    return comparison


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--osu", type=Path, help="folder of osu_latency, … (the same MPI)")
    options.add_argument("--mpirun", default=embedded_mpirun(), help="its launcher")
    options.add_argument("--virtual-cluster", action="store_true", help="two hosts too; needs root")
    given = options.parse_args()
    build()
    finish(
        compare_sweeps(
            given.osu, given.mpirun, quick=given.quick, virtual_cluster=given.virtual_cluster
        )
    )


if __name__ == "__main__":
    main()
