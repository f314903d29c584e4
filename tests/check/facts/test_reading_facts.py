"""The facts of a server with known files, and of servers with planted faults."""

from __future__ import annotations

import os

import pytest

from assay.check.facts.fleet import compare_facts, failing, learn_facts
from assay.check.facts.groups.processor import VIRTUAL
from assay.check.facts.kind import kind_of
from assay.check.facts.reading import read_facts
from node_trees import (
    DMI,
    EDAC,
    GIB,
    IB,
    PCI,
    SLOTS,
    firmware_table,
    process_line,
    server_files,
    write_tree,
)
from small_process import called

CPU = "/sys/devices/system/cpu"
NET = "/sys/class/net"


def facts_of(root, changes=None, *, without=(), **options):
    files = server_files() | (changes or {})
    files = {name: text for name, text in files.items() if not name.startswith(tuple(without))}
    read = called(
        read_facts, write_tree(root, files), seconds=20, **{"expect_idle": True, **options}
    )
    assert read.unread == {}
    return read.facts


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    return facts_of(tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module")
def fleet(healthy):
    return learn_facts({f"n{number}": [healthy] for number in range(50)})


def test_a_virtual_machine_says_so(tmp_path):
    cpuinfo = server_files()["/proc/cpuinfo"]
    changed = {"/proc/cpuinfo": cpuinfo.replace("lm avx2", "lm hypervisor avx2")}
    (found,) = [each for each in facts_of(tmp_path, changed) if each.name == VIRTUAL]
    assert found.value is True and found.rule == "shown"


def test_all_facts_of_a_server(healthy):
    values = {fact.name: fact.value for fact in healthy if not fact.name.endswith("*")}
    assert len(values) == len([f for f in healthy if not f.name.endswith("*")])
    expected = {
        "cpu.model": "AMD EPYC 7313 16-Core Processor",
        "cpu.present": 8,
        "cpu.online": 8,
        "cpu.sockets": 2,
        "cpu.smt": False,
        "cpu.virtual": False,
        "version.microcode": "0xa0011d1",
        "limit.cpus": 8,
        "limit.quota": 8.0,
        "frequency.limit": 3.7e9,
        "frequency.scaling_governor": "performance",
        "frequency.turbo": True,
        "throttle.events": 0,
        "memory.total": 189.0 * GIB,
        "memory.available": 187.0 * GIB,
        "numa.nodes": 2,
        "numa.node1.memory": 94.5 * GIB,
        "hugepages.enabled": "always",
        "hugepages.2048kB.total": 0,
        "dimm.count": 12,
        "dimm.speed": 3200 * 10**6,
        "dimm.BANK 0/P0_DIMM_A1.size": 16 * GIB,
        "edac.mc0.dimms": 6,
        "ecc.mc1.corrected": 0,
        "ecc.mc1.uncorrected": 0,
        "pci.accelerator.10de:20b2.count": 4,
        "pci.accelerator.count": 4,
        "pci.network.count": 2,
        "pci.accelerator.10de:20b2.3.width": 16,
        "pci.network.15b3:101b.count": 1,
        "pci.network.15b3:101b.0.speed": 16 * 10**9,
        "pci.nvme.144d:a80a.count": 2,
        "pci.bridges.narrow": 0,
        "net.eth0.speed": 10**9,
        "net.eth0.duplex": "full",
        "net.ib0.mtu": 2044,
        "ib.mlx5_0.1.state": "active",
        "ib.mlx5_0.1.phys_state": "linkup",
        "ib.mlx5_0.1.rate": 200 * 10**9,
        "version.firmware.mlx5_0": "20.31.1014",
        "version.driver.nvidia": "535.104.05",
        "version.driver.mlx5_core": "23.10-0.5.5",
        "version.bios": "ACME 2.1",
        "version.kernel": "5.14.0-362.el9.x86_64",
        "mount./home.type": "nfs4",
        "mount./local.writable": True,
        "clock.source": "tsc",
        "daemon.chronyd": True,
        "daemon.ntpd": False,
        "processes.users": 0.0,
        "sensor.alarms": 0,
        "sensor.temperature": 41.25,
        "system.uptime": 864000.0,
    }
    assert {name: values.get(name) for name in expected} == expected
    assert not [
        name
        for name in values
        if any(word in name for word in ("veth9", "/net/x", "/data", "docker"))
    ]
    assert not [name for name in values if "1a03" in name], "a management controller's display"
    assert kind_of(healthy) == "amd-epyc-7313-2s-8c-192g-4a"


def test_the_healthy_server_fits_its_fleet(healthy, fleet):
    assert compare_facts(healthy, fleet) == []


FAULTS = {
    "a CPU offline": (
        {f"{CPU}/online": "0-6"},
        "7 of 8 CPUs online; check CPUs offline",
    ),
    "a core taken away": (
        {"/proc/self/status": "Cpus_allowed_list:\t0-6\n"},
        "7 of 8 CPUs usable; check cpusets and affinity",
    ),
    "a core taken by a cpuset": (
        {"/sys/fs/cgroup/cpuset.cpus.effective": "1-7"},
        "7 of 8 CPUs usable; check cpusets and affinity",
    ),
    "a CPU quota": (
        {"/sys/fs/cgroup/system.slice/slurmd.service/cpu.max": "640000 100000"},
        "CPU quota 6.4 of 8 CPUs; check control groups",
    ),
    "a clock limit": (
        {f"{CPU}/cpu5/cpufreq/scaling_max_freq": "1500000"},
        "clock limit 1.5 GHz, fleet at least 3.7 GHz (50 of 50 nodes); check clock limits",
    ),
    "a governor": (
        {f"{CPU}/cpu5/cpufreq/scaling_governor": "powersave"},
        "clock governor performance/powersave, fleet performance (50 of 50 "
        "nodes); check clock limits",
    ),
    "no turbo": (
        {f"{CPU}/cpufreq/boost": "0"},
        "turbo off, fleet on (50 of 50 nodes); check BIOS settings",
    ),
    "SMT": (
        {f"{CPU}/smt/active": "1"},
        "SMT on, fleet off (50 of 50 nodes); check BIOS settings",
    ),
    "transparent huge pages": (
        {"/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"},
        "transparent huge pages enabled never, fleet always (50 of 50 nodes); check huge pages",
    ),
    "a pool of huge pages": (
        {"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "512"},
        "total huge pages of 2048kB 512, fleet 0 (50 of 50 nodes); check huge pages",
    ),
    "a slow memory module": (
        {DMI: firmware_table(speeds={SLOTS[3]: 2666})},
        "DIMM speed 2.67 GT/s, fleet 3.2 GT/s (50 of 50 nodes); check DIMMs, BIOS",
    ),
    "uncorrected errors": (
        {f"{EDAC}/mc0/ue_count": "1", f"{EDAC}/mc0/dimm3/dimm_ue_count": "1"},
        "1 uncorrected memory errors of mc0 in 10 days, fleet none; check DIMM P0_DIMM_D1",
    ),
    "many corrected errors": (
        {f"{EDAC}/mc1/ce_count": "90000", f"{EDAC}/mc1/dimm0/dimm_ce_count": "90000"},
        "90000 corrected memory errors of mc1 in 10 days, fleet below "
        "0.006/day; check DIMM P1_DIMM_A1",
    ),
    "a narrow link of an adapter": (
        {f"{PCI}/0000:01:00.0/current_link_width": "8"},
        "network 15b3:101b no. 0 PCIe width x8, fleet x16 (50 of 50 nodes); "
        "check slot 0000:01:00.0",
    ),
    "a slow link of a disk": (
        {f"{PCI}/0000:04:00.0/current_link_speed": "8.0 GT/s PCIe"},
        "nvme 144d:a80a no. 1 PCIe speed 8 GT/s, fleet 16 GT/s (50 of 50 "
        "nodes); check slot 0000:04:00.0",
    ),
    "a narrow link of a bridge": (
        {f"{PCI}/0000:00:01.1/current_link_width": "4"},
        "narrow PCIe links 1, fleet 0 (50 of 50 nodes); check slot 0000:00:01.1",
    ),
    "an adapter that is down": (
        {f"{NET}/eth0/operstate": "down", f"{NET}/eth0/speed": "-1"},
        "eth0 down, fleet up (50 of 50 nodes); check cable, switch",
    ),
    "a slow adapter": (
        {f"{NET}/eth0/speed": "100"},
        "eth0 100 Mbit/s, fleet 1 Gbit/s (50 of 50 nodes); check cable, switch port",
    ),
    "half duplex": (
        {f"{NET}/eth0/duplex": "half"},
        "eth0 duplex half, fleet full (50 of 50 nodes); check switch port",
    ),
    "another MTU": (
        {f"{NET}/eth0/mtu": "9000"},
        "eth0 MTU 9000, fleet 1500 (50 of 50 nodes); check configuration",
    ),
    "errors of a cable": (
        {f"{NET}/eth0/statistics/rx_crc_errors": "5000"},
        "5000 eth0 CRC errors in 10 days, fleet below 0.006/day; check cable, adapter",
    ),
    "an InfiniBand port that is down": (
        {f"{IB}/ports/1/state": "1: DOWN"},
        "mlx5_0/1 down, fleet active (50 of 50 nodes); check cable, subnet manager",
    ),
    "a polling InfiniBand port": (
        {f"{IB}/ports/1/phys_state": "2: Polling"},
        "mlx5_0/1 physical state polling, fleet linkup (50 of 50 nodes); check cable",
    ),
    "a slow InfiniBand port": (
        {f"{IB}/ports/1/rate": "50 Gb/sec (1X HDR)"},
        "mlx5_0/1 50 Gbit/s, fleet 200 Gbit/s (50 of 50 nodes); check cable, switch port",
    ),
    "symbol errors": (
        {f"{IB}/ports/1/counters/symbol_error": "4000"},
        "4000 mlx5_0/1 symbol error in 10 days, fleet below 0.006/day; check cable",
    ),
    "another clock source": (
        {"/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"},
        "clock source hpet, fleet tsc (50 of 50 nodes); check clock source, TSC",
    ),
    "a read-only disk": (
        {"/proc/self/mounts": server_files()["/proc/self/mounts"].replace(
            "/local xfs rw", "/local xfs ro")},
        "mount /local is read-only; check disk",
    ),
    "a mount that is missing": (
        {"/proc/self/mounts": server_files()["/proc/self/mounts"].replace("/home nfs4", "/h nfs4")},
        "mount /home missing, 50 of 50 nodes have it; check mount",
    ),
    "a clock daemon that is stopped": (
        {"/proc/700/stat": process_line(700, "rsyslogd")},
        "clock daemon chronyd not running; start the daemon",
    ),
    "used memory": (
        {"/proc/meminfo": server_files()["/proc/meminfo"].replace(
            f"MemAvailable: {187 << 20} kB", f"MemAvailable: {120 << 20} kB")},
        "available memory 120 GiB, fleet at least 187 GiB; "
        f"check systemd (pid 1, uid {os.getuid()})",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named(fault, tmp_path, fleet):
    changes, expected = FAULTS[fault]
    findings = failing(compare_facts(facts_of(tmp_path, changes), fleet))
    assert [finding.text for finding in findings][:1] == [expected], findings
    assert len(findings) == 1, [finding.text for finding in findings]
    assert len(expected) <= 100 and expected.isprintable() and expected.isascii()


LOST = {
    "a network adapter": ([f"{NET}/eth0"], ["eth0 missing, 50 of 50 nodes have it"]),
    "an InfiniBand device": ([IB], ["mlx5_0/1 missing, 50 of 50 nodes have it"]),
    "an accelerator": (
        [f"{PCI}/0000:61:00.0"],
        ["accelerators 3, fleet 4 (50 of 50 nodes); check device"],
    ),
    "all accelerators": (
        [f"{PCI}/0000:{bus}:00.0" for bus in ("41", "61", "81", "c1")],
        ["accelerators 0, fleet 4 (50 of 50 nodes); check device"],
    ),
    "a disk": (
        [f"{PCI}/0000:03:00.0"],
        ["NVMe disks 1, fleet 2 (50 of 50 nodes); check device"],
    ),
}


@pytest.mark.parametrize("part", LOST)
def test_a_lost_part_is_named_once(part, tmp_path, fleet):
    without, expected = LOST[part]
    findings = failing(compare_facts(facts_of(tmp_path, without=without), fleet))
    assert len(findings) == 1, [finding.text for finding in findings]
    assert findings[0].text.startswith(expected[0])


def test_a_disk_of_another_model_is_told_and_no_fault(tmp_path, fleet):
    changes = {f"{PCI}/0000:03:00.0/device": "0x5555"}
    findings = compare_facts(facts_of(tmp_path, changes), fleet)
    assert failing(findings) == []
    assert [finding.about for finding in findings] == ["pci.nvme.144d:a80a.count"]


def test_another_frequency_driver_has_other_limits(tmp_path, fleet):
    changes = {
        f"{CPU}/cpu{number}/cpufreq/{file}": text
        for number in range(8)
        for file, text in (("scaling_driver", "amd-pstate-epp"), ("scaling_max_freq", "3000000"))
    }
    findings = compare_facts(facts_of(tmp_path, changes), fleet)
    assert failing(findings) == []
    assert {f.about for f in findings} == {"frequency.limit", "frequency.scaling_driver"}


def test_a_clock_daemon_that_takes_the_place_of_another(tmp_path, fleet):
    replaced = {"/proc/700/stat": process_line(700, "systemd-timesyn")}
    findings = compare_facts(facts_of(tmp_path / "a", replaced), fleet)
    assert failing(findings) == []
    assert [finding.about for finding in findings] == ["daemon.chronyd"]
    # The precision-time daemon is not in its place.
    beside = {"/proc/700/stat": process_line(700, "ptp4l")}
    assert failing(compare_facts(facts_of(tmp_path / "b", beside), fleet)) != []


def test_a_lost_memory_module_is_named_with_its_slot(tmp_path, fleet):
    lost = server_files(176 * GIB)
    lost = {name: lost[name] for name in lost if "mem" in name or name.startswith(EDAC)}
    lost |= {DMI: firmware_table(lost=(SLOTS[4],)), f"{EDAC}/mc0/dimm4/size": "0"}
    facts = facts_of(tmp_path, lost)
    texts = [finding.text for finding in failing(compare_facts(facts, fleet))]
    assert texts[0] == "memory 173 GiB, fleet 189 GiB (50 of 50 nodes); check DIMMs"
    assert "DIMM BANK 0/P0_DIMM_E1 missing, fleet 16 GiB; check DIMMs" in texts
    assert "DIMMs 11, fleet 12 (50 of 50 nodes); check DIMMs" in texts
    assert len(texts) == 3


def test_an_ordinary_user_who_may_not_read_the_firmware_loses_no_memory_modules(
    tmp_path, healthy, fleet
):
    """The table's file is there and can't be read. A folder in its place does the same to root."""
    files = {name: text for name, text in server_files().items() if name != DMI}
    (tmp_path / DMI.lstrip("/")).mkdir(parents=True)
    facts = called(read_facts, write_tree(tmp_path, files), seconds=20, expect_idle=True).facts
    assert [fact for fact in facts if fact.name.startswith("dimm.")] == [
        fact for fact in facts if fact.name == "dimm.*" and fact.value is None
    ]
    assert compare_facts(facts, fleet) == []
    # A fleet learned by ordinary users, and a check as root.
    learned = learn_facts({f"n{number}": [facts] for number in range(50)})
    assert compare_facts(healthy, learned) == []
    # Some nodes were read by root and some by users: users' nodes have not lost their modules.
    mixed = {f"n{number}": [facts if number % 10 else healthy] for number in range(50)}
    learned = learn_facts(mixed)
    assert learned.facts["dimm.count"].nodes == 5
    assert learned.different == []
    assert compare_facts(facts, learned) == compare_facts(healthy, learned) == []


def test_a_daemon_in_a_container_sets_no_clock_of_the_node(tmp_path, fleet):
    def value(name, **links):
        root = tmp_path / name
        tree = write_tree(root, server_files())
        for process, target in links.items():
            folder = root / "proc" / process.removeprefix("pid_") / "ns"
            folder.mkdir(parents=True)
            (folder / "net").symlink_to(target)
        facts = called(read_facts, tree, seconds=20, groups=["processes"]).facts
        return next(fact.value for fact in facts if fact.name == "daemon.chronyd")

    here, there = "net:[4026531840]", "net:[4026532001]"
    assert value("same", self=here, pid_700=here) is True
    assert value("container", self=here, pid_700=there) is False
    # An ordinary user can't see to which of both it belongs.
    assert value("unknown", self=here) is None


def test_hidden_processes_stop_no_daemon(tmp_path, fleet):
    facts = facts_of(tmp_path, without=["/proc/1/", "/proc/7"])
    assert "processes.*" in {fact.name for fact in facts}
    assert compare_facts(facts, fleet) == []


def test_an_unreadable_table_of_mounts_loses_no_mount(tmp_path, fleet):
    """As where /proc isn't mounted."""
    facts = facts_of(tmp_path, without=["/proc/self/mounts", "/proc/mounts"])
    assert "mount.*" in {fact.name for fact in facts}
    assert compare_facts(facts, fleet) == []


@pytest.mark.skipif(os.getuid() != 0, reason="a process of another user needs root")
def test_leftover_processes_of_users(tmp_path, fleet):
    files = server_files() | {
        "/proc/4242/stat": process_line(4242, "lammps (old)", pages=30 * GIB // 4096),
        "/proc/4243/stat": process_line(4243, "defunct", state="Z"),
        "/proc/4244/stat": process_line(4244, "bash"),
        "/proc/4244/cgroup": "0::/user.slice/user-1001.slice/session-3.scope",
        # A service's own user, and a job where no control group is made for it.
        "/proc/4245/stat": process_line(4245, "exporter"),
        "/proc/4245/cgroup": "0::/system.slice/exporter.service",
        "/proc/4246/stat": process_line(4246, "a.out"),
        "/proc/4246/cgroup": "0::/system.slice/slurmd.service",
        # Ending: it frees its memory. In state D it waits for something.
        "/proc/4247/stat": process_line(4247, "big", state="R", flags=0x400004),
        "/proc/4248/stat": process_line(4248, "stuck", state="D", flags=0x400004),
        # The first thread has ended.
        "/proc/4249/stat": process_line(4249, "threads", state="Z", flags=0x400004, threads=3),
    }
    tree = write_tree(tmp_path, files)
    for pid in range(4242, 4250):
        os.chown(tmp_path / "proc" / str(pid), 1001, 1001)
    facts = called(read_facts, tree, seconds=20, expect_idle=True).facts
    found = {finding.about: finding for finding in compare_facts(facts, fleet)}
    assert set(found) == {"processes.users"}
    zombies = next(fact for fact in facts if fact.name == "processes.zombies")
    # What has ended waits for its parent and takes nothing from a job.
    assert (zombies.value, zombies.rule) == (2.0, "shown")
    text = found["processes.users"].text
    assert text.startswith("leftover processes 4, fleet at most 0 (50 of 50 nodes)")
    assert text.endswith("check lammps (old) (pid 4242, uid 1001)") or len(text) > 50
    largest = next(fact for fact in facts if fact.name == "processes.largest")
    assert largest.value == 30 * GIB
    assert largest.look_at == "lammps (old) (pid 4242, uid 1001)"
    # A check beside jobs.
    beside = called(read_facts, tree, seconds=20, expect_idle=False).facts
    assert compare_facts(beside, fleet) == []


def test_a_memory_hog_is_named(tmp_path, fleet):
    changes = dict(FAULTS["used memory"][0])
    hog = {"/proc/555/stat": process_line(555, "vasp", pages=60 * GIB // 4096)}
    facts = facts_of(tmp_path, changes | hog)
    text = failing(compare_facts(facts, fleet))[0].text
    assert text == (
        f"available memory 120 GiB, fleet at least 187 GiB; check vasp (pid 555, uid {os.getuid()})"
    )
    # Files that a job left in memory are no process.
    changes["/proc/meminfo"] = str(changes["/proc/meminfo"]) + f"Shmem: {65 << 20} kB\n"
    facts = facts_of(tmp_path, changes | hog)
    assert failing(compare_facts(facts, fleet))[0].text.endswith("; check files in /dev/shm")


def test_clock_limits_of_a_job_are_no_fault_beside_jobs(tmp_path, fleet):
    facts = facts_of(tmp_path, FAULTS["a clock limit"][0], expect_idle=False)
    assert compare_facts(facts, fleet) == []


def test_used_memory_is_no_fault_beside_jobs(tmp_path, fleet):
    facts = facts_of(tmp_path, FAULTS["used memory"][0], expect_idle=False)
    assert compare_facts(facts, fleet) == []


def test_limits_inside_of_a_job_are_the_jobs(tmp_path, fleet):
    facts = facts_of(
        tmp_path,
        {
            "/proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0\n",
            "/proc/self/status": "Cpus_allowed_list:\t0\n",
        },
    )
    assert next(fact.value for fact in facts if fact.name == "limit.cpus") == 1
    assert compare_facts(facts, fleet) == []


def test_limits_that_were_learned_inside_of_jobs(tmp_path):
    """A quota below the jobs' is a fault; a number of CPUs says more about the jobs."""
    job = {"/proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0\n"}
    inside = facts_of(tmp_path / "inside", job)
    learned = learn_facts({f"n{number}": [inside] for number in range(50)})
    assert compare_facts(facts_of(tmp_path / "prolog"), learned) == []
    limited = facts_of(tmp_path / "quota", FAULTS["a CPU quota"][0])
    assert [f.text for f in failing(compare_facts(limited, learned))] == [FAULTS["a CPU quota"][1]]
    fewer = compare_facts(facts_of(tmp_path / "fewer", FAULTS["a core taken away"][0]), learned)
    assert [(f.about, f.probability) for f in fewer] == [("limit.cpus", 1.0)]
