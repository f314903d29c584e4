"""The communication matrix of a profile as a file, which plans read (`--matrix`)."""

from __future__ import annotations

from assay.trace.model import ProgramProfile

MATRIX_FILE = "matrix.txt"


def matrix_text(profile: ProgramProfile) -> str | None:
    """Lines "from to bytes"; None if ranks are missing or nothing was sent to a named rank.

    Collectives without counts per receiver are not included (docs/formats/profile.md).
    """
    size = max(one.header.ranks for one in profile.ranks)
    if profile.absent or any(one.header.rank is None for one in profile.ranks):
        return None
    lines = [
        f"{one.header.rank} {peer.peer} {peer.bytes}"
        for one in profile.ranks
        for peer in sorted(one.peers, key=lambda peer: -1 if peer.peer is None else peer.peer)
        if peer.peer is not None and peer.bytes > 0
    ]
    if not lines:
        return None
    # This line names the last rank, so that the matrix covers all ranks.
    last = f"{size - 1} {size - 1} 0"
    head = "# bytes sent from rank to rank, by assay profile: from to bytes"
    return "\n".join([head, *lines, last]) + "\n"
