"""A node with accelerators that aren't there: files of the PCI bus in a mount namespace of their
own, and libraries of vendors compiled for the test, with planted faults.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

_SUPPORT = Path(__file__).parent
_PCI = "/sys/bus/pci/devices"
NVIDIA = ("0000:3b:00.0", "0000:3c:00.0")
AMD = "0000:c1:00.0"
_WORDS = ("c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")
_LIBRARIES = {"fake_nvml": "libnvidia-ml.so.1", "fake_rocm_smi": "librocm_smi64.so"}


@cache
def _can_mount() -> bool:
    words = [*_unshared(), "mount", "--bind", "/tmp", _PCI]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def _unshared() -> list[str]:
    return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


needs_mounts = pytest.mark.skipif(
    not _can_mount(), reason="This system allows no mounts in a namespace of one's own."
)


def build_library(name: str, folder: Path, *, old: bool = False) -> Path:
    """A folder with the library: ``fake_nvml`` or ``fake_rocm_smi``; ``old``: without functions
    that early versions lack.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = _SUPPORT / name / f"{name}.cpp"
    defined = ["-DFAKE_OLD"] if old else []
    words = [*_WORDS, *defined, str(source), "-o", str(folder / _LIBRARIES[name])]
    subprocess.run(words, check=True)
    return folder


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files below a folder; a content that begins with -> is a symbolic link."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("->"):
            path.symlink_to(content.removeprefix("->"))
        else:
            path.write_text(content)
    return folder


def pci_files(
    address: str, vendor: int, driver: str | None, *, numa: int = 0, cpus: str = "0"
) -> dict[str, str]:
    """The files of a 3D controller on the bus, by names below its folder's parent."""
    files = {
        "class": "0x030200",
        "vendor": f"{vendor:#06x}",
        "device": "0x2330",
        "numa_node": f"{numa}",
        "local_cpulist": cpus,
        "current_link_width": "16",
        "max_link_width": "16",
        "current_link_speed": "2.5 GT/s PCIe",
        "max_link_speed": "32.0 GT/s PCIe",
    }
    if driver is not None:
        files["driver"] = f"->../../../bus/pci/drivers/{driver}"
    return {f"{address}/{name}": content for name, content in files.items()}


def nvidia_files(driver: str | None = "nvidia") -> dict[str, str]:
    """Two devices of NVIDIA."""
    first, second = NVIDIA
    files = pci_files(first, 0x10DE, driver, cpus="0")
    return files | pci_files(second, 0x10DE, driver, numa=1, cpus="1")


def amd_files() -> dict[str, str]:
    """One device of AMD with the files of its driver."""
    own = {
        "mem_info_vram_total": str(192 << 30),
        "mem_info_vram_used": str(1 << 30),
        "vbios_version": "113-M3000100-102",
        "unique_id": "9b2f4d1c5e6a7788",
        "pp_dpm_sclk": "0: 132Mhz\n1: 500Mhz *\n2: 2100Mhz\n",
        "pp_dpm_mclk": "0: 900Mhz *\n1: 1300Mhz\n",
        "current_compute_partition": "CPX",
        "hwmon/hwmon4/power1_average": "150000000",
        "hwmon/hwmon4/power1_cap": "700000000",
        "hwmon/hwmon4/power1_cap_default": "750000000",
        "hwmon/hwmon4/temp1_input": "41000",
        "hwmon/hwmon4/temp2_input": "45000",
        "ras/umc_err_count": "ue: 2\nce: 7\n",
        "ras/gpu_vram_bad_pages": "0x1 : 0x1000 : R\n0x2 : 0x1000 : P\n0x3 : 0x1000 : F\n",
    }
    return pci_files(AMD, 0x1002, "amdgpu") | {f"{AMD}/{name}": text for name, text in own.items()}


class FakeNode:
    """Commands on a node with these devices. ``log``: the text of the kernel's log."""

    def __init__(
        self, folder: Path, files: Mapping[str, str], libraries: Path | None, log: str = ""
    ) -> None:
        self.mounts = [(str(write_files(folder / "pci", files)), _PCI)]
        (folder / "kmsg").write_text(log)
        self.mounts.append((str(folder / "kmsg"), "/dev/kmsg"))
        self.libraries = libraries

    def run(
        self, *words: str, fault: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``assay`` with these words there, and return its exit status and output."""
        return self.run_python("-m", "assay", *words, fault=fault, **variables)

    def run_python(
        self, *words: str, fault: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python with these words there."""
        mounts = " && ".join(f"mount --bind '{this}' '{there}'" for this, there in self.mounts)
        command = [*_unshared(), "sh", "-c", f'{mounts} && exec "$@"', "sh", sys.executable]
        environment = os.environ | {"FAKE_NVML": fault, **variables}
        if self.libraries is not None:
            environment["LD_LIBRARY_PATH"] = str(self.libraries)
        return subprocess.run(
            [*command, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,  # the kernels may have to be built first
        )
