"""Where kernels of devices find the libraries that wheels bring (``nvidia-cublas``,
``nvidia-cuda-nvrtc``, ``nvidia-nccl``).

The dynamic loader doesn't search the Python environment, and the kernel program may be anywhere, so
a launch names the folders.
"""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

VARIABLE = "ASSAY_DEVICE_LIBRARIES"


def device_library_variables() -> dict[str, str]:
    """The environment variable with the folders of libraries of this Python environment; empty
    without such wheels.
    """
    folders = library_folders(Path(sysconfig.get_path("purelib")))
    return {VARIABLE: ":".join(map(str, folders))} if folders else {}


@cache
def library_folders(packages: Path) -> tuple[Path, ...]:
    """The folders ``nvidia/*/lib`` with libraries among installed packages, by name: NVIDIA's
    wheels of CUDA 12 have one per library, those of CUDA 13 one for all.
    """
    return tuple(
        folder
        for folder in sorted(packages.glob("nvidia/*/lib"))
        if next(folder.glob("lib*.so*"), None) is not None
    )
