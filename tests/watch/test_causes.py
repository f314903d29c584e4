"""Causes: planted covariates, on synthetic machines, and on this one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.system.files import Tree
from assay.system.processes import (
    Process,
    all_processes,
    descendants,
    last_cpus,
    parse_state,
)
from assay.system.surroundings import quota_seconds, stall_seconds, tcp_retransmits
from assay.watch.causes import by_name, explain, hanging, judge
from assay.watch.sampler import WAIT, Family, SampledValue, Sampler, rates

CALM = {
    WAIT: 0.001,
    "steal_seconds": 0.0,
    "wanted_seconds": 2.0,
    "own_cpu_seconds": 1.0,
    "other_cpu_seconds": 0.03,
    "quota_seconds": 0.0,
    "memory_stall_seconds": 0.0,
    "io_stall_seconds": 0.001,
    "minor_faults": 50.0,
    "major_faults": 0.0,
    "tcp_retransmits": 0.0,
    "throttle_events": 0.0,
    "frequency": 3.0e9,
    "memory_available": 8.0e9,
    "processes": 1.0,
}
BEFORE = [{**CALM, WAIT: 0.001 * (1 + i % 3), "minor_faults": 40.0 + i} for i in range(10)]


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        ({WAIT: 0.5, "other_cpu_seconds": 1.0}, "competition", "others used 1.00 CPUs"),
        ({"steal_seconds": 1.0}, "steal", "hypervisor"),
        ({"quota_seconds": 0.4}, "quota", "quota"),
        ({"memory_stall_seconds": 0.5, "memory_available": 1e8}, "memory", "100 MB are available"),
        ({"io_stall_seconds": 0.6}, "io", "disks"),
        ({"frequency": 1.5e9, "throttle_events": 3.0}, "frequency", "throttled thermally"),
        ({"major_faults": 80.0}, "faults", "80 major faults per second"),
        ({"tcp_retransmits": 3.0}, "retransmits", "3 TCP retransmits per second"),
    ],
)
def test_a_changed_covariate_is_named_and_nothing_else(change, name, words):
    (cause,) = judge(BEFORE, {**CALM, **change}, loss=0.5)
    assert cause.name == name
    assert words in cause.sentence
    assert 0.5 < cause.share <= 1.0


def test_causes_are_ranked_by_their_cost():
    during = {**CALM, WAIT: 0.1, "steal_seconds": 0.8, "quota_seconds": 0.2}
    assert [cause.name for cause in judge(BEFORE, during, 0.5)] == ["steal", "quota", "competition"]


def test_shares_are_of_the_slowdown():
    (cause,) = judge(BEFORE, {**CALM, WAIT: 0.101}, loss=0.4)
    assert cause.share == pytest.approx(0.25, abs=0.01)


def test_no_cause_is_credited_with_more_time_than_was_lost_to_it():
    """A program that a limiter stops for half of the time waits for a moment when it continues."""
    idle = {**CALM, "own_cpu_seconds": 0.5, "other_cpu_seconds": 0.2}
    assert judge(BEFORE, {**idle, WAIT: 0.03}, loss=0.5) == []
    (cause,) = judge(BEFORE, {**idle, WAIT: 0.08}, loss=0.5)
    assert cause.name == "competition" and cause.share == pytest.approx(0.16, abs=0.01)


def test_earlier_losses_are_part_of_the_normal_steps():
    before = [{**row, WAIT: 0.5} for row in BEFORE]
    (cause,) = judge(before, {**CALM, WAIT: 0.75}, loss=0.5)  # a quarter of the CPU, not a half
    assert cause.share == pytest.approx(1.0)
    (cause,) = judge(before, {**CALM, WAIT: 0.625}, loss=0.5)
    assert cause.share == pytest.approx(0.5)


def test_an_unchanged_covariate_is_no_cause():
    before = [{**row, WAIT: 0.1 + 0.1 * (i % 5)} for i, row in enumerate(BEFORE)]
    assert judge(before, {**CALM, WAIT: 0.5}, loss=0.3) == []
    assert judge(before, {**CALM, WAIT: 0.95}, loss=0.3) != []


def test_neighbours_are_named_without_a_share():
    (cause,) = judge(BEFORE, {**CALM, "other_cpu_seconds": 1.0}, 0.3, [Process(7, "burn", 0.98)])
    assert (cause.name, cause.share) == ("neighbours", None)
    assert "burn (7) 0.98" in cause.sentence


def series(*rows):
    """Readings a second apart with these rates."""
    total, found = {}, []
    for at, row in enumerate(rows):
        gauges = {
            k: v for k, v in row.items() if k in ("frequency", "memory_available", "processes")
        }
        for name, value in row.items():
            if name not in gauges:
                total[name] = total.get(name, 0.0) + value
        counters = {k: v for k, v in total.items() if k != WAIT}
        found.append(SampledValue(float(at), counters, gauges, {1: total[WAIT]}))
    return found


def test_if_no_covariate_changed_the_meaning_is_explained():
    busy = explain(series(*BEFORE, CALM, CALM, CALM), 9.5, 1.5)
    assert busy.causes == []
    assert busy.sentence.startswith("none of the covariates changed")
    assert "1.00 CPUs (before: 1.00): its own work" in busy.sentence
    idle = {**CALM, "own_cpu_seconds": 0.2}
    assert "it waits" in explain(series(*BEFORE, idle, idle, idle), 9.5, 1.5).sentence


def test_an_explanation_needs_a_reading_since_the_onset():
    assert explain(series(*BEFORE), 100.0, 2.0) is None
    assert explain(series(*BEFORE, {**CALM, WAIT: 0.6}), 9.5, 2.0).causes[0].name == "competition"


def test_what_was_out_of_the_range_already_is_not_called_before():
    slow = {**CALM, WAIT: 0.5}
    slower = {**CALM, WAIT: 0.7}
    readings = series(*BEFORE, *[slow] * 20, *[slower] * 4)
    why = explain(readings, 29.5, 3.0, calm_until=9.5)
    assert why.causes[0].before < 0.01


def test_rates_are_of_the_thread_that_waits_most():
    a = SampledValue(0.0, {"major_faults": 5.0, "gone": 1.0}, {}, {1: 0.0, 2: 0.0, 3: 9.0})
    b = SampledValue(
        2.0, {"major_faults": 9.0, "new": 1.0}, {"frequency": 1e9}, {1: 0.2, 2: 1.0, 4: 3.0}
    )
    assert rates(a, b) == {"major_faults": 2.0, WAIT: 0.5, "frequency": 1e9}


@pytest.mark.parametrize(
    ("states", "cpus", "words"),
    [
        ({"T": 2}, 0.0, "stopped"),
        ({"D": 1, "S": 3}, 0.0, "disk"),
        ({"S": 4}, 0.0, "sleep"),
        ({"R": 2}, 2.0, "computes"),
        ({}, None, "none of its processes"),
    ],
)
def test_the_state_of_a_hanging_program(states, cpus, words):
    assert words in hanging(SampledValue(0.0, {}, {}, {}, states), cpus)


def test_files_of_proc_are_read_by_their_names(tmp_path):
    tree = Tree(tmp_path)
    for name, text in {
        "proc/pressure/io": "some avg10=0.1 avg60=0.0 avg300=0.0 total=2500000\nfull total=9\n",
        "proc/net/snmp": "Ip: A B\nIp: 1 2\nTcp: X RetransSegs Y\nTcp: -1 42 3\n",
        "g2/cpu.stat": "usage_usec 5\nnr_throttled 3\nthrottled_usec 1500000\n",
        "g1/cpu.stat": "nr_throttled 3\nthrottled_time 7000000000\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert stall_seconds(tree, "io") == 2.5
    assert stall_seconds(tree, "memory") is None
    assert tcp_retransmits(tree) == 42
    assert quota_seconds(tree, ["/g2"]) == 1.5
    assert quota_seconds(tree, ["/g1", "/g2", "/g3"]) == 7.0
    assert quota_seconds(tree, []) is None


STAT = "{} (a) b (c) {} {} 1 1 0 -1 0 {} 0 {} 0 {} {} 100 50 20 0 1 0 5 0 0" + " 0" * 14 + " 3 0\n"


def test_a_line_of_stat_is_parsed_for_any_name():
    state = parse_state(STAT.format(9, "D", 4, 11, 12, 200, 100))
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert (state.name, state.state, state.parent) == ("a) b (c", "D", 4)
    assert (state.minor_faults, state.major_faults) == (11, 12)
    assert (state.cpu_seconds, state.reaped_seconds) == (300 * tick, 150 * tick)
    assert state.cpu == 3
    for broken in ("", "1 (x", "1 (x) S", "1 (x) S a b c d e f g h i j k l m"):
        assert parse_state(broken) is None


def plant(root: Path, pid: int, parent: int, *, state="S", minor=0, ticks=0, reaped=0) -> None:
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    text = STAT.format(pid, state, parent, minor, 0, ticks, 0)
    (folder / "stat").write_text(text.replace(" 100 50 20 ", f" {reaped} 0 20 "))
    (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
    (folder / "task" / str(pid) / "schedstat").write_text(f"1 {ticks * 1000000} 3\n")


def test_the_process_tree_is_found_by_descent_and_kept_when_its_root_ends(tmp_path):
    tree = Tree(tmp_path)
    for pid, parent in ((1, 0), (10, 1), (11, 10), (12, 11), (20, 1)):
        plant(tmp_path, pid, parent)
    family = Family(tree, [10])
    family.look()
    assert family.members == {10, 11, 12}
    (tmp_path / "proc/11/stat").unlink()
    (tmp_path / "proc/11/task/11/schedstat").unlink()
    (tmp_path / "proc/11/task/11").rmdir()
    (tmp_path / "proc/11/task").rmdir()
    (tmp_path / "proc/11").rmdir()
    plant(tmp_path, 12, 1)  # adopted by init
    plant(tmp_path, 13, 12)  # and has a child
    family.look()
    assert family.members == {10, 12, 13}
    plant(tmp_path, 21, 20)
    family.look()
    family.add(20)  # a rank that a daemon started
    family.look()
    assert family.members == {10, 12, 13, 20, 21}


def test_cpu_time_of_ended_children_counts_once(tmp_path):
    tick = 1 / os.sysconf("SC_CLK_TCK")
    for pid, parent in ((10, 1), (11, 10)):
        plant(tmp_path, pid, parent, ticks=100)
    sampler = Sampler(10, 99, tree=Tree(tmp_path))
    first = sampler.read()
    plant(tmp_path, 11, 10, ticks=150)
    second = sampler.read()
    for path in sorted((tmp_path / "proc/11").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / "proc/11").rmdir()
    plant(tmp_path, 10, 1, ticks=100, reaped=160)  # 10 more before it ended
    third = sampler.read()
    own = [r.counters["own_cpu_seconds"] for r in (first, second, third)]
    assert [own[1] - own[0], own[2] - own[0]] == pytest.approx([50 * tick, 60 * tick])


def test_this_machine_is_read_and_a_competitor_is_named(monkeypatch, tmp_path):
    # Competitors of the same name are reported as one, and other tests run python.
    (tmp_path / "competitor").symlink_to(sys.executable)
    monkeypatch.setattr("assay.watch.sampler._MOST_EXAMINED", 10_000)  # others may be busier
    work = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"
    cpu = {min(os.sched_getaffinity(0))}
    pinned = f"import os\nos.sched_setaffinity(0, {cpu})\n{work}"
    own = subprocess.Popen([sys.executable, "-c", pinned])
    try:
        sampler = Sampler(own.pid, 0)
        for _ in range(3):
            sampler.read()
            time.sleep(0.3)
        assert own.pid in sampler.family.members
        other = subprocess.Popen([tmp_path / "competitor", "-c", pinned])
        try:
            sampler.look_at_others()
            sampler.read()
            time.sleep(1.0)
            sampler.read()
            busiest, sharing = sampler.busiest()
        finally:
            other.kill()
            other.wait()
    finally:
        own.kill()
        own.wait()
    assert own.pid not in [process.pid for process in busiest]
    assert other.pid in [process.pid for process in busiest]
    assert other.pid in sharing
    during = rates(*sampler.readings[-2:])
    assert during["other_cpu_seconds"] > 0.1
    if WAIT in during:  # the kernel keeps schedstat
        assert during[WAIT] > 0.3
        causes = {cause.name: cause for cause in judge(BEFORE, during, 0.5, busiest)}
        assert f"({other.pid})" in causes["competition"].sentence or len(busiest) > 3


def place(root: Path, pid: int, name: str, ticks: int, cpus: list[int]) -> None:
    """A process and its threads, one per CPU."""
    plant(root, pid, 1, ticks=ticks)
    stat = (root / "proc" / str(pid) / "stat").read_text().replace("a) b (c", name)
    for thread, cpu in enumerate(cpus, pid):
        folder = root / "proc" / str(pid) / "task" / str(thread)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stat").write_text(stat.replace(" 3 0\n", f" {cpu} 0\n"))
    (root / "proc" / str(pid) / "stat").write_text(stat.replace(" 3 0\n", f" {cpus[0]} 0\n"))


def test_competitors_share_the_programs_cpus_and_bystanders_do_not(tmp_path):
    tree = Tree(tmp_path)
    processes = {
        10: ("model", [4, 5]), 200: ("stress", [5]), 300: ("stress", [0, 4]), 400: ("cc1", [0, 1]),
        500: ("idle", [4]),
    }  # fmt: skip
    for pid, (name, cpus) in processes.items():
        place(tmp_path, pid, name, 100, cpus)
    assert last_cpus(tree, 300, 8) == {0, 4} and last_cpus(tree, 300, 1) == {0}
    sampler = Sampler(10, 99, tree=tree)
    assert sampler.busiest() == ([], set())
    sampler.look_at_others()
    for pid, ticks in ((10, 900), (200, 150), (300, 160), (400, 900)):
        place(tmp_path, pid, *(processes[pid][0], ticks, processes[pid][1]))
    used, sharing = sampler.busiest()
    assert [process.pid for process in used] == [400, 300, 200]
    assert sharing == {200, 300}


def test_competitors_are_added_up_by_name():
    busiest = [
        Process(9, "cc1", 3.0), *(Process(20 + i, "stress", 0.4) for i in range(4)),
        Process(7, "burn", 0.98), Process(8, "quiet", 0.01),
    ]  # fmt: skip
    assert by_name(busiest) == ["cc1 (9) 3.00", "stress (4 processes) 1.60", "burn (7) 0.98"]
    during = {**CALM, WAIT: 0.5, "other_cpu_seconds": 5.6}
    (cause,) = judge(BEFORE, during, 0.5, busiest, {7, 20, 21, 22, 23})
    assert cause.sentence.endswith(
        "others used 5.60 CPUs (before: 0.03), on its CPUs stress (4 processes) 1.60, burn (7) 0.98"
    )
    (alone,) = judge(BEFORE, during, 0.5, busiest, set())
    assert alone.sentence.endswith("others used 5.60 CPUs (before: 0.03)")
    # Those that don't compete for CPUs share memory: there all of them count.
    (beside,) = judge(BEFORE, {**during, WAIT: 0.001}, 0.5, busiest, {7})
    assert "cc1 (9) 3.00" in beside.sentence and "on its CPUs" not in beside.sentence


def test_all_processes_and_who_descends_from_whom():
    tree = Tree(Path("/"))
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        processes = all_processes(tree)
        assert child.pid in descendants(processes, [os.getpid()])
        assert 1 not in descendants(processes, [os.getpid()])
    finally:
        child.communicate(b"\n", timeout=30)
