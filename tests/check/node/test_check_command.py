"""`assay check` from end to end on this machine, with faults as users have them."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import openmetrics_grammar
from assay.check.state.file_names import file_name, host_name
from assay.check.state.header import FILE_SIZE
from assay.check.state.node_file import read_node_file
from checked_node import COMMAND, assay_check, decided, found_by

# What other tests do to this machine, such as mounts, would be found by these checks.
pytestmark = pytest.mark.alone
CPUS = sorted(os.sched_getaffinity(0))
QUOTA = Path("/sys/fs/cgroup/cpu")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def state_of(folder: Path) -> Path:
    return folder / "nodes" / file_name(host_name())


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The only line of standard output, in the form of a drain reason."""
    (line,) = done.stdout.splitlines()
    assert len(line) <= 100
    assert re.fullmatch("[ -~]+", line)
    assert line.startswith(("healthy: ", "unhealthy: ", "undecided: "))
    assert "Traceback" not in done.stderr
    return line


def test_a_node_like_its_fleet_is_healthy(node_folder: Path) -> None:
    """Other processes and a machine whose speed moves may keep it from a decision; they never fail
    it.
    """
    done = assay_check(node_folder)
    line = one_line(done)
    assert (done.returncode, line.split(":")[0]) in ((0, "healthy"), (3, "undecided"))
    assert done.returncode == 0 or re.search("busy|too few sessions|no time", line), line
    content = read_node_file(state_of(node_folder))
    assert content.header is not None
    assert content.header.checks == len(content.records) == 1
    assert set(content.records[0].values) >= {"core", "stream", "latency"}
    assert state_of(node_folder).stat().st_size == FILE_SIZE


def test_a_check_writes_nothing_but_its_record(node_folder: Path) -> None:
    def listing() -> dict[str, tuple[int, int]]:
        paths = [node_folder, *node_folder.rglob("*")]
        return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in paths}

    before = listing()
    assert decided(node_folder, "--facts").returncode == 0
    after = listing()
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {str(state_of(node_folder))}


def test_all_outputs_tell_the_same(node_folder: Path, tmp_path: Path) -> None:
    metrics, xml = tmp_path / "assay.prom", tmp_path / "check.xml"
    words = ("--facts", "--textfile", str(metrics), "--junit", str(xml))
    found = found_by(node_folder, *words)
    assert (found["outcome"], found["status"]) == ("healthy", 0)
    assert found["host"] == host_name()
    assert found["line"].startswith("healthy: ")
    assert any(fact["name"] == "cpu.online" for fact in found["facts"])
    families = openmetrics_grammar.parse(metrics.read_text())
    outcomes = {dict(s[0])["outcome"]: s[1] for s in families["assay_check_outcome"].samples}
    assert outcomes == {"healthy": 1.0, "unhealthy": 0.0, "undecided": 0.0}
    suite = ElementTree.parse(xml).getroot()[0]
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.attrib["tests"]) >= 5
    assert suite.attrib["failures"] == suite.attrib["skipped"] == "0"
    assert "cpu" in {case.attrib["name"] for case in cases}
    told = assay_check(node_folder, "--facts", "--verbose").stdout.splitlines()
    assert told[0].startswith("healthy: ")
    assert len(told) > 3
    assert all(re.fullmatch("[ -~]*", line) for line in told)


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("words", [("--facts",), ()], ids=["facts", "all"])
def test_a_node_that_lost_a_cpu_is_unhealthy(node_folder: Path, words: tuple[str, ...]) -> None:
    done = decided(node_folder, *words, before=("taskset", "-c", str(CPUS[0])))
    line = one_line(done)
    assert (done.returncode, line.split(":")[0]) == (1, "unhealthy"), line
    assert "CPUs" in line
    found = found_by(node_folder, "--facts", before=("taskset", "-c", str(CPUS[0])))
    assert found["findings"]
    assert found["status"] == 1


@pytest.mark.skipif(not os.access(QUOTA / "cgroup.procs", os.W_OK), reason="needs control groups")
def test_a_node_with_a_cpu_quota_is_unhealthy(node_folder: Path) -> None:
    group = QUOTA / f"assay-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpu.cfs_quota_us").write_text("80000")
        enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        done = decided(node_folder, before=("sh", "-c", enter, "sh"))
        line = one_line(done)
        assert (done.returncode, "quota" in line) == (1, True), line
    finally:
        group.rmdir()


@as_root
def test_a_full_scratch_is_unhealthy(node_folder: Path) -> None:
    scratch = node_folder.parents[1] / "scratch"
    fill = (
        f"mount -t tmpfs -o size=4m none {scratch} && "
        f'{{ head -c 8m /dev/zero > {scratch}/full 2>/dev/null; exec "$@"; }}'
    )
    words = ("--facts", "--idle", "--scratch", str(scratch))
    assert decided(node_folder, *words).returncode == 0
    done = decided(node_folder, *words, before=("unshare", "-m", "sh", "-c", fill, "sh"))
    line = one_line(done)
    assert (done.returncode, "scratch" in line) == (1, True), line


@pytest.fixture
def busy() -> Iterator[None]:
    """Every CPU is kept busy twice over."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinners = [subprocess.Popen(spin) for _ in range(2 * len(CPUS))]
    yield
    for each in spinners:
        each.kill()
        each.wait()


@pytest.mark.long
@pytest.mark.usefixtures("busy")
def test_a_busy_node_is_never_unhealthy(node_folder: Path) -> None:
    for _ in range(2):  # a node fails by two checks
        done = assay_check(node_folder)
        assert done.returncode in (0, 3), one_line(done)


def test_two_checks_at_once(node_folder: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--folder", str(node_folder)], stdout=subprocess.DEVNULL
    ) as first:
        time.sleep(1.0)
        second = assay_check(node_folder, "--facts")
        assert first.poll() is None
        assert second.returncode == 3
        assert "another check of this node is running" in one_line(second)
        first.wait()
    assert assay_check(node_folder, "--facts").returncode == 0


@pytest.mark.long
def test_checks_killed_at_any_moment_leave_a_readable_file(node_folder: Path) -> None:
    drawn = random.Random(11)
    for _ in range(12):
        with subprocess.Popen([*COMMAND, "--facts", "--folder", str(node_folder)]) as process:
            time.sleep(drawn.uniform(0.05, 0.5))
            process.send_signal(signal.SIGKILL)
        content = read_node_file(state_of(node_folder))
        assert content.damaged == 0
    until = time.monotonic() + 20  # the kernel ends the checks of killed processes
    while assay_check(node_folder, "--facts").returncode != 0:
        assert time.monotonic() < until


@as_root
def test_a_read_only_folder_costs_the_record_and_not_the_verdict(node_folder: Path) -> None:
    mount = f'mount --bind -o ro {node_folder} {node_folder} && exec "$@"'
    before = state_of(node_folder).read_bytes()
    done = decided(node_folder, "--facts", before=("unshare", "-m", "sh", "-c", mount, "sh"))
    assert done.returncode == 0
    one_line(done)
    assert "couldn't be recorded: Read-only file system" in done.stderr
    assert state_of(node_folder).read_bytes() == before


@as_root
@pytest.mark.parametrize("exists", [True, False], ids=["file", "no file"])
def test_a_full_file_system_costs_a_first_record_alone(node_folder: Path, exists: bool) -> None:
    """A file that exists is written in place, for which a full file system has room."""
    nodes, host = node_folder / "nodes", file_name(host_name())
    fill = (
        f"mount -t tmpfs -o size=64k,mode=755 none {node_folder}/full && "
        f"{'cp' if exists else 'true'} {nodes}/{host} {node_folder}/full/ && "
        f"{{ head -c 1m /dev/zero > {node_folder}/full/more 2>/dev/null; "
        f'mount --bind {node_folder}/full {nodes} && exec "$@"; }}'
    )
    (node_folder / "full").mkdir()
    done = decided(node_folder, "--facts", before=("unshare", "-m", "sh", "-c", fill, "sh"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("couldn't be recorded: No space left on device" in done.stderr) == (not exists)


def test_an_interrupted_check_prints_nothing(node_folder: Path) -> None:
    command = [*COMMAND, "--folder", str(node_folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")


BROKEN = """
    import os, signal, sys, time
    import assay.check.node.check as check
    from assay.check.facts.groups import infiniband
    from assay.check.state.node_file import NodeFile
    from assay.cli.app import main

    def hang(*_): time.sleep(1000)
    def fail(*_): raise ValueError("broken")
    def die(*_): os.kill(os.getpid(), signal.SIGKILL)
    def leave(*_): os._exit(7)

    {place} = {fault}
    main(["check", "--facts", "--deadline", "3", *sys.argv[1:]])
"""


# Where a check breaks, how, and its exit status, its line and its warning then.
BREAKS = [
    ("NodeFile.write", "hang", 0, "healthy: ", "ended in record, after its verdict"),
    ("check.baseline_of", "hang", 3, "the deadline of 3 s passed in file of the node", ""),
    ("check.baseline_of", "fail", 3, "an unexpected error occurred", "assay-error-"),
    ("check.baseline_of", "die", 3, "ended by signal 9 in file of the node", ""),
    ("infiniband.facts", "hang", 3, "couldn't be read: infiniband: no answer in time", ""),
    ("infiniband.facts", "fail", 3, "couldn't be read: infiniband: ValueError", ""),
    ("check.CheckRecord", "fail", 0, "healthy: ", "ended in record, after its verdict"),
]
MORE_BREAKS = [
    ("check.textfile", "hang", 0, "healthy: ", "ended in"),
    ("check.settings_for", "hang", 3, "the deadline of 3 s passed in config", ""),
    ("check.baseline_of", "leave", 3, "ended with status 7", ""),
    ("infiniband.facts", "die", 3, "couldn't be read: infiniband: ended early", ""),
]


@pytest.mark.parametrize(
    ("place", "fault", "status", "line", "warned"),
    [*BREAKS, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE_BREAKS)],
)
def test_whatever_breaks_in_a_check(
    node_folder: Path, place: str, fault: str, status: int, line: str, warned: str
) -> None:
    script = textwrap.dedent(BROKEN).format(place=place, fault=fault)
    done = subprocess.run(
        [sys.executable, "-c", script, "--textfile", str(node_folder / "metrics.prom")],
        capture_output=True,
        text=True,
        env={**os.environ, "ASSAY_CHECKS": str(node_folder), "TMPDIR": str(node_folder)},
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert line in one_line(done)
    assert warned in done.stderr


def test_without_an_environment(node_folder: Path) -> None:
    done = assay_check(Path(), "--facts", "--folder", str(node_folder), environment={})
    assert done.returncode == 0, done.stderr
    one_line(done)


AS_NOBODY = """
    import os, sys
    from pathlib import Path
    import assay.config, assay.units, assay.conditions, assay.check.node.start
    from assay.check.facts.groups import NAMES, reader
    for name in NAMES:
        reader(name)
    from assay.check.node.request import CheckRequest
    os.environ.clear()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    os.chdir("/")
    request = CheckRequest(folder=Path(sys.argv[1]), facts_only=True)
    sys.exit(assay.check.node.start.run_check(request))
"""


@as_root
def test_as_the_user_of_a_scheduler(node_folder: Path) -> None:
    """A user without a home; first without, then with the right to record."""
    command = [sys.executable, "-c", textwrap.dedent(AS_NOBODY), str(node_folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "couldn't be recorded: Permission denied" in done.stderr
    for path in (node_folder / "nodes", state_of(node_folder)):
        os.chown(path, 65534, 65534)
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    # The owner of the folder may write its files, so root accepts them.
    assert decided(node_folder, "--facts").returncode == 0
    assert len(read_node_file(state_of(node_folder)).records) == 2


def test_every_deadline_is_kept(node_folder: Path) -> None:
    for deadline in ("0.5", "1.5"):
        done = assay_check(node_folder, "--deadline", deadline)
        assert done.returncode in (0, 3)
        one_line(done)


@as_root
@pytest.mark.parametrize(
    "host",
    [
        "odd/../name",
        "\udcff",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("n%2f1", "a b", "-n", "näh")),
    ],
)
def test_names_of_hosts_with_odd_characters(node_folder: Path, host: str) -> None:
    """A node that is renamed begins a file of its own."""
    octal = "".join(f"\\{byte:03o}" for byte in os.fsencode(host))
    rename = f"printf '{octal}' > /proc/sys/kernel/hostname; exec \"$@\""
    before = ("unshare", "-u", "sh", "-c", rename, "sh")
    done = decided(node_folder, "--facts", before=before)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = os.fsencode(host).decode("utf-8", "backslashreplace")
    names = {path.name for path in (node_folder / "nodes").iterdir()}
    assert names == {file_name(host_name()), file_name(shown)}
    assert found_by(node_folder, "--facts", before=before)["host"] == shown


@as_root
def test_clocks_of_another_time_namespace(node_folder: Path) -> None:
    before = ("unshare", "-T", "--boottime", "1000000", "--monotonic", "500000", "--")
    done = decided(node_folder, "--facts", before=before)
    assert done.returncode == 0, done.stdout + done.stderr


LEAN = """
    import os, sys
    from pathlib import Path
    from assay.cli.app import app
    from assay.check.node import start
    from assay.check.node.check import check_this_node
    from assay.check.node.reports import CheckPipe
    from assay.check.node.request import CheckRequest
    import time
    request = CheckRequest(folder=Path(sys.argv[1]), verbose=True)
    check_this_node(request, CheckPipe(os.open("/dev/null", os.O_WRONLY), time.monotonic(), 60.0))
    print("assay.check.measuring.meter" in sys.modules)
    print([m for m in ("numpy", "scipy", "polars", "rich", "jinja2") if m in sys.modules])
"""


def test_a_check_imports_no_large_library(node_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LEAN), str(node_folder)],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "True\n[]\n", done.stderr
    assert len(read_node_file(state_of(node_folder)).records) == 1


def test_json_of_a_check_that_cannot_decide(tmp_path: Path) -> None:
    done = assay_check(tmp_path / "none", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == found["status"] == 3
    assert found["outcome"] == "undecided"
    assert "no such folder" in found["reason"]
