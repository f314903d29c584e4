"""The trace of a program: every MPI call of every rank, in columns, with times on one clock.

Times are in s, sizes in bytes. docs/formats/trace.md documents its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints
from assay.errors import AssayError
from assay.trace.model import ProfiledRun, SourcePlace

NO_PEER = -1
PROC_NULL = -2
UNKNOWN_PEER = -3
NO_TAG = -1
NO_REQUEST = -1
UNKNOWN_BYTES = -1


@dataclass(frozen=True)
class Events:
    """The MPI calls of one rank, as arrays of equal length, sorted by ``begin``."""

    #: ``begin``, ``end``: s on the common clock.
    begin: Floats
    end: Floats
    #: ``function``, ``site``, ``communicator``: indices into the lists of the `Trace`.
    function: npt.NDArray[np.uint16]
    site: npt.NDArray[np.uint32]
    communicator: npt.NDArray[np.uint32]
    #: World rank of the receiver or of the actual source; of the root for rooted collectives; of
    #: the target in a window. `NO_PEER`, `PROC_NULL` (also for a cancelled receive) or
    #: `UNKNOWN_PEER` otherwise.
    peer: npt.NDArray[np.int32]
    #: Tag; `NO_TAG` if there is none. For Win_start and Win_post it is the number of the group; for
    #: Win_lock, 1 if the lock is exclusive; for calls that make a communicator, its number; for
    #: started persistent collectives, their number on the communicator.
    tag: npt.NDArray[np.int32]
    #: ``source``, ``source_tag``: source and tag of the receiving half of a call that both sends
    #: and receives (Sendrecv), whose ``peer`` and ``tag`` belong to its sending half. Otherwise
    #: `NO_PEER` and `NO_TAG`; a cancelled send has the source `PROC_NULL`.
    source: npt.NDArray[np.int32]
    source_tag: npt.NDArray[np.int32]
    #: ``sent``, ``received``: payload of the call, bytes. For Irecv, the bytes that arrived.
    #: `UNKNOWN_BYTES` if unknown, and as ``received`` of a test or probe that found nothing.
    sent: Ints
    received: Ints
    #: Number of the request that the call began, unique per rank; `NO_REQUEST` if none.
    request: Ints
    #: ``completed_start``, ``completed_request``: call ``i`` completed the requests
    #: ``completed_request[completed_start[i]:completed_start[i + 1]]``.
    completed_start: Ints
    completed_request: Ints
    #: Number of calls that this event represents (a loop of failed tests and probes).
    count: npt.NDArray[np.uint32]
    #: Number of the calling thread.
    thread: npt.NDArray[np.uint16]

    def __post_init__(self) -> None:
        """Raises AssayError if the columns differ in length."""
        length = len(self.begin)
        for field in fields(self):
            wanted = {"completed_start": length + 1, "completed_request": None}.get(
                field.name, length
            )
            found = len(getattr(self, field.name))
            if wanted is not None and found != wanted:
                raise AssayError(
                    f"The trace is damaged: column '{field.name}' has {found} entries instead of "
                    f"{wanted}."
                )

    def __len__(self) -> int:
        return len(self.begin)

    def first(self, number: int) -> Events:
        """The first calls."""
        columns = {
            field.name: getattr(self, field.name)[:number]
            for field in fields(self)
            if not field.name.startswith("completed")
        }
        starts = self.completed_start[: number + 1]
        return Events(
            **columns,
            completed_start=starts,
            completed_request=self.completed_request[: int(starts[-1])],
        )

    def completions(self) -> tuple[Ints, Ints]:
        """For each completed request, the index of the call that completed it, and the request."""
        calls = np.repeat(np.arange(len(self)), np.diff(self.completed_start))
        return calls, self.completed_request


@dataclass(frozen=True)
class Communicator:
    """A communicator. ``number`` identifies it on all ranks."""

    number: int
    #: World ranks in order. None: unknown, or an intercommunicator.
    members: tuple[int, ...] | None
    #: Number of the communicator that it was made from.
    parent: int | None
    #: Whether it is a communicator. False for the entry that represents none.
    real: bool = True

    @property
    def name(self) -> str:
        """Name of the communicator in texts."""
        return "MPI_COMM_WORLD" if self.number == 0 else f"communicator {self.number}"


@dataclass(frozen=True)
class RankTrace:
    """The events of one rank between ``begin`` (end of MPI_Init) and ``end`` (MPI_Finalize)."""

    rank: int
    host: str
    begin: float
    end: float
    #: Whether the trace reaches MPI_Finalize. Otherwise ``end`` is its last flush.
    complete: bool
    events: Events
    #: Time in which the rank's main thread could have run but had no CPU, s; None: unknown.
    cpu_wait: float | None = None

    @property
    def wall(self) -> float:
        """Seconds from ``begin`` to ``end``."""
        return self.end - self.begin


@dataclass(frozen=True)
class Trace:
    """The trace of a program."""

    run: ProfiledRun
    #: Traces of the ranks, in order of rank.
    ranks: tuple[RankTrace, ...]
    #: Names of functions, without ``MPI_``.
    functions: tuple[str, ...]
    communicators: tuple[Communicator, ...]
    sites: tuple[SourcePlace, ...]
    #: Bound of the error between the clocks of two hosts after correction, s.
    clock_error: float
    #: Time without recording on any rank (MPI_Pcontrol), s. All times exclude it.
    cut: float = 0.0
    #: Approximate number of calls after the end that weren't read, because there are too many.
    left_out: int = 0
    #: World ranks of the groups of windows' epochs, by number of the group.
    groups: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return sum(len(rank.events) for rank in self.ranks)

    def __iter__(self) -> Iterator[RankTrace]:
        return iter(self.ranks)

    @property
    def begin(self) -> float:
        """When the first rank left MPI_Init, s."""
        return min(rank.begin for rank in self.ranks)

    @property
    def end(self) -> float:
        """When the last rank reached MPI_Finalize, s."""
        return max(rank.end for rank in self.ranks)

    @property
    def cpu_wait(self) -> float | None:
        """Share of the ranks' time in which they had no CPU; None: unknown."""
        known = [rank for rank in self.ranks if rank.cpu_wait is not None]
        wall = sum(rank.wall for rank in known)
        return sum(rank.cpu_wait or 0.0 for rank in known) / wall if wall > 0.0 else None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host of each rank."""
        return tuple(rank.host for rank in self.ranks)
