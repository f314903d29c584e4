"""Detection of hypervisor, container, control groups, operating system, firmware and mounts."""

from __future__ import annotations

import platform
import re
import resource
from collections.abc import Iterable, Mapping

from assay.system.files import Tree, fields, to_cpus, to_integer, to_number
from assay.system.model import Limits, OperatingSystem, Virtualisation

# Contents of the firmware's tables (DMI: vendor, product, board, BIOS) in virtual machines.
_FIRMWARE = (
    (r"VMware", "VMware"),
    (r"VirtualBox|innotek", "VirtualBox"),
    (r"Microsoft Corporation.*Virtual Machine", "Hyper-V"),
    (r"Google Compute Engine", "KVM (Google)"),
    (r"Amazon EC2(?!.*\.metal)", "Nitro (Amazon)"),
    (r"Alibaba Cloud ECS", "KVM (Alibaba)"),
    (r"OpenStack|QEMU|KVM|oVirt|DigitalOcean|BHYVE|Bochs", "KVM or QEMU"),
    (r"HVM domU|Xen", "Xen"),
    (r"Parallels", "Parallels"),
)
_CLOCKS = {"kvm-clock": "KVM", "xen": "Xen", "hyperv_clocksource": "Hyper-V"}
_CLOCK_FOLDER = "/sys/devices/system/clocksource/clocksource0"


def detect_virtualisation(tree: Tree, environ: Mapping[str, str]) -> Virtualisation:
    """Whether there is a hypervisor or a container, and the evidence. Runs no program."""
    evidence: list[str] = []
    hypervisor: str | None = None
    flags = fields(tree.text("/proc/cpuinfo")).get("flags", "").split()
    if "hypervisor" in flags:
        evidence.append("the processor's hypervisor flag")
    kind = tree.word("/sys/hypervisor/type")
    # A Xen control domain (dom0) does not count as a guest: it owns the machine.
    if kind and "control_d" not in (tree.word("/proc/xen/capabilities") or ""):
        hypervisor = kind.capitalize()
        evidence.append("/sys/hypervisor/type")
    identity = " ".join(
        tree.word(f"/sys/class/dmi/id/{name}") or ""
        for name in ("sys_vendor", "product_name", "board_vendor", "bios_vendor")
    ).strip()
    for pattern, name in _FIRMWARE:
        if re.search(pattern, identity):
            hypervisor = hypervisor or name
            evidence.append(f"the firmware's tables ({identity})")
            break
    for name, owner in _CLOCKS.items():
        if name in (tree.word(f"{_CLOCK_FOLDER}/available_clocksource") or ""):
            hypervisor = hypervisor or owner
            evidence.append(f"the clock source {name}")
    if compatible := tree.word("/proc/device-tree/hypervisor/compatible"):
        hypervisor = hypervisor or compatible
        evidence.append("the device tree")
    # An x86 hypervisor sets its flag; elsewhere only firmware tables can show that there is none.
    known = bool(evidence or flags or identity)
    return Virtualisation(
        virtual=bool(evidence) if known else None,
        hypervisor=hypervisor,
        evidence=evidence,
        steal=_steal(tree),
        container=_container(tree, environ),
    )


def cpu_times(tree: Tree) -> dict[str, list[int]]:
    """The ``cpu`` lines of /proc/stat: name to the counts of user, nice, system, idle … (ticks)."""
    found: dict[str, list[int]] = {}
    for line in (tree.text("/proc/stat") or "").splitlines():
        name, *numbers = line.split() or [""]
        if re.fullmatch(r"cpu\d*", name, re.ASCII):
            counts = [to_integer(n) for n in numbers]
            if len(counts) >= 4 and all(c is not None and c >= 0 for c in counts):
                found.setdefault(name, [c for c in counts if c is not None])
    return found


def _steal(tree: Tree) -> float | None:
    times = cpu_times(tree).get("cpu")
    # user nice system idle iowait irq softirq steal; guest times are contained in user and nice.
    if times is None or len(times) < 8 or sum(times[:8]) == 0:
        return None
    return times[7] / sum(times[:8])


def _container(tree: Tree, environ: Mapping[str, str]) -> str | None:
    if tree.exists("/.singularity.d") or "APPTAINER_CONTAINER" in environ:
        return "Apptainer"
    if tree.exists("/run/.containerenv"):
        return "Podman"
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "Kubernetes"
    groups = tree.text("/proc/1/cgroup") or ""
    for word, name in (("kubepods", "Kubernetes"), ("docker", "Docker"), ("lxc", "LXC")):
        if word in groups:
            return name
    if tree.exists("/.dockerenv"):
        return "Docker"
    return environ.get("container") or None


def detect_limits(tree: Tree, online: Iterable[int]) -> Limits:
    """The limits that control groups and affinity set for this process."""
    present = set(online)

    def usable(cpus: list[int] | None) -> list[int] | None:
        # The kernel also lists threads that are offline.
        found = [c for c in cpus if c in present] if cpus and present else cpus
        return found or None

    status = fields(tree.text("/proc/self/status"))
    affinity = re.fullmatch(r"[\d,-]+", status.get("Cpus_allowed_list", ""), re.ASCII)
    groups = _groups(tree)
    quotas, memories, throttles = [], [], []
    cpuset: list[int] | None = None
    for folder in groups.get("cpu", []):
        quotas.append(_quota(tree, folder))
        throttles.append(_stat(tree, folder, "nr_throttled"))
    for folder in groups.get("memory", []):
        memories.append(tree.integer(f"{folder}/memory.max"))
        memories.append(tree.integer(f"{folder}/memory.limit_in_bytes"))
    for folder in groups.get("cpuset", []):
        for file in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            cpuset = cpuset or tree.cpus(f"{folder}/{file}")
    return Limits(
        version=(2 if groups.get("unified") else 1) if groups else None,
        quota=min((q for q in quotas if q is not None), default=None),
        cpuset=usable(cpuset),
        affinity=usable(to_cpus(affinity[0])) if affinity else None,
        # No process can run with a limit of 0. Version 1 says "no limit" with the largest multiple
        # of a page below 2^63.
        memory=min((m for m in memories if m is not None and 0 < m < 1 << 60), default=None),
        throttled=max((t for t in throttles if t is not None), default=None),
        memlock=_memlock(tree),
    )


def _groups(tree: Tree) -> dict[str, list[str]]:
    """By controller, the folders that limit this process: its group's folder and all above it."""
    found: dict[str, list[str]] = {}
    base = "/sys/fs/cgroup"
    for line in (tree.text("/proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not colon or to_integer(number) is None:
            continue
        if controllers == "":
            if tree.exists(f"{base}/cgroup.controllers"):
                folders = _ancestors(tree, base, path)
                found.update(dict.fromkeys(("unified", "cpu", "memory", "cpuset"), folders))
            continue
        for controller in controllers.split(","):
            for mount in (f"{base}/{controllers}", f"{base}/{controller}"):
                if controller in ("cpu", "memory", "cpuset") and tree.exists(mount):
                    found[controller] = _ancestors(tree, mount, path)
                    break
    return found


def _ancestors(tree: Tree, mount: str, path: str) -> list[str]:
    """The group's folder and those above it, nearest first. Inside a container the path may not
    exist; the mount is then the group itself.
    """
    parts = [part for part in path.split("/") if part and part != ".."]
    folders = ["/".join([mount, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return [folder for folder in folders[:64] if tree.exists(folder)]


def _quota(tree: Tree, folder: str) -> float | None:
    """CPU seconds per second: quota over period, of control groups version 2 or 1."""
    words = (tree.word(f"{folder}/cpu.max") or "").split()
    if len(words) == 2:
        quota, period = to_integer(words[0]), to_integer(words[1])
    else:
        quota = tree.integer(f"{folder}/cpu.cfs_quota_us")
        period = tree.integer(f"{folder}/cpu.cfs_period_us")
    return quota / period if quota and period and quota > 0 and period > 0 else None


def _stat(tree: Tree, folder: str, name: str) -> int | None:
    match = re.search(rf"(?m)^{name} (\d{{1,18}})$", tree.text(f"{folder}/cpu.stat") or "")
    return int(match[1]) if match else None


def quota_groups(tree: Tree) -> list[str]:
    """The folders of the control groups that can limit this process's CPU time."""
    return _groups(tree).get("cpu", [])


def quota_seconds(tree: Tree, folders: Iterable[str]) -> float | None:
    """Seconds for which these groups were throttled by their quota: the maximum over them."""
    found = []
    for folder in folders:
        microseconds = _stat(tree, folder, "throttled_usec")  # version 2
        nanoseconds = _stat(tree, folder, "throttled_time")  # version 1
        if microseconds is not None:
            found.append(microseconds * 1e-6)
        elif nanoseconds is not None:
            found.append(nanoseconds * 1e-9)
    return max(found, default=None)


def stall_seconds(tree: Tree, resource_name: str) -> float | None:
    """Seconds since boot in which some task waited for a resource (/proc/pressure, "some").

    ``resource_name``: cpu, io or memory.
    """
    text = tree.text(f"/proc/pressure/{resource_name}") or ""
    match = re.search(r"(?m)^some .*\btotal=(\d{1,18})$", text)
    return int(match[1]) * 1e-6 if match else None


def tcp_retransmits(tree: Tree) -> int | None:
    """TCP segments retransmitted since boot in this network namespace."""
    lines = [line.split() for line in (tree.text("/proc/net/snmp") or "").splitlines()]
    tables = [words for words in lines if words and words[0] == "Tcp:"]
    if len(tables) < 2 or "RetransSegs" not in tables[0]:
        return None
    column = tables[0].index("RetransSegs")
    return to_integer(tables[1][column]) if column < len(tables[1]) else None


def _memlock(tree: Tree) -> int | None:
    limits = tree.text("/proc/self/limits") or ""
    match = re.search(r"(?m)^Max locked memory\s+(\d{1,19})\s", limits, re.ASCII)
    if match:
        return int(match[1])
    if tree.live and not limits:
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        return None if soft == resource.RLIM_INFINITY else soft
    return None


def uptime_seconds(tree: Tree) -> float | None:
    """Seconds since boot."""
    words = (tree.word("/proc/uptime") or "").split()
    return to_number(words[0]) if words else None


def detect_os(tree: Tree) -> OperatingSystem:
    """Kernel and distribution."""
    release = _os_release(tree.text("/etc/os-release") or tree.text("/usr/lib/os-release"))
    load = [to_number(w) for w in (tree.word("/proc/loadavg") or "").split()[:3]]
    folder = "/sys/devices/system/cpu/vulnerabilities"
    states = {name: tree.word(f"{folder}/{name}") for name in tree.names(folder)}
    return OperatingSystem(
        name=release.get("PRETTY_NAME") or release.get("NAME"),
        identifier=release.get("ID"),
        kernel=tree.word("/proc/sys/kernel/osrelease")
        or (platform.release() if tree.live else None),
        hostname=tree.word("/proc/sys/kernel/hostname") or (platform.node() if tree.live else None),
        uptime=uptime_seconds(tree),
        load=[v for v in load if v is not None] if len(load) == 3 and None not in load else None,
        clock_source=tree.word(f"{_CLOCK_FOLDER}/current_clocksource"),
        clock_sources=(tree.word(f"{_CLOCK_FOLDER}/available_clocksource") or "").split(),
        aslr=tree.integer("/proc/sys/kernel/randomize_va_space"),
        mitigations={
            name: state.removeprefix("Mitigation: ")
            for name, state in states.items()
            if state and state.startswith("Mitigation")
        },
        isolated=tree.cpus("/sys/devices/system/cpu/isolated") or [],
    )


def detect_firmware(tree: Tree) -> str | None:
    """The machine's firmware (vendor, version, date) from the SMBIOS tables."""
    folder = "/sys/class/dmi/id"
    words = (tree.word(f"{folder}/{name}") for name in ("bios_vendor", "bios_version", "bios_date"))
    return " ".join(word for word in words if word) or None


# Network file systems, and folders that are recorded on any file system.
_SHARED = {
    *("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "glusterfs", "pvfs2"),
    *("fuse.glusterfs", "fuse.ceph", "fuse.sshfs", "panfs", "wekafs", "9p", "afs", "orangefs"),
}
_FOLDERS = {"/", "/home", "/scratch", "/tmp", "/dev/shm"}


def detect_mounts(tree: Tree) -> dict[str, str]:
    """Network file systems and those of common folders: type and options, by mount point."""
    found: dict[str, str] = {}
    for line in (tree.text("/proc/self/mounts") or tree.text("/proc/mounts") or "").splitlines():
        words = line.split(" ")
        if len(words) < 4 or (words[2] not in _SHARED and words[1] not in _FOLDERS):
            continue
        source, point, kind, options = words[:4]
        # Sources and option values of local file systems may change with every boot: only those of
        # network file systems are kept.
        shared = kind in _SHARED
        plain = ",".join(o for o in options.split(",") if "=" not in o or shared)
        found[point] = " ".join(filter(None, (source if shared else "", kind, plain)))
    return found


def _os_release(text: str | None) -> dict[str, str]:
    """The assignments of os-release(5)."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        key, equals, value = line.partition("=")
        if equals and re.fullmatch(r"[A-Z_0-9]+", key.strip(), re.ASCII):
            value = value.strip()
            if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
                value = re.sub(r"\\(.)", r"\1", value[1:-1])
            if value:
                found[key.strip()] = value
    return found
