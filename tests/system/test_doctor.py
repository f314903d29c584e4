"""Findings on different machines, and the command's output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import msgspec
import pytest

import prepared_assay
from assay.system import model
from assay.system.detect import detect
from assay.system.doctor import probe as probing
from assay.system.doctor.diagnosis import diagnose
from assay.system.doctor.findings import SEVERITIES, at_least, worst
from assay.system.doctor.probe import Probe, probe, steal_share
from assay.system.environment import tuning_variables
from assay.system.model import System
from assay.system.processes import TICK, Process, parse_state
from spinning import spinning
from system_trees import unpack

GiB = 1 << 30
QUIET = Probe(
    seconds=1.0,
    worked=True,
    steal=0.0,
    others=0.02,
    throttled=0,
    clock_resolution=1e-9,
    clock_step=4e-8,
    disk=100 * GiB,
    disk_path="/data",
)


@dataclass
class FakeToolchain:
    name: str = "embedded"
    problem: str = ""
    fix: str = ""
    cxx: str = "g++"


def change(struct, path, value):
    """A copy of a struct with one field, however deep, changed."""
    head, _, rest = path.partition(".")
    inner = change(getattr(struct, head), rest, value) if rest else value
    return msgspec.structs.replace(struct, **{head: inner})


def severities(diagnosis):
    found = {}
    for finding in diagnosis.findings:
        found.setdefault(finding.check, []).append(finding.severity)
    return {check: max(found[check], key=SEVERITIES.index) for check in found}


@pytest.fixture
def machine(tmp_path):
    return lambda name: detect(unpack(name, tmp_path / name))


@pytest.fixture
def xeon(machine):
    return machine("xeon")


def test_xeon(machine):
    assert severities(diagnose(machine("xeon"))) == {
        "governor": "warning",
        "turbo": "note",
        "clock-cap": "warning",
        "smt": "note",
        "virtual": "ok",
        "huge-pages": "ok",
        "numa-balancing": "warning",
        "cpu-quota": "ok",
        "cpuset": "ok",
        "memory": "warning",
        "locked-memory": "warning",
        "clock-source": "ok",
        "tsc": "ok",
        "aslr": "ok",
        "mitigations": "note",
        "adapters": "warning",
        "scheduler": "warning",
    }


def test_xeon_adapters(machine):
    found = [f.what for f in diagnose(machine("xeon")).findings if f.check == "adapters"]
    # docker0 is down too, but it has no device.
    assert found == [
        "eno2 runs at 1.00 Gbit/s, others of its kind at 10.0 Gbit/s.",
        "mlx5_1:1 (infiniband) is down.",
    ]


def test_virtual_machine(machine):
    diagnosis = diagnose(machine("vm"))
    assert severities(diagnosis) == {
        "governor": "note",
        "smt": "ok",
        "virtual": "note",
        "huge-pages": "warning",
        "cpuset": "ok",
        "memory": "ok",
        "clock-source": "problem",
        "tsc": "ok",  # it is not available, but whether to provide it is the hypervisor's choice
        "adapters": "ok",
    }
    assert diagnosis.worst == "problem"
    assert diagnosis.findings[0].check == "clock-source"
    assert "turbo" in diagnosis.unseen and "cpu-quota" not in severities(diagnosis)


def test_container(machine):
    found = severities(diagnose(machine("container")))
    assert found["cpu-quota"] == "problem"
    assert found["cpuset"] == "warning"
    assert found["memory"] == "warning"
    assert found["governor"] == found["turbo"] == "ok"


def test_graviton_shows_little_and_claims_little(machine):
    diagnosis = diagnose(machine("graviton"))
    assert set(severities(diagnosis)) == {
        "governor", "smt", "virtual", "cpu-quota", "cpuset", "memory", "clock-source", "adapters"
    }  # fmt: skip
    assert worst(diagnosis.findings) == "note"


def test_a_machine_that_shows_nothing_gets_no_finding():
    diagnosis = diagnose(System(), Probe(seconds=1))
    assert [f.check for f in diagnosis.findings] == ["kernels-running"]
    assert diagnosis.worst == "ok"


# One fact changed on a quiet machine, and the expected finding.
FACTS = [
    ("processor.frequency", model.Frequency(governors=["performance"]), "governor", "ok"),
    ("processor.frequency", model.Frequency(governors=["ondemand"]), "governor", "warning"),
    ("processor.frequency", model.Frequency(limit=2e9, maximum=3e9), "clock-cap", "warning"),
    ("processor.frequency", model.Frequency(limit=3e9, maximum=3e9), "clock-cap", "ok"),
    ("processor.constant_tsc", False, "tsc", "warning"),
    ("os.clock_sources", ["hpet"], "tsc", "warning"),
    ("os.clock_source", "hpet", "clock-source", "problem"),
    ("os.aslr", 0, "aslr", "note"),
    ("memory.transparent", "madvise", "huge-pages", "note"),
    ("memory.shared", 64 << 20, "shared-memory", "warning"),
    ("memory.shared", 8 * GiB, "shared-memory", "ok"),
    ("memory.available", 1 * GiB, "memory", "warning"),
    ("limits.memory", 1 * GiB, "memory", "warning"),
    ("memory.swap_free", 1 * GiB, "memory", "warning"),
    ("memory.numa_balancing", False, "numa-balancing", "ok"),
    ("limits.quota", 8.0, "cpu-quota", "ok"),
    ("limits.quota", 7.9, "cpu-quota", "problem"),
    ("limits.affinity", [0, 1], "cpuset", "warning"),
    ("limits.memlock", None, "locked-memory", "ok"),
    ("scheduler", model.Scheduler(name="Slurm", job="7"), "scheduler", "ok"),
]


@pytest.mark.parametrize(("path", "value", "check", "severity"), FACTS)
def test_one_fact(machine, path, value, check, severity):
    system = change(machine("xeon"), "memory.swap_free", 4 * GiB)
    assert severities(diagnose(change(system, path, value)))[check] == severity


def test_a_part_of_a_node_in_a_job_is_only_noted(machine):
    system = change(machine("xeon"), "limits.affinity", [0, 1, 4, 5])
    system = change(system, "scheduler", model.Scheduler(name="Slurm", job="7"))
    finding = next(f for f in diagnose(system).findings if f.check == "cpuset")
    assert (finding.severity, finding.what) == (
        "note",
        "Only 4 of 8 CPUs may be used: 0-1,4-5.",
    )


def test_a_link_of_one_lane():
    port = {"kind": "infiniband", "state": "active", "physical": True, "driver": "mlx5_core"}
    system = System(
        adapters=[
            model.Adapter(name="a:1", rate="25 Gb/sec (1X EDR)", speed=25e9 / 8, **port),
            model.Adapter(name="b:1", rate="25 Gb/sec (1X EDR)", speed=25e9 / 8, **port),
        ]
    )
    found = [f.what for f in diagnose(system).findings if f.check == "adapters"]
    assert len(found) == 2
    assert "one lane" in found[0]


# One fact changed in a quiet probe, and the expected finding.
LOOKS = [
    ({}, "load", "ok"),
    ({"others": 0.5}, "load", "warning"),
    ({"others": 5.0}, "load", "problem"),
    ({"steal": 0.004}, "steal", "ok"),
    ({"steal": 0.02}, "steal", "warning"),
    ({"steal": 0.2}, "steal", "problem"),
    ({"kernels": [4711]}, "kernels-running", "problem"),
    ({"throttled": 3}, "throttling", "problem"),
    ({"throttled": 0}, "throttling", "note"),  # 16 since boot
    ({"clock_resolution": 4e-3}, "clock-resolution", "problem"),
    ({"clock_step": 2e-6}, "clock-resolution", "problem"),
    ({"disk": 500 << 20}, "disk", "warning"),
    ({"disk": 50 << 20}, "disk", "problem"),
]


@pytest.mark.parametrize(("changes", "check", "severity"), LOOKS)
def test_one_look(machine, changes, check, severity):
    system = change(machine("xeon"), "virtualisation.virtual", True)
    found = diagnose(system, msgspec.structs.replace(QUIET, **changes))
    assert severities(found)[check] == severity


@pytest.mark.parametrize(
    ("tuning", "expected"),
    [
        ({}, ["ok"]),
        ({"OPENBLAS_CORETYPE": "Haswell"}, ["warning"]),
        ({"UCX_TLS": "tcp"}, ["note"]),
        ({"UCX_TLS": "tcp", "OPENBLAS_CORETYPE": "Haswell"}, ["warning", "note"]),
    ],
)
def test_variables_that_steer_libraries(machine, tuning, expected):
    found = diagnose(change(machine("vm"), "tuning", tuning), QUIET).findings
    assert [f.severity for f in found if f.check == "environment"] == expected


def test_which_variables_steer():
    environ = {
        "HOME": "/root",
        "UCX_TLS": "tcp",
        "OMP_PLACES": "cores",
        "OMP_NUM_THREADS": "3",  # the launcher sets its own
        "LD_PRELOAD": "x.so",
        "COMPANY": "no OMP_ prefix",
    }
    found = tuning_variables(environ)
    assert found == {"LD_PRELOAD": "x.so", "OMP_PLACES": "cores", "UCX_TLS": "tcp"}


def test_the_busiest_are_named(machine):
    look = msgspec.structs.replace(QUIET, others=1.5, busiest=[Process(99, "a) b", 1.5)])
    what = next(f.what for f in diagnose(machine("xeon"), look).findings if f.check == "load")
    assert what == "Other processes use 1.50 of 8 CPUs: a) b (99): 1.50."


def test_every_finding_says_what_it_means_and_what_to_do(machine, xeon):
    diagnoses = [diagnose(s) for s in (xeon, *map(machine, ("graviton", "vm", "container")))]
    diagnoses += [
        diagnose(xeon, msgspec.structs.replace(QUIET, **changes)) for changes, _, _ in LOOKS
    ]
    for finding in (f for d in diagnoses for f in d.findings if f.severity != "ok"):
        assert finding.what.endswith(".") and finding.means.endswith(".")
        assert finding.fix


@pytest.mark.parametrize(
    ("toolchains", "severity", "fix"),
    [
        ([FakeToolchain()], "ok", ""),
        ([FakeToolchain(), FakeToolchain("site", "It doesn't work.", "Mend it.")], "note", "Mend"),
        ([FakeToolchain("site", "It doesn't work.", "Mend it.")], "problem", "Mend it."),
        ([], "problem", "pip install mpich"),
    ],
)
def test_toolchains(machine, toolchains, severity, fix):
    diagnosis = diagnose(machine("xeon"), found=toolchains)
    found = [f for f in diagnosis.findings if f.check == "toolchain"]
    assert max((f.severity for f in found), key=SEVERITIES.index) == severity
    assert any(fix in f.fix for f in found)


@pytest.mark.parametrize(
    ("identifier", "command"),
    [
        ("debian", "apt-get install g++"),
        ("rocky", "dnf install gcc-c++"),
        ("sles", "zypper install gcc-c++"),
        (None, "apt-get install g++ or dnf install gcc-c++"),
    ],
)
def test_a_missing_compiler_is_fixed_in_the_distribution_s_way(machine, identifier, command):
    system = change(machine("xeon"), "os.identifier", identifier)
    findings = diagnose(system, found=[FakeToolchain(problem="Broken.", cxx="")]).findings
    finding = next(f for f in findings if f.check == "compiler")
    assert finding.severity == "problem"
    assert finding.fix.startswith(command + ";")


def test_steal_is_a_share_of_the_wanted_time():
    before = [100, 0, 100, 5000, 0, 0, 0, 10, 0, 0]
    after = [160, 0, 130, 9000, 50, 0, 0, 20, 0, 0]
    # 90 ticks ran, 10 were stolen; the 4000 idle ones don't count.
    assert steal_share(before, after) == 0.1
    assert steal_share(before, before) is None
    assert steal_share(before[:5], after) is None
    assert steal_share(None, after) is None


def test_processes_with_odd_names():
    stat = "17 (a) R (b c) S 1 17 17 0 -1 4194560 5 0 0 0 21 13 0 0 20 0 1 0 5 1 1"
    state = parse_state(stat)
    assert state is not None
    assert (state.name, state.cpu_seconds) == ("a) R (b c", 34 * TICK)
    for broken in ("", "17", "17 (a", "17 (a) S 1 2", "17 ) ( S", None):
        assert parse_state(broken) is None


def test_probing_finds_another_running_process(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.system.processes._LISTED", 10_000)  # others may be busier
    with spinning() as child:
        look = probe(0.5, tmp_path / "none" / "yet")
    used = {process.pid: process.cpus for process in look.busiest}
    assert used[child] > 0.05
    assert os.getpid() not in used
    assert look.others > 0.05
    assert look.seconds >= 0.5
    assert look.worked == (not look.kernels)  # another user may really be measuring
    assert look.disk_path == str(tmp_path)
    assert 0 < look.clock_step < 1e-3
    assert look.steal is None or 0 <= look.steal <= 1


def test_probing_finds_kernels_and_leaves_them_alone(tmp_path):
    program = tmp_path / probing.KERNELS
    program.symlink_to("/bin/sleep")
    child = subprocess.Popen([program, "30"])
    try:
        time.sleep(0.1)
        look = probe(0.3, tmp_path)
    finally:
        child.kill()
        child.wait()
    assert child.pid in look.kernels
    assert not look.worked


def test_severities():
    assert [at_least(s, "warning") for s in SEVERITIES] == [False, False, True, True]
    assert worst([]) == "ok"


def run(*arguments):
    return prepared_assay.run(
        [sys.executable, "-m", "assay", *arguments], capture_output=True, text=True, check=False
    )


def test_command_prints_one_json_object_and_fails_when_asked():
    done = run("doctor", "--json", "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["worst"] == found["findings"][0]["severity"]
    assert {"findings", "unseen", "worst", "look"} == set(found)
    order = [SEVERITIES.index(f["severity"]) for f in found["findings"]]
    assert order == sorted(order, reverse=True)
    done = run("doctor", "--fail-on", "note", "--seconds", "0.1")
    grave = any(word in done.stdout for word in ("note", "warning", "problem"))
    assert done.returncode == (1 if grave else 0)


def test_command_refuses_nonsense():
    done = run("doctor", "--seconds", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--seconds 0" in done.stderr
    assert run("doctor", "--fail-on", "ok").returncode == 2


def test_system_command():
    done = run("system", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"system", "peak", "toolchains"}
    assert System.from_dict(found["system"]).processor.threads == os.cpu_count()
    text = run("system").stdout
    for title in ("Processor", "Memory", "Host and limits", "Toolchains"):
        assert title in text
    assert "\x1b" not in text
