"""Kernels of devices beside other programs: on a bare machine, and judged elsewhere.

    python3 benchmarks/gpu.py --on-device OUT [--peers FOLDER] [--backend NAME] [--mpich PATH]
    .venv/bin/python benchmarks/gpu.py --analyse OUT

On the machine with the device, a C++ compiler, Python's standard library and MPICH's wheel are
enough; the wheel is looked for in the peers' folder. It takes at most eight minutes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpu_parts import ALL_SECONDS, BUILD_SECONDS, PARTS, PROBE_SECONDS


def main() -> int:
    limits = {"build": BUILD_SECONDS, "a first launch": PROBE_SECONDS}
    limits |= {part.name: part.seconds for part in PARTS}
    options = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n\n")[0],
        epilog="Limits in s: " + ", ".join(f"{name} {s:.0f}" for name, s in limits.items()) + ".",
    )
    which = options.add_mutually_exclusive_group(required=True)
    which.add_argument("--on-device", metavar="OUT", type=Path, help="measure here, write to OUT")
    which.add_argument("--analyse", metavar="OUT", type=Path, help="judge what was written to OUT")
    options.add_argument("--peers", metavar="FOLDER", type=Path, help="the other programs")
    options.add_argument("--backend", default="auto", choices=("auto", "cuda", "hip", "opencl"))
    options.add_argument("--mpich", metavar="PATH", type=Path, help="its wheel, or its prefix")
    options.add_argument("--kernels", metavar="PATH", type=Path, help="built assay-kernels")
    options.add_argument("--seconds", type=float, default=ALL_SECONDS, help="limit for everything")
    options.add_argument("--only", nargs="+", choices=[part.name for part in PARTS])
    given = options.parse_args()
    if given.analyse:
        from gpu_analysis import analyse  # needs assay

        return analyse(given.analyse)
    from gpu_on_device import measure_on_device

    return measure_on_device(
        given.on_device.resolve(),
        given.peers.resolve() if given.peers else None,
        backend=given.backend,
        mpich=given.mpich.resolve() if given.mpich else None,
        kernels=given.kernels.resolve() if given.kernels else None,
        seconds=min(given.seconds, ALL_SECONDS),
        only=given.only,
    )


if __name__ == "__main__":
    sys.exit(main())
