"""Programs under ``assay profile --trace``, and under the library alone for the MPI libraries of
the system, whose reports are then those of the kept profile.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

import prepared_assay
from assay.kernels.builds.trace import build_trace
from assay.trace.reading import RUN_FILE, read_profile
from assay.trace.sites.finding import find_places
from mpi_counts import PROFILE
from mpi_libraries import MPI_LIBRARIES, MpiLibrary, compile_c
from profiles import RUN

_COMMAND = (sys.executable, "-m", "assay", "profile")


@dataclass(frozen=True)
class TracedProgram:
    """What was reported. ``own``: the seconds that the program prints by name; ``found``: the JSON
    findings; ``text``: what the terminal shows.
    """

    own: dict[str, float]
    found: dict[str, Any]
    text: str

    @property
    def trace(self) -> dict[str, Any]:
        """The findings of the trace."""
        trace: dict[str, Any] = self.found["trace"]
        return trace

    def waiting_in(self, function: str, *, without: tuple[str, ...] = ()) -> float:
        """s that are reported in the places of one function of the program."""
        return float(
            sum(
                place["time"]
                for place in self.trace["places"]
                if place["place"].split(" (")[0] == function and place["function"] not in without
            )
        )


def traced_program(
    source: str, ranks: int, *words: str, folder: Path, library: MpiLibrary = MPI_LIBRARIES[0]
) -> TracedProgram:
    """Runs a program of native/tests/profile with a trace."""
    if not library.is_there:
        pytest.skip(f"{library.name} is not installed")
    program = compile_c(library, PROFILE / source, folder / "program")
    kept = folder / "kept"
    command = [*library.run, "-n", str(ranks)]
    if library is MPI_LIBRARIES[0]:
        command = [*_COMMAND, "--trace", "--json", "--folder", str(kept), "--", *command]
    else:
        kept.mkdir()
        (kept / RUN_FILE).write_bytes(msgspec.json.encode(RUN))
        preload = f"LD_PRELOAD={build_trace(library.cxx)}"
        command += ["env", preload, f"ASSAY_PROFILE_DIR={kept}", "ASSAY_PROFILE_TRACE=1"]
    printed = _run([*command, str(program), *words], folder)
    if library is not MPI_LIBRARIES[0]:
        places = find_places(read_profile(kept).ranks, folder)
        run = msgspec.structs.replace(RUN, places=places)
        (kept / RUN_FILE).write_bytes(msgspec.json.encode(run))
    return reported(kept, printed)


def reported(kept: Path, printed: str = "") -> TracedProgram:
    """What ``assay profile --read`` reports on a kept profile."""
    found = json.loads(_run([*_COMMAND, "--read", str(kept), "--json"], kept))
    text = _run([*_COMMAND, "--read", str(kept), "--verbose"], kept)
    lines = [line.split() for line in printed.partition("\n{")[0].splitlines()]
    own = {words[0]: float(words[1]) for words in lines if len(words) == 2}
    return TracedProgram(own, found, " ".join(text.split()))


def _run(command: list[str], folder: Path) -> str:
    done = prepared_assay.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
