"""Simulations by SimGrid of programs whose times are known: messages, sharing, slow nodes."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay.models.calls.actions import CallSchedule
from assay.simulation.cluster import NodeVariability
from assay.simulation.simgrid import find_simgrid
from assay.simulation.simulate import SimulatedProgram, SimulatedTimes, simulate, speed_profile
from simulated_clusters import BASE, cluster, needs_simgrid, simgrid_path, smpicc_path


def times(
    schedule: CallSchedule, text: str = BASE, per_node: int = 1, draws: int = 0, seed: int = 1
) -> SimulatedTimes:
    simgrid = find_simgrid(simgrid_path())
    assert simgrid is not None

    def write(folder: Path) -> list[str]:
        schedule.write(folder)
        return []

    program = SimulatedProgram("test", schedule.ranks, write=write)
    return simulate(cluster(text), program, per_node, simgrid, draws=draws, seed=seed, limit=60.0)


def ping_pong(size: int, times_: int = 100) -> CallSchedule:
    schedule = CallSchedule(2)
    for _ in range(times_):
        for one, other in ((0, 1), (1, 0)):
            schedule.send(one, other, size)
            schedule.receive(other, one, size)
    return schedule


@needs_simgrid
@pytest.mark.parametrize("size", [1_000, 1_000_000])
def test_a_message_takes_latency_and_bytes_over_bandwidth(size: int) -> None:
    found = times(ping_pong(size))
    assert found.nominal == pytest.approx(200 * (20e-6 + size / 1e8), rel=0.02)
    within = times(ping_pong(size), per_node=2)
    assert within.nominal == pytest.approx(200 * (1e-6 + size / 4e9), rel=0.03)


@needs_simgrid
def test_larger_messages_have_their_own_costs() -> None:
    size = '[[size]]\nabove = 10_000\nlatency = "60 us"\nbandwidth = "50 MB/s"\n'
    assert times(ping_pong(1_000), BASE + size).nominal == pytest.approx(200 * 30e-6, rel=0.02)
    seconds = times(ping_pong(1_000_000), BASE + size).nominal
    assert seconds == pytest.approx(200 * (60e-6 + 1e6 / 5e7), rel=0.02)


@needs_simgrid
def test_ranks_of_a_node_share_its_adapter() -> None:
    def all_at_once(pairs: list[tuple[int, int]]) -> CallSchedule:
        schedule = CallSchedule(4)
        schedule.exchange([(one, other, 10_000_000) for one, other in pairs])
        return schedule

    assert times(all_at_once([(0, 2)]), per_node=2).nominal == pytest.approx(0.1, rel=0.02)
    shared = times(all_at_once([(0, 2), (1, 3)]), per_node=2)
    assert shared.nominal == pytest.approx(0.2, rel=0.02)
    both_ways = times(all_at_once([(0, 2), (3, 1)]), per_node=2)
    assert both_ways.nominal == pytest.approx(0.1, rel=0.02)


@needs_simgrid
@pytest.mark.parametrize("size", [1_000, 50_000, 200_000])
def test_messages_that_cross_take_as_long_as_one(size: int) -> None:
    schedule = CallSchedule(2)
    for _ in range(50):
        schedule.exchange([(0, 1, size), (1, 0, size)])
    assert times(schedule).nominal == pytest.approx(50 * (20e-6 + size / 1e8), rel=0.02)


@needs_simgrid
@pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 0)])
def test_messages_of_two_ranges_of_sizes_have_no_more_than_a_links_rate(
    one: int, other: int
) -> None:
    size = '[[size]]\nabove = 260_000\nlatency = "60 us"\nbandwidth = "100 MB/s"\n'
    schedule = CallSchedule(2)
    schedule.exchange([(one, other, 300_000), (one, other, 250_000), (other, one, 250_000)])
    assert times(schedule, BASE + size).nominal == pytest.approx(550_000 / 1e8, rel=0.03)


@needs_simgrid
@pytest.mark.parametrize(("size", "seconds"), [(1_000, 2.0), (200_000, 3.0)])
def test_a_sender_waits_for_a_late_receiver_above_the_eager_size(size: int, seconds: float) -> None:
    schedule = CallSchedule(2)
    schedule.send(0, 1, size)
    schedule.compute(0, 2.0)
    schedule.compute(1, 1.0)
    schedule.receive(1, 0, size)
    assert times(schedule).nominal == pytest.approx(seconds, rel=0.01)


def slowest(ranks: int, steps: int) -> CallSchedule:
    """A barrier of all ranks after each step of 1 s on each."""
    schedule = CallSchedule(ranks)
    for _ in range(steps):
        for rank in range(ranks):
            schedule.compute(rank, 1.0)
        schedule.allreduce(8)
    return schedule


@needs_simgrid
def test_all_wait_for_the_slowest_node() -> None:
    """The run time is that of the slowest of four log-normal speeds."""
    varied = BASE + 'between_nodes = "10%"\n'
    found = times(slowest(4, 2), varied, draws=15)
    assert found.nominal == pytest.approx(2.0, rel=0.001)
    # Mean of the greatest of four standard normals: 1.029.
    assert np.log(found.drawn / 2.0).mean() == pytest.approx(0.1029, abs=3 * 0.07 / math.sqrt(15))
    assert found.drawn.min() > 2.0 * 0.9
    again = times(slowest(4, 2), varied, draws=2)
    assert again.drawn == pytest.approx(found.drawn[:2])


@needs_simgrid
def test_speeds_change_over_time() -> None:
    """Steps of one interval each: every step waits for its own slowest node."""
    varied = BASE + 'over_time = "10%"\ninterval = "1 s"\n'
    found = times(slowest(4, 10), varied, draws=5)
    assert 10.3 < found.drawn.mean() < 11.8
    assert found.drawn.std() < 0.6


def test_a_profile_of_speed_is_a_factor_from_each_moment_on() -> None:
    text = speed_profile(NodeVariability(0.0, 0.2, 0.5), np.random.default_rng(1)).split("\n")
    rows = [line.split() for line in text if line]
    assert [row[0] for row in rows[:3]] == ["0", "0.5", "1"]
    assert rows[-1] == ["LOOPAFTER", "0.5"]
    logs = np.log([float(row[1]) for row in rows[:-1]])
    assert logs.std() == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize(
    "make", [lambda folder: folder / "missing", lambda folder: folder], ids=["no file", "folder"]
)
def test_a_simulator_that_does_not_run_is_named(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    with pytest.raises(AssayError, match="doesn't run") as found:
        find_simgrid(make(tmp_path))
    assert "apt install libsimgrid-dev" in found.value.fix


def test_without_simgrid_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert find_simgrid(None) is None


_RING = """
#include <mpi.h>
static char data[1000000];
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < 10 * size; ++step) {
    if (step % size == rank) {
      MPI_Send(data, sizeof data, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD);
    } else if ((step + 1) % size == rank) {
      MPI_Recv(data, sizeof data, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
"""


@needs_simgrid
@pytest.mark.skipif(smpicc_path() is None, reason="SimGrid's smpicc isn't beside its smpirun.")
def test_an_unmodified_program_is_executed(tmp_path: Path) -> None:
    """A message of 1 MB ten times around four ranks."""
    source, program = tmp_path / "ring.c", tmp_path / "ring"
    source.write_text(_RING)
    subprocess.run([str(smpicc_path()), "-O2", str(source), "-o", str(program)], check=True)
    simgrid = find_simgrid(simgrid_path())
    assert simgrid is not None
    ring = SimulatedProgram("ring", 4, command=(str(program),))
    found = simulate(cluster(), ring, 1, simgrid, draws=1, seed=1, limit=60.0)
    assert found.nominal == pytest.approx(40 * (20e-6 + 0.01), rel=0.02)


def test_the_time_of_an_executed_program_is_asked_for(tmp_path: Path) -> None:
    """SimGrid 3.32 prints it only if it is, and in other words than that of a replay."""
    stand_in = tmp_path / "smpirun"
    stand_in.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '*-version*) echo "SimGrid version 3.32";;\n'
        "*display-timing:yes*smpi_utils.thres:info*/app*)\n"
        '  echo "[0.5] [smpi_utils/INFO] Simulated time: 0.500000 seconds.";;\n'
        "esac\n"
    )
    stand_in.chmod(0o755)
    simgrid = find_simgrid(stand_in)
    assert simgrid is not None
    program = SimulatedProgram("app", 2, command=("/app",))
    found = simulate(cluster(), program, 1, simgrid, draws=1, seed=1, limit=60.0)
    assert found.nominal == 0.5
