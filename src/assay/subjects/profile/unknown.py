"""What a profile can't say, and why."""

from __future__ import annotations

from collections.abc import Sequence

from assay.subjects.profile.model import ProfileRank
from assay.trace.model import ProgramProfile
from assay.units import counted

_MOST_NAMED = 6


def unknown_of(profile: ProgramProfile, ranks: Sequence[ProfileRank]) -> list[str]:
    """One sentence per gap."""
    found = []
    headers = [one.header for one in profile.ranks]
    if profile.absent:
        ended = any(header.ended in ("abort", "signal") for header in headers)
        why = (
            "the launcher killed them when another rank ended"
            if ended
            else "they were killed, or their hosts don't share the folder"
        )
        found.append(
            f"{counted(len(profile.absent), 'rank')} wrote no profile "
            f"({_named(profile.absent)}): {why}. Efficiencies are unknown, and sums cover only "
            "the other ranks."
        )
    if profile.cut:
        found.append(f"{counted(len(profile.cut), 'rank')} ended while writing the profile.")
    if any(not header.fortran for header in headers):
        found.append(
            "The profile has only calls from C and C++. This MPI has its Fortran and C "
            "functions in one library, which hides calls from Fortran."
        )
    elif any(not header.complete for header in headers):
        found.append("There were too many persistent requests, so some of their bytes are unknown.")
    over = [rank.rank for rank in ranks if rank.mpi > rank.wall]
    if over:
        found.append(
            f"Several threads of {counted(len(over), 'rank')} ({_named(over)}) were in MPI at "
            "once, in total longer than the wall time. Computing and efficiencies are unknown."
        )
    if any(header.rank is None for header in headers):
        found.append(
            "The program uses MPI sessions without a world, so its processes are numbered by file."
        )
    return found


def _named(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:_MOST_NAMED])
    return shown + (" …" if len(numbers) > _MOST_NAMED else "")
