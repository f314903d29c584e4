"""Determines the demand of a program from a stored profile, for plans."""

from __future__ import annotations

import shlex
from pathlib import Path

from assay.errors import AssayError
from assay.model.demand import CallDemand, ProgramDemand
from assay.subjects.profile.doubts import profile_doubts
from assay.subjects.profile.findings import find
from assay.trace.reading import read_profile


def read_demand(folder: Path) -> ProgramDemand:
    """The demand of the program profiled in a folder.

    Raises AssayError if there is no readable profile, or if the profile lacks ranks, since their
    demand is unknown.
    """
    found = find(read_profile(folder))
    if found.absent or found.efficiencies is None:
        raise AssayError(
            "The profile doesn't show the computing time of each rank: "
            + ("ranks are missing." if found.absent else "its threads were in MPI at once."),
            where=str(folder),
            fix="Profile the program again to its end, on hosts that share the folder.",
        )
    ranks = found.ranks
    computing = sum(rank.computing for rank in ranks) / len(ranks)
    longest = max(rank.computing for rank in ranks)
    inside = sum(rank.mpi for rank in ranks) / len(ranks)
    host = {rank.rank: rank.host for rank in ranks}
    sent = [(one.bytes, host.get(one.sender) != host.get(one.receiver)) for one in found.sent]
    whole = sum(size for size, _ in sent)
    return ProgramDemand(
        command=shlex.join(found.command),
        ranks=len(ranks),
        hosts=found.hosts,
        computing=computing,
        uneven=longest / computing - 1.0 if computing > 0.0 else 0.0,
        communication=max(inside - (longest - computing), 0.0),
        messages=sum(rank.messages for rank in ranks) / len(ranks),
        sent=sum(rank.bytes for rank in ranks) / len(ranks),
        between=sum(size for size, far in sent if far) / whole if whole else 0.0,
        doubt=profile_doubts(found).because("run time"),
        calls=tuple(
            CallDemand(each.function, each.share, each.calls, each.bytes / max(each.calls, 1))
            for each in found.functions
        ),
    )
