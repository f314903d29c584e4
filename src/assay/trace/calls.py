"""Properties of MPI functions that the analysis of traces needs. Names without ``MPI_``.

A started persistent request appears as ``Start_send`` or ``Start_receive``, a request of
partitioned communication as ``Start_psend`` or ``Start_precv``, and a started persistent collective
by its function, as ``Start_Allreduce``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

BOTH_WAYS = frozenset(("Sendrecv", "Sendrecv_replace", "Isendrecv", "Isendrecv_replace"))
BLOCKING_SENDS = frozenset(("Send", "Ssend", "Bsend", "Rsend"))
PARTITIONED = frozenset(("Start_psend", "Start_precv"))
SENDS = BOTH_WAYS | BLOCKING_SENDS | {
    "Isend", "Issend", "Ibsend", "Irsend", "Start_send", "Start_psend",
}  # fmt: skip
# Sends that don't wait for the receiver, whatever the size.
BUFFERED = frozenset(("Bsend", "Ibsend"))
# Sends that wait for the receiver, whatever the size.
SYNCHRONOUS = frozenset(("Ssend", "Issend"))
RECEIVES = frozenset(("Recv", "Mrecv", "Irecv", "Imrecv", "Start_receive", "Start_precv"))
# Receives of a message that a matched probe took.
MATCHED_RECEIVES = frozenset(("Mrecv", "Imrecv"))
MATCHED_PROBES = frozenset(("Mprobe", "Improbe"))
PROBES = MATCHED_PROBES | {"Probe", "Iprobe"}
# The call that hands over a part of a partitioned send.
READY = frozenset(("Pready", "Pready_range", "Pready_list"))
WAITS = frozenset(("Wait", "Waitall", "Waitany", "Waitsome"))
TESTS = frozenset(("Test", "Testall", "Testany", "Testsome"))

# Collectives at whose end every rank knows that all have begun.
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
_PERSISTENT = "Start_"


def _immediate(name: str) -> str:
    return f"I{name[0].lower()}{name[1:]}"


COLLECTIVES = (
    _BLOCKING
    | {_immediate(name) for name in _BLOCKING}
    | {f"{_PERSISTENT}{name}" for name in _BLOCKING}
)
# Collective calls at whose end a rank needn't know that all have begun, though most calls wait
# until then. Some are collective over a window or a file, which has the communicator it is made
# from.
_NEIGHBOURS = frozenset(
    ("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv",
     "Neighbor_alltoallw")
)  # fmt: skip
_COMMUNICATORS = frozenset(
    ("Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create",
     "Cart_create", "Cart_sub", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent",
     "Comm_free", "Comm_disconnect", "Comm_set_info", "Intercomm_merge", "Comm_spawn",
     "Comm_spawn_multiple", "Comm_accept", "Comm_connect")
)  # fmt: skip
_WINDOWS = frozenset(
    ("Win_fence", "Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic",
     "Win_free", "Win_set_info")
)  # fmt: skip
_FILES = frozenset(
    ("File_open", "File_close", "File_set_view", "File_set_size", "File_preallocate", "File_sync",
     "File_set_atomicity", "File_set_info", "File_read_all", "File_write_all", "File_read_at_all",
     "File_write_at_all", "File_read_ordered", "File_write_ordered")
)  # fmt: skip
FINALIZE = "Finalize"
_LATER = {
    **{_immediate(name): name for name in _NEIGHBOURS},
    **{f"{_PERSISTENT}{name}": name for name in _NEIGHBOURS},
    **{name.replace("dup", "idup"): name for name in ("Comm_dup", "Comm_dup_with_info")},
    **{
        name.replace("_read", "_iread").replace("_write", "_iwrite"): name
        for name in ("File_read_all", "File_write_all", "File_read_at_all", "File_write_at_all")
    },
}  # fmt: skip
# Split collectives: the calls that begin and end them.
SPLIT = {
    f"File_{way}_begin": f"File_{way}_end"
    for way in ("read_all", "write_all", "read_at_all", "write_at_all", "read_ordered",
                "write_ordered")
}  # fmt: skip
MEETINGS = (
    _NEIGHBOURS | _COMMUNICATORS | _WINDOWS | _FILES | _LATER.keys() | SPLIT.keys() | {FINALIZE}
)
# Calls of all members of the communicator that they make, regardless of the communicator that they
# start from.
MAKERS = frozenset(
    ("Intercomm_create", "Intercomm_create_from_groups", "Comm_create_group",
     "Comm_create_from_group", "Comm_accept", "Comm_connect")
)  # fmt: skip
# Calls whose tag is the communicator that they made.
MAKING = MAKERS | _COMMUNICATORS | {"Comm_idup", "Comm_idup_with_info", "Comm_join"}
# Calls that don't wait for other ranks, however long they take.
LOCAL = frozenset(
    ("Isend", "Issend", "Ibsend", "Irsend", "Irecv", "Imrecv", "Isendrecv", "Isendrecv_replace",
     "Bsend", "Start", "Start_send", "Start_receive", "Start_psend", "Start_precv",
     "Start_collective", "Send_init", "Ssend_init", "Bsend_init", "Rsend_init", "Recv_init",
     "Psend_init", "Precv_init", "Request_free", "Cancel", "Pready", "Pready_range", "Pready_list",
     "Comm_set_name", "Win_sync", "File_seek", "File_read", "File_write", "File_read_at",
     "File_write_at", "File_iread", "File_iwrite", "File_iread_at", "File_iwrite_at",
     "File_iread_shared", "File_iwrite_shared", "Rput", "Rget", "Raccumulate", "Rget_accumulate",
     *READY)
)  # fmt: skip


def blocking_form(function: str) -> str:
    """The name of the blocking form of a non-blocking or persistent collective; other names
    unchanged."""
    if function in _LATER:
        return _LATER[function]
    if function in _BLOCKING or function not in COLLECTIVES:
        return function
    if function.startswith(_PERSISTENT):
        return function.removeprefix(_PERSISTENT)
    return function[1].upper() + function[2:]


def started_form(initialised: str) -> str | None:
    """The name of the start of a persistent collective, from the call that made it
    (Allreduce_init)."""
    name = f"{_PERSISTENT}{initialised.removesuffix('_init')}"
    known = name in COLLECTIVES or name in _LATER
    return name if initialised.endswith("_init") and known else None


def begins_request(function: str) -> bool:
    """Whether a collective call is complete only when its request is."""
    return function in _LATER or (function in COLLECTIVES and function not in _BLOCKING)


def chosen(functions: Iterable[str], names: Iterable[str]) -> npt.NDArray[np.bool_]:
    """For each function of a trace, whether it is one of ``names``."""
    wanted = frozenset(names)
    return np.array([function in wanted for function in functions], dtype=bool)
