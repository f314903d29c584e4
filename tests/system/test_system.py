"""Facts detected on machines with known files, and on garbage files."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.report.documented.field_comments import field_comments
from assay.system import model
from assay.system.describe import describe
from assay.system.detect import detect
from assay.system.doctor.diagnosis import diagnose
from assay.system.files import Tree, from_cpus, to_cpus
from assay.system.model import System
from assay.system.peak import peak_flops
from assay.system.processor import to_bytes
from system_trees import NAMES, unpack


@pytest.fixture
def machine(tmp_path):
    return lambda name, **environ: detect(unpack(name, tmp_path / name), environ=environ)


def test_two_socket_xeon(machine):
    system = machine("xeon")
    p = system.processor
    assert (p.vendor, p.family, p.model, p.stepping) == ("GenuineIntel", 6, 85, 7)
    assert p.name == "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"
    assert p.microarchitecture == "Skylake/Cascade Lake (server)"
    assert (p.sockets, p.cores, p.threads, p.threads_per_core) == (2, 4, 8, 2)
    assert p.siblings == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert p.architecture == "x86_64"
    assert p.hybrid is False
    assert p.vectors == ["sse2", "sse4_2", "avx", "fma", "avx2", "avx512f"]
    assert (p.vector_bits, p.fma, p.constant_tsc, p.throttled) == (512, True, True, 16)
    f = p.frequency
    assert (f.minimum, f.maximum, f.base, f.limit) == (1e9, 3.9e9, 2.5e9, 3.0e9)
    assert f.current == 3e9  # the mean of 2.5 and 3.5 GHz
    assert (f.governors, f.driver, f.turbo) == (["powersave"], "intel_pstate", True)
    assert f.preference == "balance_performance"
    l1, l3 = p.caches
    assert (l1.level, l1.kind, l1.size, l1.line, l1.ways) == (1, "data", 32768, 64, 8)
    assert (l1.shared_by, l1.count) == (2, 4)
    assert (l3.level, l3.size, l3.shared_by, l3.count) == (3, 28160 * 1024, 4, 2)


def test_xeon_memory_and_numa(machine):
    m = machine("xeon").memory
    assert (m.total, m.available) == (196608000 * 1024, 185000000 * 1024)
    assert (m.swap_total, m.swap_free) == (4 << 30, 1 << 30)
    assert (m.page, m.huge_pages, m.huge_pages_free) == (2 << 20, 16, 8)
    assert (m.transparent, m.defrag, m.numa_balancing) == ("always", "madvise", True)
    assert m.shared is None  # known only on the running machine
    assert [(n.id, n.cpus, n.distances) for n in m.nodes] == [
        (0, [0, 1, 4, 5], [10, 21]),
        (1, [2, 3, 6, 7], [21, 10]),
    ]
    assert m.nodes[1].memory == 98304000 * 1024


def test_xeon_surroundings(machine):
    system = machine("xeon")
    assert system.virtualisation.virtual is False
    assert system.virtualisation.steal == 0.0
    assert system.virtualisation.container is None
    limits = system.limits
    assert (limits.version, limits.quota, limits.memory) == (1, None, None)
    assert limits.cpuset == list(range(8))
    # The kernel allows CPUs that don't exist; only those that are online count.
    assert limits.affinity == list(range(8))
    assert limits.memlock == 65536
    assert (system.usable_threads, system.usable_cores) == (8, 4)
    o = system.os
    assert (o.name, o.identifier) == ("Rocky Linux 8.10 (Green Obsidian)", "rocky")
    assert (o.kernel, o.hostname) == ("4.18.0-553.el8_10.x86_64", "node042")
    assert (o.uptime, o.load) == (864000.5, [0.42, 0.5, 0.61])
    assert (o.clock_source, o.clock_sources) == ("tsc", ["tsc", "hpet", "acpi_pm"])
    assert o.aslr == 2
    assert o.mitigations == {"spectre_v2": "Enhanced IBRS"}


def test_xeon_network(machine):
    adapters = {a.name: a for a in machine("xeon").adapters}
    assert list(adapters) == ["docker0", "eno1", "eno2", "ib0", "lo", "mlx5_0:1", "mlx5_1:1"]
    eno1 = adapters["eno1"]
    assert (eno1.kind, eno1.speed, eno1.state) == ("ethernet", 1.25e9, "up")
    assert (eno1.mtu, eno1.driver, eno1.node, eno1.physical) == (1500, "i40e", 0, True)
    assert adapters["eno2"].speed == 1.25e8
    assert (adapters["docker0"].kind, adapters["docker0"].speed) == ("virtual", None)
    assert adapters["lo"].kind == "loopback"
    assert (adapters["ib0"].kind, adapters["ib0"].driver) == ("infiniband", "mlx5_core")
    port = adapters["mlx5_0:1"]
    assert (port.kind, port.speed, port.state) == ("infiniband", 12.5e9, "active")
    assert (port.rate, port.node) == ("100 Gb/sec (4X EDR)", 1)
    assert adapters["mlx5_1:1"].state == "down"


def test_graviton(machine):
    system = machine("graviton")
    p = system.processor
    assert (p.vendor, p.model, p.microarchitecture) == ("ARM", 0xD40, "Neoverse V1")
    assert (p.architecture, p.sockets, p.cores, p.threads_per_core) == ("aarch64", 1, 4, 1)
    assert (p.vectors, p.vector_bits, p.fma) == (["asimd", "sve"], 256, True)
    assert (p.constant_tsc, p.caches, p.frequency.maximum) == (None, [], None)
    v = system.virtualisation
    assert (v.virtual, v.hypervisor, v.steal) == (True, "Nitro (Amazon)", 100 / 1100)
    limits = system.limits
    assert (limits.version, limits.quota, limits.memory) == (2, None, None)
    assert [(a.name, a.driver, a.speed) for a in system.adapters] == [("ens5", "ena", None)]


def test_bare_metal_of_a_cloud_is_not_virtual(machine, tmp_path):
    machine("graviton")
    (tmp_path / "graviton/sys/class/dmi/id/product_name").write_text("c7g.metal\n")
    assert detect(tmp_path / "graviton").virtualisation.virtual is False


def test_virtual_machine_without_sysfs_of_cpus(machine):
    system = machine("vm")
    p = system.processor
    assert (p.sockets, p.cores, p.threads, p.siblings) == (1, 2, 2, [[0], [1]])
    assert p.microarchitecture == "Zen 5 (server)"
    assert p.frequency.current == 2596120000.0
    assert (p.frequency.governors, p.frequency.maximum) == ([], None)
    v = system.virtualisation
    assert (v.virtual, v.hypervisor) == (True, "KVM")
    assert len(v.evidence) == 2
    assert v.steal is None
    assert system.limits == model.Limits()
    assert [(a.name, a.physical, a.speed) for a in system.adapters] == [("eth0", True, None)]
    assert system.scheduler is None


def test_container_limits_come_from_all_groups_above(machine):
    system = machine("container")
    limits = system.limits
    assert limits.quota == 1.5  # the parent's, smaller than the group's own 3
    assert limits.memory == 1 << 30
    assert (limits.cpuset, limits.affinity) == ([0, 1], [0, 1])
    assert (limits.version, limits.throttled) == (2, 17)
    assert (system.usable_threads, system.usable_cores) == (2, 2)
    assert system.virtualisation.container == "Docker"
    assert system.processor.frequency.turbo is False


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, ("Slurm", "/opt/slurm/bin/sbatch", None, None)),
        (
            {"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "4"},
            ("Slurm", "/opt/slurm/bin/sbatch", "4711", 4),
        ),
        ({"PATH": "/usr/bin"}, None),
        ({"PBS_JOBID": "12.head", "PBS_NUM_NODES": "2"}, ("PBS", None, "12.head", 2)),
        ({"LSB_JOBID": "9"}, ("LSF", None, "9", None)),
        ({"FLUX_JOB_ID": "f3", "FLUX_JOB_NNODES": "x"}, ("Flux", None, "f3", None)),
    ],
)
def test_scheduler(machine, environ, expected):
    found = machine("xeon", **environ).scheduler
    assert (found and (found.name, found.command, found.job, found.nodes)) == expected


def test_scheduler_version_is_asked_for_with_a_time_limit(tmp_path, monkeypatch):
    from assay.system import scheduler

    sbatch = tmp_path / "sbatch"
    sbatch.write_text("#!/bin/sh\necho slurm 24.05.3\n")
    sbatch.chmod(0o755)
    environ = {"PATH": str(tmp_path)}
    assert detect(environ=environ).scheduler.version == "24.05.3"
    sbatch.write_text("#!/bin/sh\nsleep 5\necho slurm 24.05.3\n")
    monkeypatch.setattr(scheduler, "_TIMEOUT", 0.2)
    assert detect(environ=environ).scheduler.version is None


def test_this_machine(tmp_path):
    """The facts that the running kernel also reports in other ways."""
    system = detect()
    assert system.limits.affinity == sorted(os.sched_getaffinity(0))
    assert system.processor.threads == os.sysconf("SC_NPROCESSORS_ONLN")
    assert system.memory.total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert system.os.kernel == os.uname().release
    # A file that refuses large reads.
    assert str(system.os.aslr) == Path("/proc/sys/kernel/randomize_va_space").read_text().strip()
    assert diagnose(system).findings


def test_missing_files(tmp_path):
    system = detect(tmp_path)
    assert system == System()
    assert describe(system)
    assert peak_flops(system, 1) is None


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(machine, name):
    system = machine(name)
    plain = msgspec.json.decode(msgspec.json.encode(system.to_dict()))
    assert System.from_dict(plain) == system


def test_from_another_schema():
    with pytest.raises(AssayError, match="schema 99"):
        System.from_dict({"schema": 99})
    with pytest.raises(AssayError, match="can't be read"):
        System.from_dict({"schema": 1, "processor": {"cores": "four"}})


GARBAGE = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(str.encode),
    st.sampled_from(
        [
            b"",
            b"\0",
            b"-1",
            b"9" * 40,
            b"0-99999999",
            b"5-2",
            b"1,2,,3",
            b"max max",
            b"0 0",
            b"nan",
            b"[]",
            b"0::/../../../etc",
            b"1:cpu:" + b"/a" * 3000,
            "processor : ٣\ncore id : ²".encode(),
            b"processor: 0\nCPU implementer: 0x\nCPU part: zz",
            b"cpu  1 2 3",
            b"cpu  0 0 0 0 0 0 0 0",
        ]
    ),
)


@pytest.mark.parametrize("name", NAMES)
def test_garbage_in_any_file_never_raises(name):
    with tempfile.TemporaryDirectory() as folder:
        root = unpack(name, Path(folder))
        files = sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink())

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(st.tuples(st.sampled_from(files), GARBAGE), min_size=1, max_size=4))
        def check(changes):
            kept = {path: path.read_bytes() for path, _ in changes}
            try:
                for path, content in changes:
                    path.write_bytes(content)
                system = detect(root)
                # The result has the right types, and its users accept it.
                assert System.from_dict(system.to_dict()) == system
                assert describe(system)
                diagnose(system)
                peak_flops(system, 4)
            finally:
                for path, content in kept.items():
                    path.write_bytes(content)

        check()


def test_folders_and_loops_in_place_of_files(tmp_path):
    root = unpack("xeon", tmp_path)
    for name in ("proc/cpuinfo", "proc/self/cgroup", "sys/class/net/eno1/speed"):
        (root / name).unlink()
        (root / name).mkdir()
    online = root / "sys/devices/system/cpu/online"
    online.unlink()
    online.symlink_to("online")
    shutil.rmtree(root / "sys/class/infiniband")
    (root / "sys/class/infiniband").write_text("x")
    system = detect(root)
    assert system.processor.vendor is None
    assert next(a for a in system.adapters if a.name == "eno1").speed is None


@given(st.sets(st.integers(0, 500)))
def test_cpu_lists_round_trip(cpus):
    assert to_cpus(from_cpus(list(cpus))) == (sorted(cpus) if cpus else None)


def test_no_name_leads_out_of_the_root(tmp_path):
    (tmp_path / "secret").write_text("x")
    (tmp_path / "root").mkdir()
    tree = Tree(tmp_path / "root")
    assert tree.text("/../secret") is None
    assert tree.text("a/../../secret") is None
    assert not tree.exists("../secret")


def test_absurd_cpu_lists_are_refused():
    assert to_cpus("0-99999") is None  # more CPUs than any kernel supports


def test_kernel_sizes():
    assert [to_bytes(t) for t in ("48K", "1M", "2G", "64", "x", "", None)] == [
        49152, 1 << 20, 2 << 30, 64, None, None, None
    ]  # fmt: skip


def test_every_field_is_documented():
    """A comment above each field, or the docstring of its struct, describes it."""
    structs = [
        s
        for s in vars(model).values()
        if isinstance(s, type) and issubclass(s, msgspec.Struct) and s.__module__ == model.__name__
    ]
    assert len(structs) > 8
    simple = {"processor", "memory", "virtualisation", "limits", "os", "adapters"}
    plain = {"Processor.frequency", "Processor.caches"}
    for struct in structs:
        named = {*re.findall(r"``(\w+)``", struct.__doc__ or ""), *field_comments(struct)}
        for field in struct.__struct_fields__:
            if struct is System and field in simple:
                continue
            assert field in named or f"{struct.__name__}.{field}" in plain, (struct, field)
