"""Facts of this machine while something hangs, and what is left afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import hanging_mount
from assay.check.facts import children
from assay.check.facts.children import LATE, STARVED, ask_children
from assay.check.facts.fleet import compare_facts, failing, learn_facts
from assay.check.facts.groups import processes
from assay.check.facts.judging import judge_facts
from assay.check.facts.reading import FactsRead, read_facts
from assay.check.model import Fact
from assay.system.files import Tree
from small_process import called
from waiting import wait_for

_PRINT = """
import json, os, msgspec
from assay.check.facts.reading import read_facts
read = read_facts(scratch="/srv/scratch", expect_idle=True, seconds={seconds})
print(json.dumps(msgspec.to_builtins(read)))
"""


def in_namespace(script: str) -> str:
    """The output of a script that runs with the mounts of ``hanging_mount``."""
    done = subprocess.run(
        [sys.executable, hanging_mount.__file__, script],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(f"mounts need root: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def seen() -> FactsRead:
    """On a busy machine the process that asks may begin too late to be seen waiting."""
    for seconds in (4, 16, 64):
        read = msgspec.convert(json.loads(in_namespace(_PRINT.format(seconds=seconds))), FactsRead)
        if not read.unread:
            break
    return read


def test_a_mount_that_hangs_is_named_and_the_others_are_read(seen):
    assert seen.hung == ["/srv/home"]
    assert seen.unread == {}
    values = {fact.name: fact.value for fact in seen.facts}
    assert values["mount./srv/home.answers"] is False
    assert values["mount./.answers"] is True
    assert values["mount./srv/fixed.writable"] is False
    assert values["mount./srv/fixed.answers"] is True
    assert values["scratch.size"] == 2**20
    assert "disk./srv/scratch.size" not in values, "the same space twice"
    assert values["cpu.online"] == os.cpu_count()
    # The time ends the wait, and the process that hung could be ended.
    assert seen.seconds < 80
    assert seen.left == []


def test_the_hanging_mount_fails_a_node_whose_fleet_has_it(seen):
    whole = [
        Fact(name=fact.name, value=True, rule="not below") if fact.value is False
        and fact.name.endswith((".answers", ".writable")) else fact
        for fact in seen.facts
    ]  # fmt: skip
    learned = learn_facts({f"n{number}": [whole] for number in range(50)})
    texts = [finding.text for finding in failing(compare_facts(seen.facts, learned))]
    assert [text for text in texts if "/srv" in text] == [
        "mount /srv/home hangs; check its server",
        "mount /srv/fixed is read-only; check mount",
    ]


def test_full_scratch_and_a_hanging_mount_are_judged_by_two_readings():
    script = """
import json, time
from pathlib import Path
from assay.check.facts.fleet import learn_facts
from assay.check.facts.judging import judge_facts
from assay.check.facts.reading import read_facts
left = Path("/srv/scratch/left")
for seconds in (4, 16, 64):  # as in ``seen``
    left.unlink(missing_ok=True)
    options = dict(scratch="/srv/scratch", seconds=seconds)
    first = read_facts(**options)
    usual = [f for f in first.facts if not f.name.startswith(("memory.", "processes."))]
    learned = learn_facts({f"n{i}": [usual] for i in range(20)})
    left.write_bytes(bytes(1000000))
    judged = judge_facts(learned, expect_idle=True, **options)
    if first.hung == judged.read.hung == ["/srv/home"]:
        break
print(json.dumps([[f.text for f in judged.failed], judged.read.hung, judged.read.seconds]))
"""
    texts, hung, seconds = json.loads(in_namespace(script))
    # The fleet was learned with the same mount hanging, so that only the space differs.
    assert [text.partition(",")[0] for text in texts] == ["scratch /srv/scratch full: 44 KiB free"]
    assert hung == ["/srv/home"]
    assert seconds < 80


def test_a_second_check_adds_no_second_process_to_a_mount_that_hangs(tmp_path):
    """The child of an earlier check can't be ended: here it sleeps with the lock of its mount."""
    lock = f"mount-{tmp_path}"
    calls = tmp_path / "calls"

    def first():
        with calls.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(60)
        yield Fact(name="never", value=1)

    stuck = os.fork()
    if stuck == 0:
        ask_children({lock: first}, time.monotonic() + 60, [lock])
        os._exit(0)
    try:
        wait_for(lambda: calls.exists() and calls.read_text().endswith("\n"))
        # On a busy machine the child may not have begun to wait.
        for seconds in (0.3, 1.0, 4.0, 16.0):
            found = ask_children({lock: first}, time.monotonic() + seconds, [lock])
            if found.answers[lock].failed != STARVED:
                break
        assert found.answers[lock].failed == LATE
        # It waits as the first one does.
        assert found.answers[lock].blocked > 0
        assert found.left == ()
        assert len(calls.read_text().splitlines()) == 1
    finally:
        os.kill(stuck, signal.SIGKILL)
        os.waitpid(stuck, 0)
    # The child ends with its parent, and gives the lock back.
    pid = int(calls.read_text())
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    quick = ask_children({lock: lambda: [Fact(name="x", value=1)]}, time.monotonic() + 9, [lock])
    assert quick.answers[lock].whole


def test_a_child_holds_nothing_of_its_parent(tmp_path):
    """A batch scheduler waits until all holders of its prolog's output have closed it."""
    kept = (tmp_path / "lock").open("w")

    def open_files():
        for number in range(64):
            try:
                yield Fact(name=str(number), value=str(Path(f"/proc/self/fd/{number}").readlink()))
            except OSError:
                continue

    found = ask_children({"files": open_files}, time.monotonic() + 9).answers["files"]
    assert found.whole
    kept.close()
    files = {fact.name: str(fact.value) for fact in found.facts}
    assert {files.pop(number) for number in ("0", "1", "2")} == {"/dev/null"}
    assert files.pop("3").startswith("pipe:")
    assert files == {}


def own_children() -> set[str]:
    """Processes of this one, zombies too; other tests may have some that stay."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def none_is_left(before: set[str]) -> bool:
    """Whether only the children from before exist.

    On a busy machine a killed child may end after the facts were read: such a child is reaped here.
    """
    for pid in own_children() - before:
        os.waitpid(int(pid), os.WNOHANG)
    return own_children() <= before


def test_what_raises_ends_early_or_says_nothing_is_named():
    def raises():
        yield Fact(name="a", value=1)
        raise RuntimeError

    def ends():
        os._exit(0)

    def silent():
        yield Fact(name="b", value=2)
        time.sleep(60)

    questions = {"raises": raises, "ends": ends, "silent": silent, "good": lambda: []}
    before = own_children()
    found = ask_children(questions, time.monotonic() + 1.5).answers
    assert {name: (answer.whole, answer.failed) for name, answer in found.items()} == {
        "raises": (False, "RuntimeError"),
        "ends": (False, "ended early"),
        "silent": (False, LATE),
        "good": (True, ""),
    }
    assert [fact.name for fact in found["raises"].facts] == ["a"]
    assert [fact.name for fact in found["silent"].facts] == ["b"]
    wait_for(lambda: none_is_left(before))


def test_no_process_can_be_started(monkeypatch):
    def fork():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(children.os, "fork", fork)
    read = read_facts(seconds=1)
    assert set(read.unread.values()) == {"Resource temporarily unavailable"}
    assert {fact.value for fact in read.facts} == {None}
    learned = learn_facts({"a": [[Fact(name="net.eth0.state", value="up")]]})
    assert compare_facts(read.facts, learned) == []


def test_a_group_that_hangs_is_unread_and_no_lost_part(monkeypatch):
    whole = called(read_facts, seconds=20)
    learned = learn_facts({f"n{number}": [whole.facts] for number in range(20)})

    def hangs(tree):
        time.sleep(60)

    monkeypatch.setattr("assay.check.facts.groups.network.facts", hangs)
    read = read_facts(seconds=3)
    assert set(read.unread) == {"network"}
    assert [f.about for f in compare_facts(read.facts, learned) if "net." in f.about] == []
    judged = judge_facts(learned, seconds=4)
    assert set(judged.read.unread) == {"network"}
    assert [finding for finding in judged.failed if finding.about.startswith("net.")] == []


@pytest.fixture(scope="module")
def fleet_of_three():
    here = [called(read_facts, seconds=20, scratch="/tmp") for _ in range(3)]
    return learn_facts({name: [read.facts] for name, read in zip("abc", here, strict=True)})


class TestSlowMounts:
    """A mount that answers late is told apart from one that hangs, and from a busy node."""

    @pytest.fixture
    def fleet(self, fleet_of_three):
        return fleet_of_three

    @staticmethod
    def judged(monkeypatch, fleet, wait, **options):
        """Mounts that hang or are slow, of all that are asked."""
        really = os.statvfs

        def statvfs(path):
            wait()
            return really(path)

        monkeypatch.setattr("assay.check.facts.file_systems.os.statvfs", statvfs)
        found = judge_facts(fleet, scratch="/tmp", **options)
        hung = [each.text for each in found.failed if each.text.endswith("hangs; check its server")]
        return found.read, hung

    def test_a_busy_server_is_waited_for(self, monkeypatch, fleet):
        read, hung = self.judged(
            monkeypatch, fleet, lambda: time.sleep(1.5), seconds=1, patience=30
        )
        assert (read.hung, hung) == ([], [])

    @pytest.mark.flaky(reruns=2, reason="a process without processor time can't ask the server")
    def test_a_server_that_does_not_answer_in_the_whole_time_hangs(self, monkeypatch, fleet):
        read, hung = self.judged(monkeypatch, fleet, lambda: time.sleep(60), seconds=3)
        assert "/tmp" in read.hung and "/" in read.hung
        assert "mount / hangs; check its server" in hung

    def test_a_busy_node_has_no_hanging_mount(self, monkeypatch, fleet):
        """The processes that ask compute, as if they waited for a CPU."""

        def spin():
            until = time.monotonic() + 60
            while time.monotonic() < until:
                pass

        read, hung = self.judged(monkeypatch, fleet, spin, seconds=3)
        assert (read.hung, hung) == ([], [])
        assert {"mount./", "scratch"} <= set(read.unread)


@pytest.mark.long
def test_a_busy_node_gets_more_time(monkeypatch, fleet_of_three):
    """The processes compute for longer than the whole time, as if they waited for a CPU."""
    really = os.statvfs

    def spin(path):
        until = time.monotonic() + 0.8
        while time.monotonic() < until:
            pass
        return really(path)

    monkeypatch.setattr("assay.check.facts.file_systems.os.statvfs", spin)
    assert judge_facts(fleet_of_three, seconds=0.5).read.unread != {}
    judged = judge_facts(fleet_of_three, seconds=0.5, busy=60)
    assert (judged.read.unread, judged.read.hung) == ({}, [])


def test_a_fault_that_is_gone_at_once_fails_no_node(monkeypatch, tmp_path):
    """The second reading sees a port that has come up again."""
    whole = called(read_facts, seconds=20)
    learned = learn_facts({f"n{number}": [whole.facts] for number in range(20)})
    seen = tmp_path / "seen"

    def facts(faults):
        """The first reading has the first fault, and later ones have the second."""
        fault = faults[seen.exists()]
        seen.touch()
        return [
            msgspec.structs.replace(fact, value="down" if fact.name.endswith(".state") else 1)
            if fault and fact.name.endswith(fault)
            else fact
            for fact in whole.facts
            if fact.name.startswith("net.")
        ]

    if not any(f.name.startswith("net.") and f.name.endswith(".state") for f in whole.facts):
        pytest.skip("this machine has no adapter")
    name = "assay.check.facts.groups.network.facts"
    for faults, failed in (
        ((".state", ""), set()),
        ((".state", ".mtu"), set()),
        ((".state", ".state"), {"state"}),
    ):
        seen.unlink(missing_ok=True)
        monkeypatch.setattr(name, lambda tree, faults=faults: facts(faults))
        judged = judge_facts(learned, seconds=20)
        found = {f.about for f in judged.failed if f.about.startswith("net.")}
        assert {about.rpartition(".")[2] for about in found} == failed, faults


def test_a_real_clock_daemon_that_is_stopped():
    """A process with the daemon's name, first here and then not."""
    name = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'ptp4l'); print(1, flush=True); "
    daemon = subprocess.Popen(
        [sys.executable, "-c", f"{name} time.sleep(60)"], stdout=subprocess.PIPE
    )
    try:
        assert daemon.stdout is not None
        daemon.stdout.readline()
        running = called(read_facts, seconds=20, groups=["processes"]).facts
    finally:
        daemon.kill()
        daemon.wait()
    learned = learn_facts({f"n{number}": [running] for number in range(9)})
    assert next(fact.value for fact in running if fact.name == "daemon.ptp4l") is True
    stopped = called(read_facts, seconds=20, groups=["processes"]).facts
    assert "clock daemon ptp4l not running; start the daemon" in [
        finding.text for finding in failing(compare_facts(stopped, learned))
    ]


@pytest.mark.skipif(os.getuid() != 0, reason="a process of another user needs root")
def test_a_leftover_process_that_computes(monkeypatch):
    monkeypatch.setattr(processes, "_YOUNG", 0.0)
    idle = read_facts(seconds=20, groups=["processes"], expect_idle=True).facts
    learned = learn_facts({f"n{number}": [idle] for number in range(9)})
    # Several, in sessions of their own: the kernel shares CPUs among sessions on a busy machine.
    loop = "['/bin/sh', '-c', 'while :; do :; done']"
    script = f"import os; os.setsid(); os.setuid(12345); os.execv('/bin/sh', {loop})"
    left = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(6)]
    try:
        for each in left:
            wait_for(lambda pid=each.pid: Path(f"/proc/{pid}").stat().st_uid == 12345)
        found = read_facts(seconds=20, groups=["processes"], expect_idle=True).facts
    finally:
        for each in left:
            each.kill()
            each.wait()
    texts = [finding.text for finding in failing(compare_facts(found, learned))]
    assert len(texts) == 1, found
    assert texts[0].startswith("leftover processes use ")
    assert any(f"sh (pid {each.pid}, uid 12345)" in texts[0] for each in left)


@pytest.mark.skipif(os.getuid() != 0, reason="a process of another user needs root")
@pytest.mark.parametrize("ends", ["before", "while it is observed"])
def test_a_process_that_ends_is_not_left_over(ends, monkeypatch):
    """Its parent, which is this test, collects it late, as the first process of a container may."""
    monkeypatch.setattr(processes, "_YOUNG", 0.0)
    idle = read_facts(seconds=20, groups=["processes"], expect_idle=True).facts
    learned = learn_facts({f"n{number}": [idle] for number in range(9)})
    script = "import os, sys; os.setuid(12345); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as left:
        assert left.stdout is not None and left.stdin is not None
        left.stdout.readline()
        stat = Path(f"/proc/{left.pid}/stat")

        def end(*_: float) -> None:
            left.kill()
            os.waitid(os.P_PID, left.pid, os.WEXITED | os.WNOWAIT)

        if ends == "before":
            end()
        else:
            monkeypatch.setattr(time, "sleep", end)
        facts = {fact.name: fact for fact in processes.facts(Tree(Path("/")))}
        assert stat.exists()
    assert facts["processes.users"].value == 0
    assert failing(compare_facts(list(facts.values()), learned)) == []


@pytest.mark.skipif(os.getuid() != 0, reason="a process of another user needs root")
def test_a_process_whose_first_thread_has_ended_is_left_over(monkeypatch):
    monkeypatch.setattr(processes, "_YOUNG", 0.0)
    program = (
        "import ctypes, os, threading, time\nos.setuid(12345)\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as left:
        try:
            stat = Path(f"/proc/{left.pid}/stat")
            wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")
            facts = {fact.name: fact.value for fact in processes.facts(Tree(Path("/")))}
        finally:
            left.kill()
    assert (facts["processes.users"], facts["processes.zombies"]) == (1.0, 0.0)


def test_one_core_taken_away_from_this_process():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this process has one CPU")
    groups = ["processor", "limits"]
    learned = learn_facts({"a": [read_facts(seconds=20, groups=groups).facts]})
    kept = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(kept)[1:]))
    try:
        found = failing(compare_facts(read_facts(seconds=20, groups=groups).facts, learned))
    finally:
        os.sched_setaffinity(0, kept)
    assert [finding.text for finding in found] == [
        f"{len(kept) - 1} of {len(kept)} CPUs usable; check cpusets and affinity"
    ]
