"""The accelerators of a node: by made-up files of the bus and by vendors' libraries with planted
faults, through the commands that a user types.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.system.detect import detect
from assay.system.devices.describe import device_lines, devices_text
from assay.system.devices.model import Device, DeviceUser
from assay.system.devices.pci_devices import plain_address
from assay.system.devices.throttling import reasons
from assay.system.doctor.device_checks import devices as device_findings
from assay.system.model import System
from fake_devices import (
    AMD,
    NVIDIA,
    FakeNode,
    amd_files,
    build_library,
    needs_mounts,
    nvidia_files,
    pci_files,
    write_files,
)

FIRST, SECOND = NVIDIA
LOG = "6,1,1,-;usb 1-1: new device\n4,2,2,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=x\n"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    build_library("fake_rocm_smi", folder)
    return build_library("fake_nvml", folder)


@pytest.fixture(scope="module")
def node(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> FakeNode:
    files = nvidia_files() | amd_files()
    return FakeNode(tmp_path_factory.mktemp("node"), files, libraries, LOG)


def seen(node: FakeNode, fault: str = "") -> dict[str, dict[str, Any]]:
    """The devices of ``assay system --json`` by address."""
    done = node.run("system", "--json", fault=fault)
    assert done.returncode == 0, done.stderr
    return {each["address"]: each for each in json.loads(done.stdout)["system"]["devices"]}


@needs_mounts
def test_all_that_the_library_tells(node: FakeNode) -> None:
    found = seen(node)
    assert list(found) == [FIRST, SECOND, AMD]
    first = found[FIRST]
    expected = {
        "source": "nvml", "lost": False, "problem": None, "vendor": "NVIDIA", "name": "Fake H100",
        "uuid": "GPU-0", "identity": "10de:2330", "numa": 0, "cpus": [0], "memory": 80 << 30,
        "driver": "550.54.15", "library": "12.550.54.15", "firmware": "96.00.74.00.01",
        "link_generation": 5, "link_generation_most": 5, "link_width": 16, "link_width_most": 16,
        "clock": 1.98e9, "clock_most": 1.98e9, "clock_application": 1.98e9,
        "memory_clock": 2.619e9, "power": 250.0, "power_limit": 700.0, "temperature": 45.0,
        "temperature_slow": 87.0, "throttle": [], "ecc": True, "ecc_uncorrected": 0,
        "retired_pages": 0, "remapped_rows": 0, "repair_pending": False, "repair_failed": False,
        "xids": [31], "mig": False, "persistence": True, "compute_mode": "default",
        "links": 4, "links_up": 4, "users": [],
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert found[SECOND]["xids"] == [] and found[SECOND]["numa"] == 1


@needs_mounts
def test_names_of_rocm_smi_stand_beside_the_files_of_the_driver(node: FakeNode) -> None:
    found = seen(node)[AMD]
    assert found["source"] == "rocm_smi" and found["name"] == "Fake MI300X"
    # The files tell the errors, so that the library isn't asked.
    assert (found["ecc_corrected"], found["ecc_uncorrected"], found["retired_pages"]) == (7, 2, 2)


@needs_mounts
def test_the_text_shows_each_device(node: FakeNode) -> None:
    done = node.run("system")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for part in (FIRST, "Fake H100", "PCIe generation 5 x16", "4 of 4 links", "45 °C", "XID 31",
                 "Fake MI300X", "150 W of 700 W"):  # fmt: skip
        assert part in text, part


FAULTS: tuple[tuple[str, Mapping[str, object], str], ...] = (
    ("throttle", {"throttle": ["power limit", "temperature (hardware)"], "clock": 9.9e8},
     "is throttled now: power limit, temperature (hardware)"),
    ("ecc", {"ecc_corrected": 0}, " uncorrected memory errors"),
    ("nvlink", {"links": 4, "links_up": 3}, "has 3 of 4 links to other devices up"),
    ("lost", {"lost": True, "name": None}, "is lost"),
    ("falls", {"lost": True}, "is lost"),
    ("width", {"link_width": 8}, "has a PCIe link of 8 lanes; 16 are possible"),
    ("mig", {"mig": True}, "is divided into instances (MIG)"),
    ("low", {"clock_application": 1.2e9}, "gives applications a clock of 1.20 GHz"),
    ("off", {"persistence": False, "compute_mode": "prohibited", "ecc": False},
     "prohibits computing (compute mode)"),
    ("retired", {"retired_pages": 2, "repair_pending": True}, "waits for a reset"),
    ("busy", {}, "1 process uses device"),
)  # fmt: skip


@needs_mounts
@pytest.mark.parametrize(("fault", "expected", "told"), FAULTS, ids=[each[0] for each in FAULTS])
def test_a_planted_fault_is_seen_and_told(
    node: FakeNode, fault: str, expected: Mapping[str, object], told: str
) -> None:
    found = seen(node, fault)
    assert {name: found[FIRST][name] for name in expected} == expected
    done = node.run("doctor", "--seconds", "0.01", "--json", fault=fault)
    findings = [each for each in json.loads(done.stdout)["findings"] if each["check"] == "devices"]
    about = [each for each in findings if FIRST in each["what"]]
    assert any(told in each["what"] for each in about), about
    assert not any(SECOND in each["what"] for each in findings)
    assert all(each["means"] and each["fix"] for each in findings)


@needs_mounts
def test_a_driver_that_is_not_loaded(node: FakeNode) -> None:
    found = seen(node, "driver")[FIRST]
    assert found["problem"] == "libnvidia-ml.so.1 answers: Driver Not Loaded."
    assert found["source"] == "pci" and found["link_width"] == 16


@needs_mounts
def test_a_missing_library_is_named_with_its_package(tmp_path: Path) -> None:
    node = FakeNode(tmp_path, nvidia_files(), None)
    done = node.run("doctor", "--seconds", "0.01")
    text = " ".join(done.stdout.split())
    assert f"The state of device {FIRST} is unknown. libnvidia-ml.so.1 can't be loaded" in text
    assert "libnvidia-ml1 (Debian)" in text


@needs_mounts
def test_an_old_library_gives_what_it_has(tmp_path: Path) -> None:
    folder = build_library("fake_rocm_smi", tmp_path / "old", old=True)
    build_library("fake_nvml", folder, old=True)
    files = nvidia_files() | amd_files()
    found = seen(FakeNode(tmp_path, files, folder))
    first = found[FIRST]
    assert first["problem"] is None and first["clock"] == 1.98e9
    assert all(first[name] is None for name in ("mig", "users", "power_limit", "remapped_rows"))
    assert found[AMD]["name"] is None and found[AMD]["power"] == 150.0


@needs_mounts
def test_without_a_driver_nothing_is_loaded(libraries: Path, tmp_path: Path) -> None:
    node = FakeNode(tmp_path, nvidia_files(driver=None), libraries)
    found = seen(node, "hang")[FIRST]
    assert found["problem"] == "No driver is bound to it." and found["name"] is None


_HUNG = """
from pathlib import Path
from assay.system.devices.detection import detect_devices
from assay.system.files import Tree
for device in detect_devices(Tree(Path("/")), 0.5):
    print(device.address, device.problem)
"""


@needs_mounts
def test_a_driver_that_hangs_holds_nothing_up(node: FakeNode, tmp_path: Path) -> None:
    script = tmp_path / "hung.py"
    script.write_text(_HUNG)
    done = node.run_python(str(script), fault="hang")
    lines = done.stdout.splitlines()
    assert f"{FIRST} Its driver gave no answer within 0.5 s." in lines, done.stderr
    assert len(lines) == 3
    # The reading process was killed.
    left = subprocess.run(["pgrep", "-f", "assay.system.devices.detection"], capture_output=True)
    mine = [pid for pid in left.stdout.split() if _fault_of(pid.decode()) == "hang"]
    assert not mine


def _fault_of(pid: str) -> str:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    found = [word for word in words if word.startswith(b"FAKE_NVML=")]
    return found[0].partition(b"=")[2].decode() if found else ""


def test_a_machine_without_devices_loads_no_ctypes_of_a_vendor(tmp_path: Path) -> None:
    """The files of another machine are read without any library."""
    write_files(tmp_path / "sys/bus/pci/devices", nvidia_files() | amd_files())
    number = 32 << 8
    kfd = {
        "topology/nodes/1/gpu_id": "4660",
        "topology/nodes/1/properties": f"simd_count 1216\nlocation_id {0xC1 << 8}\ndomain 0\n",
        "topology/nodes/1/io_links/0/properties": "type 2\n",
        "topology/nodes/1/io_links/1/properties": "type 11\n",
        "topology/nodes/1/io_links/2/properties": "type 11\n",
        "topology/nodes/2/properties": f"location_id {number}\n",
        "proc/77/vram_4660": str(1 << 30),
        "proc/78/vram_4660": "0",
    }
    write_files(tmp_path / "sys/class/kfd/kfd", kfd)
    write_files(tmp_path, {"proc/77/comm": "train\n", "sys/module/amdgpu/version": "6.8.5\n"})
    first, _, amd = detect(tmp_path).devices
    assert first.source == "pci" and first.link_generation == 1 and first.cpus == [0]
    assert amd.source == "sysfs" and amd.driver == "6.8.5" and amd.uuid == "9b2f4d1c5e6a7788"
    assert (amd.clock, amd.clock_most) == (5e8, 2.1e9)
    assert (amd.power, amd.power_limit_default, amd.temperature) == (150.0, 750.0, 45.0)
    assert (amd.links, amd.mig, amd.retired_pages) == (2, True, 2)
    assert [(user.pid, user.name) for user in amd.users or []] == [(77, "train")]


def test_what_is_no_accelerator(tmp_path: Path) -> None:
    plain = pci_files(FIRST, 0x1A03, None)  # a management controller
    inside = pci_files(SECOND, 0x8086, "i915")
    inside |= {f"{SECOND}/class": "0x030000", f"{SECOND}/max_link_width": "0"}
    write_files(tmp_path / "sys/bus/pci/devices", plain | inside)
    assert detect(tmp_path).devices == []


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("00000000:3B:00.0", FIRST), ("0000:3b:00.0", FIRST), ("3B:00.0", FIRST),
        ("0000:3b:00", FIRST), ("00010000:01:02.3", "10000:01:02.3"), ("odd", "odd"),
    ],
)  # fmt: skip
def test_addresses_are_written_one_way(text: str, plain: str) -> None:
    assert plain_address(text) == plain


def test_each_bit_of_throttling_has_a_name() -> None:
    assert reasons(0) == []
    assert reasons(0x44) == ["power limit", "temperature (hardware)"]
    assert reasons(0x1004) == ["power limit", "reason 0x1000"]


def test_unknown_values_are_neither_told_nor_found() -> None:
    device = Device(address=FIRST)
    assert device_lines(device) == [(FIRST, "unnamed")]
    assert [f.severity for f in device_findings(System(devices=[device]))] == ["ok"]
    assert device_findings(System()) == []


def test_a_run_keeps_its_devices() -> None:
    device = Device(address=FIRST, name="X", throttle=["idle"], memory=1 << 30)
    used = msgspec.structs.replace(device, users=[DeviceUser(pid=1, name="private")])
    system = System(devices=[used])
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(system.to_dict()))
    assert System.from_dict(plain) == System(devices=[device])
    assert devices_text([device, device]) == "2 × X (1 GiB)"
    del plain["devices"]  # of an earlier version
    assert System.from_dict(plain).devices == []


_TRIES = 5
OUTCOMES = (
    ("", "healthy", ""),
    ("all:falls", "unhealthy", "working devices 0, fleet 2"),
    ("lost", "unhealthy", "working devices 1, fleet 2"),
    ("ecc", "unhealthy", "uncorrected memory errors of device 0"),
    ("nvlink", "unhealthy", "links of device 0 that are up 3, fleet 4"),
    ("mig", "unhealthy", "MIG of device 0 on, fleet off"),
    ("retired", "unhealthy", "retired pages of device 0 2, fleet 0"),
    ("off", "unhealthy", "ECC of device 0 off, fleet on"),
    ("hang", "undecided", "facts that couldn't be read: devices"),
)


@needs_mounts
@pytest.mark.slow
def test_a_check_compares_devices_with_the_fleet(libraries: Path, tmp_path: Path) -> None:
    node = FakeNode(tmp_path, nvidia_files(), libraries, LOG)
    checks = str(tmp_path / "checks")
    for words in (("--record",), ("--record",), ("--learn",)):
        done = node.run("check", *words, ASSAY_CHECKS=checks)
        assert done.returncode == 0, done.stderr
    for fault, outcome, told in OUTCOMES:
        for _ in range(_TRIES):
            done = node.run("check", "--facts", fault=fault, ASSAY_CHECKS=checks)
            if done.stdout.startswith(f"{outcome}: "):
                break  # else the processes that read had too little time beside other tests
        assert done.stdout.startswith(f"{outcome}: "), (fault, done.stdout, done.stderr)
        assert told in done.stdout, (fault, done.stdout)
        assert outcome != "unhealthy" or f"check device {FIRST}" in done.stdout
