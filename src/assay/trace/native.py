"""The native library that decodes traces and runs loops over their events or over nodes of
execution graphs (native/trace/decoder).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.kernels.builds.trace_decoder import build_trace_decoder

# Columns, in the order of `Columns` in native/trace/decoder/decoder.cpp.
COLUMNS: tuple[tuple[str, type], ...] = (
    ("begin", np.int64), ("end", np.int64), ("function", np.uint16), ("site", np.uint32),
    ("communicator", np.uint32), ("peer", np.int32), ("tag", np.int32), ("source", np.int32),
    ("source_tag", np.int32), ("sent", np.int64), ("received", np.int64), ("request", np.int64),
    ("completed_start", np.int64), ("completed_request", np.int64), ("count", np.uint32),
    ("thread", np.uint16), ("row", np.int64), ("room", np.int64),
)  # fmt: skip
Columns = dict[str, npt.NDArray[Any]]


class _Columns(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name, _ in COLUMNS]


# A cost that `assay_origins` returns: rank, kind, sites before and after, direct and handed-on
# seconds.
_COST = ctypes.CFUNCTYPE(
    None, *[ctypes.c_int64] * 4, ctypes.c_double, ctypes.c_double
)  # fmt: skip
OriginCost = tuple[int, int, int, int, float, float]


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_trace_decoder()))
    pointer, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    library.assay_decode.restype = number
    library.assay_decode.argtypes = [ctypes.c_char_p, pointer, number, pointer]
    library.assay_checksum.restype = ctypes.c_uint32
    library.assay_checksum.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
    library.assay_origins.restype = real
    library.assay_origins.argtypes = [pointer, pointer, pointer, _COST]
    library.assay_replay.restype = None
    library.assay_replay.argtypes = [pointer, pointer, pointer, pointer, pointer, number]
    library.assay_path.restype = number
    library.assay_path.argtypes = [pointer, pointer, pointer, pointer, number, pointer, pointer]
    library.assay_topological.restype = number
    library.assay_topological.argtypes = [pointer, pointer, number, pointer]
    library.assay_order.restype = number
    library.assay_order.argtypes = [pointer, pointer, number, pointer, pointer, real, real]
    return library


def checksum(data: bytes, begin: int, length: int) -> int:
    """FNV-1a of a part of ``data``."""
    return int(_library().assay_checksum(data, begin, length))


def decode(data: bytes, blocks: npt.NDArray[np.uint64], columns: Columns) -> int:
    """Decode blocks (rows of offset, length, events, requests, completions) of ``data`` into the
    columns, which have room for all. Returns the number of blocks that could be decoded.
    """
    pointers = _Columns(*(columns[name].ctypes.data for name, _ in COLUMNS))
    table = np.ascontiguousarray(blocks)
    return int(_library().assay_decode(data, table.ctypes.data, len(table), ctypes.byref(pointers)))


def put_in_order(
    time: npt.NDArray[np.float64],
    first: npt.NDArray[np.int64],
    need_begin: npt.NDArray[np.int64],
    needs: npt.NDArray[np.int64],
    after: float,
    decay: float,
) -> int:
    """Move points of ``time`` (s, in place) so that each is at least ``after`` s later than the
    points that it needs. Returns the number of points that could be placed.

    ``first``: index of each rank's first point, and the number of points. Point ``i`` needs
    ``needs[need_begin[i]:need_begin[i + 1]]``. Corrections shrink by ``decay`` per s.
    """
    arrays = [np.ascontiguousarray(one) for one in (first, need_begin, needs)]
    pointers = [one.ctypes.data for one in arrays]
    return int(
        _library().assay_order(
            time.ctypes.data, pointers[0], len(first) - 1, pointers[1], pointers[2], after, decay
        )
    )


@dataclass(frozen=True)
class OriginEvents:
    """``AssayEvents`` of native/trace/decoder/origins.cpp, without the number of ranks."""

    begin: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    rank: npt.NDArray[np.int32]
    site: npt.NDArray[np.uint32]
    waited: npt.NDArray[np.float64]
    number: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    rank_begin: npt.NDArray[np.float64]


@dataclass(frozen=True)
class OriginWaits:
    """``AssayWaits``, without their number."""

    event: npt.NDArray[np.int64]
    late: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]


@dataclass(frozen=True)
class OriginMoments:
    """``AssayMoments``, without the numbers of pairs and groups."""

    pair: npt.NDArray[np.int64]
    pair_begin: npt.NDArray[np.int64]
    pair_moment: npt.NDArray[np.float64]
    member: npt.NDArray[np.uint8]
    group_begin: npt.NDArray[np.int64]
    group_moment: npt.NDArray[np.float64]


def find_origins(
    events: OriginEvents, waits: OriginWaits, moments: OriginMoments
) -> tuple[list[OriginCost], float]:
    """The costs of delays, in no particular order, and the seconds of waiting without an origin."""
    kept: list[npt.NDArray[Any]] = []
    types: dict[str, type] = {"rank": np.int32, "site": np.uint32, "member": np.uint8}
    real = {"begin", "end", "waited", "rank_begin", "seconds", "pair_moment", "group_moment"}

    def packed(of: object, names: Sequence[str], *numbers: int) -> ctypes.Array[ctypes.c_int64]:
        """Structures of pointers and 64-bit numbers are passed as arrays of 64-bit numbers."""
        words = []
        for name in names:
            kind = types.get(name, np.float64 if name in real else np.int64)
            kept.append(np.ascontiguousarray(getattr(of, name), dtype=kind))
            words.append(kept[-1].ctypes.data)
        return (ctypes.c_int64 * (len(words) + len(numbers)))(*words, *numbers)

    event_names = ("begin", "end", "rank", "site", "waited", "number", "first", "rank_begin")
    all_events = packed(events, event_names, len(events.rank_begin))
    all_waits = packed(waits, ("event", "late", "seconds", "order"), len(waits.event))
    pairs = packed(moments, ("pair", "pair_begin", "pair_moment"), len(moments.pair))
    groups = packed(moments, ("member", "group_begin", "group_moment"), len(moments.member))
    all_moments = (ctypes.c_int64 * (len(pairs) + len(groups)))(*pairs, *groups)
    found: list[OriginCost] = []

    def tell(
        rank: int, kind: int, after: int, before: int, direct: float, handed_on: float
    ) -> None:
        found.append((rank, kind, after, before, direct, handed_on))

    unknown = _library().assay_origins(all_events, all_waits, all_moments, _COST(tell))
    return found, float(unknown)


def replay_times(
    along: npt.NDArray[np.int64],
    across: npt.NDArray[np.int64],
    along_cost: npt.NDArray[np.float64],
    across_cost: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """The time (s) of each node of an execution graph, given the other ends of its edges (-1:
    none)."""
    arrays = _packed(np.int64, along, across) + _packed(np.float64, along_cost, across_cost)
    times = np.empty(len(along))
    _library().assay_replay(*(one.ctypes.data for one in (*arrays, times)), len(along))
    return times


def longest_path(
    along: npt.NDArray[np.int64],
    across: npt.NDArray[np.int64],
    across_cost: npt.NDArray[np.float64],
    times: npt.NDArray[np.float64],
    last: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The longest path to a node, and whether each of its nodes was reached by a message."""
    arrays = _packed(np.int64, along, across) + _packed(np.float64, across_cost, times)
    path, reached = np.empty(last + 1, dtype=np.int64), np.empty(last + 1, dtype=np.bool_)
    length = _library().assay_path(
        *(one.ctypes.data for one in arrays), last, path.ctypes.data, reached.ctypes.data
    )
    return path[:length][::-1].copy(), reached[:length][::-1].copy()


def topological(
    one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64] | None:
    """A topological order of nodes with up to two edges each, given the edges' other ends (-1:
    none); None if there is a circle.
    """
    arrays = _packed(np.int64, one, other)
    order = np.empty(len(one), dtype=np.int64)
    done = _library().assay_topological(
        *(each.ctypes.data for each in arrays), len(one), order.ctypes.data
    )
    return order if done == len(one) else None


def _packed(kind: type, *arrays: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return [np.ascontiguousarray(one, dtype=kind) for one in arrays]
