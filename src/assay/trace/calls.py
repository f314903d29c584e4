"""What the functions of MPI do, as far as the analysis of traces needs it. Names without ``MPI_``.

Persistent requests appear as one ``Start_send`` or ``Start_receive`` per started request.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

BOTH_WAYS = frozenset(("Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace"))
BLOCKING_SENDS = frozenset(("Send", "Ssend", "Bsend", "Rsend"))
SENDS = BOTH_WAYS | BLOCKING_SENDS | {"Isend", "Issend", "Ibsend", "Irsend", "Start_send"}
# Those that don't wait for the receiver, whatever the size.
BUFFERED = frozenset(("Bsend", "Ibsend"))
# Those that wait for the receiver, whatever the size.
SYNCHRONOUS = frozenset(("Ssend", "Issend"))
RECEIVES = frozenset(("Recv", "Mrecv", "Irecv", "Imrecv", "Start_receive"))

# Collectives after whose end every rank knows that all have begun.
ALL_TO_ALL = frozenset(
    (
        "Barrier", "Allreduce", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
        "Reduce_scatter", "Reduce_scatter_block",
    )
)  # fmt: skip
TO_ROOT = frozenset(("Reduce", "Gather", "Gatherv"))
FROM_ROOT = frozenset(("Bcast", "Scatter", "Scatterv"))
PREFIX = frozenset(("Scan", "Exscan"))
_BLOCKING = ALL_TO_ALL | TO_ROOT | FROM_ROOT | PREFIX
COLLECTIVES = _BLOCKING | {f"I{name[0].lower()}{name[1:]}" for name in _BLOCKING}


def blocking_form(function: str) -> str:
    """The name of the blocking form of a non-blocking collective; others as they are."""
    if function in _BLOCKING or function not in COLLECTIVES:
        return function
    return function[1].upper() + function[2:]


def chosen(functions: Iterable[str], names: Iterable[str]) -> npt.NDArray[np.bool_]:
    """For each function of a trace, whether it is one of ``names``."""
    wanted = frozenset(names)
    return np.array([function in wanted for function in functions], dtype=bool)
