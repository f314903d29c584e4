"""SimGrid's time-independent trace: its actions, and a replay where SimGrid is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from assay.trace.events import Communicator
from assay.trace.exports import parse_target, write_export
from simulated_mpi import Script, simulate
from traces_to_export import varied

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="30us"/>
</platform>
"""


def actions(trace, folder):
    said = write_export(trace, *parse_target(f"simgrid:{folder}"))
    names = (folder / "trace.txt").read_text().split()
    assert names == [f"rank-{rank.rank}.txt" for rank in trace]
    return said, [(folder / name).read_text().splitlines() for name in names]


def test_the_actions_are_those_of_the_program(tmp_path) -> None:
    said, ranks = actions(varied(), tmp_path / "out")
    assert said == []
    without = [[line for line in lines if " compute " not in line] for lines in ranks]
    assert without[0] == [
        "0 init",
        "0 bcast 64 1",
        "0 send 1 0 5000",
        "0 irecv 3 0 80",
        "0 wait 3 0 0",
        "0 irecv 3 1 3000",
        "0 isend 1 1 3000",
        "0 wait 0 1 1",
        "0 wait 3 0 1",
        "0 allreduce 8 0",
        "0 barrier",
        "0 finalize",
    ]
    assert "1 recv 0 0 5000" in without[1]
    assert without[3][2:4] == ["3 isend 0 0 80", "3 wait 3 0 0"]
    computed = [
        sum(float(line.split()[2]) for line in lines if " compute " in line) for lines in ranks
    ]
    for flop, rank in zip(computed, varied(), strict=True):
        inside = (rank.events.end - rank.events.begin).sum()
        assert flop == pytest.approx((rank.wall - inside) * 1e9, abs=len(rank.events))


def test_every_message_is_sent_and_received_under_one_tag(tmp_path) -> None:
    _, ranks = actions(varied(), tmp_path / "out")
    sent, received = [], []
    for rank, lines in enumerate(ranks):
        for line in lines:
            words = line.split()
            if words[1] in ("send", "isend"):
                sent.append((rank, int(words[2]), *words[3:]))
            elif words[1] in ("recv", "irecv"):
                received.append((int(words[2]), rank, *words[3:]))
    assert sorted(sent) == sorted(received)
    assert len(set(sent)) == len(sent) == 6


def test_what_the_replay_can_not_do_is_said(tmp_path) -> None:
    def program(rank: Script) -> None:
        rank.compute(1e-3)
        if rank.rank < 2:
            rank.collective("Allreduce", 8, -1, communicator=1)
        rank.collective("Alltoallv", 40, -1)

    trace = simulate(3, program, communicators=[(0, 1)])
    said, ranks = actions(trace, tmp_path / "out")
    assert said == [
        "1 calls of Alltoallv, written with equal parts.",
        "1 collectives of a part of the ranks, written as computing.",
    ]
    assert not any("allreduce" in line for lines in ranks for line in lines)


def test_a_message_without_partner_is_left_out(tmp_path) -> None:
    trace = varied()
    cut = replace(trace, ranks=trace.ranks[:1], communicators=(Communicator(0, (0,), None),))
    said, (lines,) = actions(cut, tmp_path / "out")
    assert any("ranks without a trace" in one for one in said)
    assert not any(" send " in line or " recv " in line for line in lines)


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid's smpirun isn't installed.")
def test_simgrid_replays_it(tmp_path) -> None:
    trace = varied()
    folder = tmp_path / "out"
    write_export(trace, *parse_target(f"simgrid:{folder}"))
    (tmp_path / "platform.xml").write_text(PLATFORM)
    (tmp_path / "hosts").write_text("n0\nn1\nn2\nn3\n")
    done = subprocess.run(
        ["smpirun", "-np", "4", "-platform", tmp_path / "platform.xml", "-hostfile",
         tmp_path / "hosts", "-replay", "trace.txt"],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seconds = float(re.search(r"Simulation time ([\d.]+)", done.stdout + done.stderr)[1])
    # The longest rank computes 4 ms before the exchange in which all wait for it.
    assert 4e-3 < seconds < 6e-3
