"""States of a timeline: kinds of MPI functions that share a colour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# In the order of the legend; the theme has their colours in the same order.
STATES = (
    "Send",
    "Receive",
    "Collective",
    "Wait and test",
    "Barrier",
    "Other MPI",
    "One-sided",
    "Files",
)
_COLLECTIVES = (
    *("bcast", "reduce", "gather", "scatter", "alltoall", "scan", "allreduce", "allgather"),
    *("neighbor_", "exscan"),
)
_ONE_SIDED = ("put", "get", "accumulate", "rput", "rget", "raccumulate", "fetch_and_op")
_WINDOWS = ("win_", "compare_and_swap", "get_accumulate", "rget_accumulate")


def state_of(function: str) -> int:
    """The index in `STATES` of a function's state; the name is without ``MPI_``."""
    return STATES.index(_state(function.lower().removesuffix("_c")))


def _state(name: str) -> str:
    immediate = name.removeprefix("i")
    if name.startswith("file_"):
        return "Files"
    if name in ("barrier", "ibarrier", "win_fence"):
        return "Barrier"
    if name.startswith(_WINDOWS) or name in _ONE_SIDED:
        return "One-sided"
    if name.startswith(("wait", "test", "parrived", "request_get_status")):
        return "Wait and test"
    if name.endswith("_init") or name in ("reduce_local", "init", "finalize"):
        return "Other MPI"
    if "recv" in name or "probe" in name or name == "start_receive":
        return "Receive"
    if name.endswith("send") or name.startswith(("start", "pready")):
        return "Send"
    if name.startswith(_COLLECTIVES) or immediate.startswith(_COLLECTIVES):
        return "Collective"
    return "Other MPI"


def states_of(functions: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The state of each function."""
    return np.array([state_of(name) for name in functions], np.uint8)
