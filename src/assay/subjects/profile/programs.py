"""The command that was profiled, and its other MPI programs, in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.subjects.profile.model import ProfileFindings
from assay.trace.model import ProgramSummary
from assay.units import counted, format_duration, format_share

# Maximum numbers of programs, and of characters of a command, in a sentence.
_MOST_NAMED, _MOST_CHARACTERS = 4, 60
_MOST_OF_COMMAND = 80  # maximum number of characters of the command in the report's summary


def command_line(command: Sequence[str]) -> str:
    """The command in one line, shortened if it is long."""
    text = " ".join(command)
    return text if len(text) <= _MOST_OF_COMMAND else f"{text[:_MOST_OF_COMMAND]} …"


def other_programs(found: ProfileFindings) -> list[str]:
    """The programs that this report doesn't cover, in one sentence; empty if there are none."""
    if not found.others:
        return []
    number = len(found.others) + 1
    named = "; ".join(_described(one) for one in found.others[:_MOST_NAMED])
    rest = len(found.others) - _MOST_NAMED
    return [
        f"The command ran {number} MPI programs. This report covers only program {found.number}"
        f"{_shown(found.programs)}. Left out: {named}"
        f"{f'; and {rest} more' if rest > 0 else ''}. "
        "`assay profile --read FOLDER --program N` reports program N."
    ]


def _described(one: ProgramSummary) -> str:
    how = f", {one.absent} without a profile" if one.absent else ""
    how += ", spawned by another" if one.spawned else ""
    return (
        f"program {one.number}{_shown(one.commands)} with {counted(one.size, 'rank')}{how}, "
        f"{format_duration(one.wall)}, {format_share(one.mpi)} of it in MPI"
    )


def _shown(commands: Sequence[str]) -> str:
    known = [command for command in commands if command]
    if not known:
        return ""
    text = " : ".join(known)
    return f" ({text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + ' …'})"
