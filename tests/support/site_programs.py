"""Executables that print what NPB, HPL, STREAM and OSU print: scripts, with planted times."""

from __future__ import annotations

from pathlib import Path

from assay.kernels import find_kernel

NPB = """
 NAS Parallel Benchmarks (NPB3.4-{model}) - {name} Benchmark

 {name} Benchmark Completed.
 Class           =                        {size}
 Iterations      =                       15
 Time in seconds =             {seconds:12.2f}
 Total processes =             {ranks:12d}
 Active procs    =             {active:12d}
 Mop/s total     =             {rate:12.2f}
 Operation type  =           floating point
 Verification    =               {verdict}
 Version         =                    3.4.2
"""


def script(path: Path, text: str, before: str = "") -> Path:
    """A program that runs ``before`` and prints the text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{before}\ncat <<'END'\n{text}END\n")
    path.chmod(0o755)
    return path


def npb_text(name: str, size: str, seconds: float, **changes: object) -> str:
    """The output of NASA's code for a benchmark that takes ``seconds``."""
    work = find_kernel(f"npb.{name}").work({"class": size}, 1, 1)["operations"]
    given = {"model": "MPI", "ranks": 1, "active": 1, "verdict": "SUCCESSFUL", "size": size}
    given |= {"rate": work / seconds / 1e6, "seconds": seconds} | changes
    return NPB.format(name=name.upper(), **given)


def npb_program(
    folder: Path, name: str, size: str, seconds: float, *, before: str = "", **changes: object
) -> Path:
    """A script ``cg.S.x`` that prints that output."""
    text = npb_text(name, size, seconds, **changes)
    return script(folder / f"{name}.{size}.x", text, before)
