"""The files of a server as its kernel shows them, for tests of a node's facts. Made up after real
ones: two sockets, twelve memory modules, accelerators, InfiniBand, NVMe.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path

from assay.system.files import Tree

GIB = 1 << 30
CPUS = 8
SLOTS = tuple(f"P{socket}_DIMM_{letter}1" for socket in (0, 1) for letter in "ABCDEF")
DMI = "/sys/firmware/dmi/tables/DMI"
PCI = "/sys/bus/pci/devices"
EDAC = "/sys/devices/system/edac/mc"
IB = "/sys/class/infiniband/mlx5_0"
_FIRST_NODE_SHARE = 6


def memory_device(
    slot: str, size: int, speed: int = 3200, bank: str = "", length: int = 0x5C
) -> bytes:
    """A structure of type 17 (SMBIOS 3.3) with a module of ``size`` bytes at ``speed`` MT/s."""
    mib = size >> 20
    body = bytearray(max(length, 0x22))
    body[0:4] = struct.pack("<BBH", 17, length, 0x1100)
    struct.pack_into("<H", body, 0x0C, 0x7FFF if mib >= 0x7FFF else mib)
    body[0x10], body[0x11] = 1, 2 if bank else 0
    struct.pack_into("<H", body, 0x15, speed if size else 0)
    struct.pack_into("<I", body, 0x1C, mib if mib >= 0x7FFF else 0)
    struct.pack_into("<H", body, 0x20, speed if size else 0)
    strings = slot.encode() + b"\0" + (bank.encode() + b"\0" if bank else b"")
    return bytes(body[:length]) + strings + b"\0"


def firmware_table(
    lost: tuple[str, ...] = (), size: int = 16 * GIB, speeds: Mapping[str, int] | None = None
) -> bytes:
    """The table of the firmware, with a BIOS structure before and an end after the modules."""
    bios = struct.pack("<BBH", 0, 0x18, 0) + bytes([1, 2, 0, 0xF0, 3]) + bytes(0x18 - 9)
    found = [bios + b"ACME\0002.1\00001/02/2024\0\0"]
    for slot in SLOTS:
        speed = (speeds or {}).get(slot, 3200)
        found.append(memory_device(slot, 0 if slot in lost else size, speed, bank="BANK 0"))
    found.append(struct.pack("<BBH", 127, 4, 0x7F00) + b"\0\0")
    return b"".join(found)


def server_files(memory: int = 192 * GIB) -> dict[str, str | bytes]:
    """Path to content of a healthy server whose memory modules have ``memory`` bytes in sum."""
    files: dict[str, str | bytes] = {}
    files |= _processor()
    files |= _memory(memory)
    files |= _devices()
    files |= _adapters()
    files |= _processes()
    return files


def _processor() -> dict[str, str | bytes]:
    block = (
        "processor\t: {0}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
        "model name\t: AMD EPYC 7313 16-Core Processor\nmicrocode\t: 0xa0011d1\n"
        "physical id\t: {1}\nflags\t\t: fpu lm avx2\n"
    )
    cpu = "/sys/devices/system/cpu"
    files: dict[str, str | bytes] = {
        "/proc/cpuinfo": "\n".join(block.format(i, i // 4) for i in range(CPUS)),
        f"{cpu}/online": "0-7",
        f"{cpu}/present": "0-7",
        f"{cpu}/smt/active": "0",
        f"{cpu}/cpu0/microcode/version": "0xa0011d1",
        f"{cpu}/cpufreq/boost": "1",
        "/proc/self/status": "Name:\tpython\nCpus_allowed_list:\t0-7\n",
        "/proc/self/cgroup": "0::/system.slice/slurmd.service\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory",
        "/sys/fs/cgroup/system.slice/slurmd.service/cpu.max": "max 100000",
        "/sys/fs/cgroup/cpuset.cpus.effective": "0-7",
    }
    for number in range(CPUS):
        folder = f"{cpu}/cpu{number}"
        files |= {
            f"{folder}/topology/physical_package_id": str(number // 4),
            f"{folder}/cpufreq/scaling_max_freq": "3700000",
            f"{folder}/cpufreq/scaling_governor": "performance",
            f"{folder}/cpufreq/scaling_driver": "acpi-cpufreq",
            f"{folder}/thermal_throttle/core_throttle_count": "0",
            f"{folder}/thermal_throttle/package_throttle_count": "0",
        }
    return files


def _memory(memory: int) -> dict[str, str | bytes]:
    usable = (memory - 3 * GIB) >> 10
    files: dict[str, str | bytes] = {
        "/proc/meminfo": (
            f"MemTotal: {usable} kB\nMemFree: {usable - 3 * GIB // 1024} kB\n"
            f"MemAvailable: {usable - 2 * GIB // 1024} kB\nSwapTotal: 4194300 kB\n"
            "SwapFree: 4194300 kB\nHugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n"
        ),
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never",
        "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0",
        "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "0",
        DMI: firmware_table(),
    }
    for node in (0, 1):
        folder = f"/sys/devices/system/node/node{node}"
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal:  {usable // 2} kB\n"
        files[f"{folder}/cpulist"] = "0-3" if node == 0 else "4-7"
        files[f"{folder}/distance"] = "10 32" if node == 0 else "32 10"
        files[f"{EDAC}/mc{node}/size_mb"] = str(memory >> 21)
        for kind in ("ce", "ue"):
            files[f"{EDAC}/mc{node}/{kind}_count"] = "0"
        for number in range(_FIRST_NODE_SHARE):
            dimm = f"{EDAC}/mc{node}/dimm{number}"
            files |= {
                f"{dimm}/size": "16384",
                f"{dimm}/dimm_label": SLOTS[_FIRST_NODE_SHARE * node + number],
                f"{dimm}/dimm_ce_count": "0",
                f"{dimm}/dimm_ue_count": "0",
            }
    return files


def pci_device(
    address: str, kind: int, vendor: int, device: int, width: int = 16, speed: str = "16.0"
) -> dict[str, str | bytes]:
    """A PCI Express device whose link runs at its maximum."""
    folder = f"{PCI}/{address}"
    return {
        f"{folder}/class": f"{kind << 8:#08x}",
        f"{folder}/vendor": f"{vendor:#06x}",
        f"{folder}/device": f"{device:#06x}",
        f"{folder}/current_link_width": str(width),
        f"{folder}/max_link_width": str(width),
        f"{folder}/current_link_speed": f"{speed} GT/s PCIe",
        f"{folder}/max_link_speed": f"{speed} GT/s PCIe",
    }


def _devices() -> dict[str, str | bytes]:
    files = pci_device("0000:00:01.1", 0x0604, 0x1022, 0x1483)
    files |= pci_device("0000:01:00.0", 0x0207, 0x15B3, 0x101B)
    files |= pci_device("0000:02:00.0", 0x0200, 0x8086, 0x1521, 4, "5.0")
    files |= pci_device("0000:03:00.0", 0x0108, 0x144D, 0xA80A, 4)
    files |= pci_device("0000:04:00.0", 0x0108, 0x144D, 0xA80A, 4)
    files |= pci_device("0000:05:00.0", 0x0300, 0x1A03, 0x2000, 1, "2.5")
    for number, bus in enumerate((0x41, 0x61, 0x81, 0xC1)):
        idle = pci_device(f"0000:{bus:02x}:00.0", 0x0302, 0x10DE, 0x20B2)
        if number % 2:
            # An idle graphics processor lowers the speed of its link.
            idle[f"{PCI}/0000:{bus:02x}:00.0/current_link_speed"] = "2.5 GT/s PCIe"
        files |= idle
    monitor = "/sys/class/hwmon/hwmon0"
    return files | {
        f"{monitor}/name": "k10temp",
        f"{monitor}/temp1_input": "41250",
        f"{monitor}/temp1_crit_alarm": "0",
    }


def _adapters() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {}
    for name, speed, physical in (("eth0", 1000, True), ("ib0", 200000, True), ("veth9", 1, False)):
        folder = f"/sys/class/net/{name}"
        files |= {
            f"{folder}/operstate": "up",
            f"{folder}/speed": str(speed),
            f"{folder}/duplex": "full",
            f"{folder}/mtu": "1500" if name == "eth0" else "2044",
            f"{folder}/carrier_changes": "2",
            f"{folder}/statistics/rx_crc_errors": "0",
            f"{folder}/statistics/rx_errors": "0",
            f"{folder}/statistics/tx_errors": "0",
        }
        if physical:
            files[f"{folder}/device/vendor"] = "0x8086"
    port = f"{IB}/ports/1"
    counters = ("symbol_error", "link_downed", "port_rcv_errors")
    return (
        files
        | {
            f"{IB}/fw_ver": "20.31.1014",
            f"{port}/state": "4: ACTIVE",
            f"{port}/phys_state": "5: LinkUp",
            f"{port}/rate": "200 Gb/sec (4X HDR)",
            f"{port}/link_layer": "InfiniBand",
        }
        | {f"{port}/counters/{name}": "0" for name in counters}
    )


def process_line(
    pid: int,
    name: str,
    parent: int = 1,
    pages: int = 1000,
    state: str = "S",
    flags: int = 0x400000,
    threads: int = 1,
) -> str:
    """A line of /proc/PID/stat of a process that started a second after boot."""
    before = [state, parent, pid, pid, 0, -1, flags, 10, 0, 0, 0, 30, 20, 0, 0, 20, 0, threads, 0]
    return f"{pid} ({name}) " + " ".join(
        map(str, [*before, 100, 10**8, pages, 2**64 - 1, *[0] * 28])
    )


def _processes() -> dict[str, str | bytes]:
    names = {1: "systemd", 700: "chronyd", 701: "slurmd", 702: "sshd"}
    return {
        f"/proc/{pid}/stat": process_line(pid, name, pages=2000 - pid)
        for pid, name in names.items()
    } | {
        "/etc/login.defs": f"UID_MIN {max(1000, os.getuid() + 1)}\n",
        "/proc/uptime": "864000.00 6000000.00",
        "/proc/sys/kernel/osrelease": "5.14.0-362.el9.x86_64",
        "/proc/driver/nvidia/version": (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC\n"
        ),
        "/sys/class/dmi/id/bios_vendor": "ACME",
        "/sys/class/dmi/id/bios_version": "2.1",
        "/sys/module/mlx5_core/version": "23.10-0.5.5",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
        "/proc/self/mounts": (
            "/dev/nvme0n1p2 / xfs rw,relatime 0 0\n"
            "proc /proc proc rw 0 0\n"
            "/dev/nvme1n1 /local xfs rw,relatime 0 0\n"
            "server:/export/home /home nfs4 rw,hard 0 0\n"
            "auto.net /net autofs rw,indirect 0 0\n"
            "server:/export/x /net/x nfs4 rw 0 0\n"
            "auto.data /data autofs rw,direct 0 0\n"
            "server:/export/data /data nfs4 rw 0 0\n"
            "overlay /var/lib/docker/overlay2/ab/merged overlay rw 0 0\n"
            "tmpfs /run/user/1000 tmpfs rw 0 0\n"
        ),
    }


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Tree:
    """Write the files below ``root``."""
    for name, content in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
    return Tree(root)
