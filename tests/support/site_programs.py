"""Executables that print what NPB, HPL, HPCG, STREAM and OSU print: scripts, with planted times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from assay.kernels import find_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import OWN_TOOLCHAIN, Cell
from assay.records.model import RunData

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


def npb_text(code: str, letter: str, time: float, **changes: object) -> str:
    """The output of NASA's code, which takes ``time`` (s); ``changes``: of fields."""
    work = find_kernel(f"npb.{code}").work({"class": letter}, 1, 1)["operations"]
    given = {"model": "MPI", "ranks": 1, "active": 1, "verdict": "SUCCESSFUL", "size": letter}
    given |= {"rate": work / time / 1e6, "seconds": time, "name": code.upper()} | changes
    return NPB.format(**given)


def npb_program(
    folder: Path, name: str, size: str, seconds: float, *, before: str = "", **changes: object
) -> Path:
    """A script ``cg.S.x`` that prints that output."""
    text = npb_text(name, size, seconds, **changes)
    return script(folder / f"{name}.{size}.x", text, before)


def beside(cell: Cell) -> Cell:
    """The cell of the site's executable beside an NPB kernel's."""
    kernel = find_kernel("beside.npb")
    code, letter = cell.kernel.removeprefix("npb."), str(cell.parameters["class"])
    given = {p.name: p.default for p in kernel.parameters}
    program = f"/site/bin/{code}.{letter}.x"
    given |= {"program": program, "of": cell.kernel, "benchmark": code}
    given |= {"command": f"/site/bin/mpirun -n {{ranks}} {program}"}
    given |= {"at": f"class={letter}", "sha256": "ab" * 32}
    given["work"] = find_kernel(cell.kernel).work({"class": letter}, 1, 1)["operations"]
    return Cell(kernel.name, given, cell.placement, OWN_TOOLCHAIN)


def as_printed(run: RunData, tool: str = "NASA's NPB", version: str = "3.4.2") -> RunData:
    """The run with what the executables printed of themselves, as facts."""
    facts = {"tool": tool, "version": version}
    return replace(
        run,
        measurements=tuple(
            replace(m, record=msgspec.structs.replace(m.record, facts=facts))
            if is_beside(m.cell.kernel)
            else m
            for m in run.measurements
        ),
    )
