"""Detection of all facts of a machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from assay.system.adapters import detect_adapters
from assay.system.devices.detection import detect_devices
from assay.system.environment import tuning_variables
from assay.system.files import Tree
from assay.system.memory import detect_memory
from assay.system.model import System
from assay.system.processor import cpuinfo_blocks, detect_processor, online_threads
from assay.system.scheduler import detect_scheduler
from assay.system.surroundings import (
    detect_firmware,
    detect_limits,
    detect_mounts,
    detect_os,
    detect_virtualisation,
)


def detect(root: Path = Path("/"), *, environ: Mapping[str, str] | None = None) -> System:
    """Detect the machine from /proc and /sys below ``root``.

    It changes nothing, needs no root privileges and raises nothing: unknown facts are None. A
    ``root`` other than "/" holds another machine's files. Then no system call queries this machine,
    no program is run, and ``environ`` (the environment of a job there) is empty unless given.
    """
    tree = Tree(root)
    if environ is None:
        environ = os.environ if tree.live else {}
    online = online_threads(tree, cpuinfo_blocks(tree.text("/proc/cpuinfo")))
    return System(
        processor=detect_processor(tree),
        memory=detect_memory(tree),
        virtualisation=detect_virtualisation(tree, environ),
        limits=detect_limits(tree, online),
        os=detect_os(tree),
        adapters=detect_adapters(tree),
        devices=detect_devices(tree),
        firmware=detect_firmware(tree),
        mounts=detect_mounts(tree),
        scheduler=detect_scheduler(tree, environ),
        tuning=tuning_variables(environ) if tree.live or environ else None,
    )
