"""Hosts compared: surveys, differences, the doctor's findings, and builds by kind."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from assay.campaign.machine import processor_builds as builds
from assay.campaign.machine.bench import _context
from assay.campaign.machine.processor_builds import build_everywhere, selector_script
from assay.campaign.machine.survey import Surveyed, survey_hosts
from assay.config import ClusterConfig
from assay.errors import AssayError
from assay.kernels.builds.identity import cpu_kind
from assay.kernels.builds.toolchain import Toolchain
from assay.launch import remote
from assay.launch.remote import python_command, remote_command, run_on_hosts
from assay.records.directory import NODES, RunDirectory
from assay.report.hosts import node_tables
from assay.system.doctor.cluster_checks import SmokeTest, cluster_findings
from assay.system.model import System
from assay.system.nodes import differences
from assay.system.survey import AdapterFact, HostSurvey, read_nodes
from records_builder import make_cell, make_plan, make_run

GIB = 1 << 30


def node(host: str, **facts: object) -> HostSurvey:
    plain: dict[str, object] = {
        "host": host,
        "utc": 1000.0,
        "hostname": host,
        "processor": "Xeon 1",
        "identity": "aaaa11112222",
        "cores": 2,
        "threads": 2,
        "numa": {0: 2},
        "caches": 32 << 20,
        "memory": 16 * GIB,
        "available": 12 * GIB,
        "kernel": "6.1",
        "glibc": "glibc 2.36",
        "assay": "1",
        "python": "3.12.1",
        "toolchains": {"site": "MPICH 4, g++ 12"},
        "adapters": [AdapterFact(name="eth0", speed=125e6, state="up")],
        "seen": True,
        "writable": True,
        "ahead": (-0.3, 0.2),
        "load": 0.0,
        "steal": 0.0,
    }
    return HostSurvey(**{**plain, **facts})  # type: ignore[arg-type]


# ---- what differs ----------------------------------------------------------------------------


def test_equal_hosts_give_no_finding() -> None:
    nodes = [node("a"), node("b", memory=16 * GIB - GIB // 8), node("c", kernel="5.10")]
    assert differences(nodes) == []


def test_differing_hosts_are_named() -> None:
    some = [node("n1"), node("n2"), node("n3", cores=1, numa={0: 1}), node("n4", cores=1)]
    assert differences(some) == ["n3 and n4 have 1 core; the others 2 cores."]
    three = [*some[:3], node("n5")]
    assert differences(three) == ["n3 has 1 core; the others 2 cores."]
    mixed = [
        node("a", processor="EPYC", identity="b"),
        node("b"),
        node("c", memory=8 * GIB, adapters=[]),
        node("d", numa={0: 1, 1: 1}),
        node("e"),
    ]
    assert differences(mixed) == [
        "a has EPYC; the others Xeon 1.",
        "d has 2 NUMA nodes; the others 1 NUMA node.",
        "c has 8 GiB of memory; the others 16 GiB of memory.",
        "c has no known links; the others links of 1.00 Gbit/s.",
    ]
    same_name = [node("a"), node("b"), node("c", identity="cccc0000")]
    assert differences(same_name) == [
        "c has instruction sets of kind cccc; the others instruction sets of kind aaaa."
    ]


def test_many_hosts_are_named_in_brackets() -> None:
    nodes = [node(f"n{i}", cores=1 if i < 6 else 2) for i in range(1, 100)]
    assert differences(nodes) == ["n[1-5] have 1 core; the others 2 cores."]


def test_the_plan_is_made_for_the_smallest() -> None:
    nodes = (
        node("a", numa={0: 2, 1: 2}, cores=4, caches=8 << 20),
        node("b", available=5 * GIB, adapters=[AdapterFact(name="ib0"), AdapterFact(name="eth0")]),
    )
    surveyed = Surveyed(nodes, (System(), System()), {"c": "no route\nto host"})
    context = _context(System(), surveyed, default_toolchain="t", toolchains=("t",))
    assert (context.nodes, context.cores, context.memory) == (2, 2, 5 * GIB)
    assert (context.numa, context.caches, context.adapters) == ({0: 2}, 32 << 20, ("eth0",))
    assert context.notes[0] == "c does not answer and is left out: to host."
    assert "b has 2 cores; the other 4 cores." in context.notes


# ---- surveys, with replacements of ssh ---------------------------------------------------------


def shell(folder: Path, body: str = "") -> str:
    script = folder / "shell"
    script.write_text(
        f'#!/bin/sh\nhost=$1; shift\ncd /\nexport HOME="{folder}/home of $host"\n{body}\n'
        'exec sh -c "$*"\n'
    )
    script.chmod(0o700)
    return str(script)


def test_hosts_answer_for_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "my cache"))
    greeting = 'echo "Welcome"; case $host in c) echo "no route to c" >&2; exit 255;; esac'
    cluster = ClusterConfig(("a", "b", "c"), shell(tmp_path, greeting))
    folder = tmp_path / "my runs"
    surveyed = survey_hosts(cluster, folder, None)
    assert [n.host for n in surveyed.nodes] == ["a", "b"]
    assert surveyed.silent == {"c": "no route to c"}
    for found, system in zip(surveyed.nodes, surveyed.systems, strict=True):
        assert found.hostname == os.uname().nodename
        assert found.identity == cpu_kind()
        assert (found.seen, found.writable) == (True, True)
        assert found.cores == system.usable_cores
        assert found.ahead is not None
        assert found.ahead[0] <= 0 <= found.ahead[1]
    assert list(folder.iterdir()) == []
    with pytest.raises(AssayError, match="The host 'c' does not answer") as error:
        survey_hosts(ClusterConfig(("c",), cluster.remote_shell), folder, None)
    assert "no route" in error.value.detail


def test_a_host_with_another_disk_is_seen(tmp_path: Path) -> None:
    # It has a folder of the same name: only the word in the file distinguishes it.
    lying = shell(tmp_path, f'for f in "{tmp_path}"/runs/.seen-*; do echo x >"$f"; done')
    (tmp_path / "runs").mkdir()
    (found,) = survey_hosts(ClusterConfig(("a",), lying), tmp_path / "runs", None).nodes
    assert found.seen is False


def test_commands_run_on_all_hosts_each_within_its_time(tmp_path: Path) -> None:
    slow = shell(tmp_path, "[ $host = h3 ] && sleep 61.0625")
    hosts = [f"h{i}" for i in range(70)]
    replies = run_on_hosts(slow, hosts, "echo $((6 * 7)); exit 3", patience=5.0)
    assert list(replies) == hosts
    assert replies["h3"].status is None
    assert "no answer within 5" in replies["h3"].complaint
    del replies["h3"]
    assert {(r.status, r.out, r.complaint) for r in replies.values()} == {(3, "42\n", "42")}
    ps = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=20)
    assert f"{tmp_path}/shell h3" not in ps.stdout
    assert "sleep 61.0625" not in ps.stdout
    with pytest.raises(AssayError, match="can't be started"):
        run_on_hosts(str(tmp_path / "missing"), ("a",), "true", patience=5.0)


def test_words_arrive_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "it's a $(place)"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("ASSAY_CACHE", "/c a;c'h`e")
    words = ["a b", "c'd", "$(touch x)", "; exit 9", 'q"', "é\n"]
    script = "import json, os, sys\n"
    script += "print(json.dumps([sys.argv[1:], os.getcwd(), os.environ['ASSAY_CACHE']]))"
    command = remote_command([sys.executable, "-c", script, *words])
    (reply,) = run_on_hosts(shell(tmp_path), ["h"], command, patience=30.0).values()
    assert reply.ok, reply.complaint
    assert json.loads(reply.out) == [words, str(place), "/c a;c'h`e"]
    assert list(place.iterdir()) == []
    (reply,) = run_on_hosts(
        shell(tmp_path), ["h"], python_command("assay", "--version"), patience=30.0
    ).values()
    assert reply.ok, reply.complaint


# ---- what the run keeps ----------------------------------------------------------------------


def test_the_run_keeps_surveys_and_the_report_shows_kinds(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_plan([make_cell()]))
    run.append_nodes([])
    assert not (run.path / NODES).exists()
    run.append_nodes([node("n1", cores=8), node("n2"), node("n3")])
    run.append_nodes([node("n1")])
    with (run.path / NODES).open("ab") as file:
        file.write(b'{"host": "n9", "utc":')
    found = read_nodes(run.path / NODES)
    assert [(n.host, n.cores) for n in found] == [("n1", 2), ("n2", 2), ("n3", 2)]
    (table,) = node_tables(_data(run))
    assert [row[0].text for row in table.rows] == ["n[1-3]"]
    run.append_nodes([node("n2", cores=1)])
    (table,) = node_tables(_data(run))
    assert [row[0].text for row in table.rows] == ["n[1,3]", "n2"]
    assert table.notes == ["n2 has 1 core; the others 2 cores."]


def _data(run: RunDirectory):  # type: ignore[no-untyped-def]
    from assay.records.reading import read_run

    return read_run(run.path)


# ---- the doctor ------------------------------------------------------------------------------


def says(nodes: list[HostSurvey], silent: dict[str, str] | None = None, **more: object):  # type: ignore[no-untyped-def]
    found = cluster_findings(nodes, silent or {}, **more)  # type: ignore[arg-type]
    for finding in found:
        assert finding.severity == "ok" or (finding.means and finding.fix)
    return [(f.check, f.severity, f.what) for f in found if f.severity != "ok"]


def test_a_good_cluster_has_no_finding() -> None:
    nodes = [node("a"), node("b")]
    assert says(nodes) == []
    assert len(cluster_findings(nodes, {})) >= 5


@pytest.mark.parametrize(
    ("facts", "check", "severity", "words"),
    [
        ({"seen": False, "writable": False}, "folder", "problem", "b does not see the folder"),
        ({"writable": False}, "folder", "problem", "b can't write"),
        ({"ahead": (0.2, 0.9)}, "clocks", "warning", "The clock of b is"),
        ({"ahead": (-9.0, -4.0)}, "clocks", "warning", "behind"),
        ({"kernel": "5.10"}, "versions", "warning", "b has kernel 5.10; the others kernel 6.1."),
        ({"glibc": "glibc 2.28"}, "versions", "warning", "b has glibc 2.28"),
        ({"assay": "2"}, "versions", "problem", "b has assay 2"),
        ({"python": "3.11.0"}, "versions", "note", "b has python 3.11.0"),
        ({"toolchains": {}}, "versions", "warning", "b has nothing as toolchain 'site'"),
        ({"cores": 1}, "hardware", "warning", "b has 1 core"),
        ({"load": 1.9}, "load", "warning", "b is busy: the load of b is 1.9"),
        ({"steal": 0.1}, "steal", "warning", "10.0% of the CPU time of b"),
        ({"kernels": [77]}, "kernels", "warning", "b runs assay-kernels already"),
    ],
)
def test_each_fault_is_found(
    facts: dict[str, object], check: str, severity: str, words: str
) -> None:
    ((found, grave, what),) = says([node("a"), node("b", **facts), node("c")])
    assert (found, grave) == (check, severity)
    assert words in what


def test_clocks_within_the_error_are_no_finding() -> None:
    assert says([node("a"), node("b", ahead=(-0.05, 3.0)), node("c", ahead=(0.05, 0.09))]) == []


def test_silent_hosts_and_failing_programs_come_first() -> None:
    trials = [SmokeTest("runs", "site", ("a", "b"), False, "unable to connect\nmore")]
    found = says([node("a"), node("b", kernel="5")], {"c": "timed out"}, trials=trials)
    assert {check for check, severity, _ in found[:2] if severity == "problem"} == {"hosts", "mpi"}
    assert ("hosts", "problem", "c does not answer: timed out.") in found
    (mpi,) = [what for check, _, what in found if check == "mpi"]
    assert mpi == (
        "No small MPI program runs with the toolchain 'site' on a and b: unable to connect."
    )


# ---- builds ----------------------------------------------------------------------------------


def test_the_selector_becomes_the_hosts_own_build(tmp_path: Path) -> None:
    folder = tmp_path / "it's $HOME; a `place`"
    folder.mkdir()
    here = os.uname().nodename
    paths = {}
    for kind in ("own", "other"):
        paths[kind] = folder / kind
        paths[kind].write_text(f'#!/bin/sh\necho {kind} "$@"\nexit 4\n')
        paths[kind].chmod(0o755)
    nodes = [
        node("x", hostname="elsewhere", identity="other"),
        node("y", hostname="*", identity="other"),
        node("z", hostname=here, identity="own"),
    ]
    script = tmp_path / "selector"
    script.write_text(selector_script(paths, nodes))
    done = subprocess.run(
        ["sh", str(script), "--job", "a b"], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stdout) == (4, "own --job a b\n")
    script.write_text(selector_script(paths, nodes[:1]))
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True, timeout=20)
    assert done.returncode == 127
    assert f"no kernels were built for the host {here}" in done.stderr


TOOLCHAIN = Toolchain("site", "site", "/m/mpicxx", None, "mpich", "4", "g++", "g++ 12", None)


@pytest.fixture
def building(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Builds here are a path; builds elsewhere are the output of a replacement of assay."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(builds, "build_kernels", lambda toolchain, _, kernels: tmp_path / "here")
    return tmp_path


def elsewhere(folder: Path, body: str) -> ClusterConfig:
    script = folder / "shell"
    script.write_text(f'#!/bin/sh\nhost=$1; shift\necho "$host $*" >>{folder}/asked\n{body}\n')
    script.chmod(0o700)
    return ClusterConfig(("a", "b", "c", "d"), str(script))


def build(nodes: list[HostSurvey], cluster: ClusterConfig | None, **changes: object):  # type: ignore[no-untyped-def]
    toolchain = msgspec.structs.replace(TOOLCHAIN, **changes)
    return build_everywhere(
        {"site": toolchain}, {"site": {"npb.cg", "linpack"}}, nodes, cluster, None, None
    )["site"]


def test_hosts_of_this_kind_take_this_machines_build(building: Path) -> None:
    assert build([], None).program == building / "here"
    alike = [node("a", identity=cpu_kind()), node("b", identity=cpu_kind())]
    cluster = elsewhere(building, "exit 1")
    assert build(alike, cluster).described == {"executable": str(building / "here")}
    # A portable build suits all.
    mixed = [*alike, node("c", identity="other")]
    assert build(mixed, cluster, flags="-O2").program == building / "here"
    assert not (building / "asked").exists()


def test_each_other_kind_is_built_on_one_host_of_it(building: Path) -> None:
    cluster = elsewhere(
        building,
        'echo Welcome; echo "{\\"toolchain\\": \\"site\\", \\"executable\\": \\"/on/$host\\"}"',
    )
    kinds = ["x", cpu_kind(), "y", "x"]
    nodes = [node(host, identity=kind) for host, kind in zip("abcd", kinds, strict=True)]
    built = build(nodes, cluster)
    assert built.executables == {
        "x": Path("/on/a"),
        "y": Path("/on/c"),
        cpu_kind(): building / "here",
    }
    asked = (building / "asked").read_text().splitlines()
    assert sorted(line.split()[0] for line in asked) == ["a", "c"]
    assert all("kernels linpack npb.cg --build --toolchain site --json" in line for line in asked)
    assert stat.S_IMODE(built.program.stat().st_mode) == 0o755
    assert built.program.read_text() == selector_script(built.executables, nodes)
    assert built.described["executables"] == {k: str(p) for k, p in built.executables.items()}
    # From a login node unlike all of them nothing is built here.
    built = build([node("a", identity="x"), node("d", identity="x")], cluster)
    assert built.program == Path("/on/a")


def test_a_failing_build_elsewhere_says_where(building: Path) -> None:
    cluster = elsewhere(building, 'echo "no compiler" >&2; exit 2')
    with pytest.raises(AssayError, match="can't be built on 'b'") as error:
        build([node("a", identity=cpu_kind()), node("b", identity="x")], cluster)
    assert "no compiler" in error.value.detail


def test_a_failing_build_here_ends_those_elsewhere(
    building: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Path:
        raise AssayError("no room")

    monkeypatch.setattr(builds, "build_kernels", fail)
    ended: list[str] = []
    monkeypatch.setattr(
        remote._Asked,
        "end",
        lambda self, end=remote._Asked.end: (ended.append(self.host), end(self)),
    )
    cluster = elsewhere(building, "sleep 100")
    with pytest.raises(AssayError, match="no room"):
        build([node("a", identity=cpu_kind()), node("b", identity="x")], cluster)
    assert ended == ["b"]
