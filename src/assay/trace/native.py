"""The native library that decodes traces and orders their times (native/trace/decoder)."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.kernels.builds.trace_decoder import build_trace_decoder

# Columns in the order of `Columns` in native/trace/decoder/decoder.cpp.
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


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_trace_decoder()))
    pointer, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    library.assay_decode.restype = number
    library.assay_decode.argtypes = [ctypes.c_char_p, pointer, number, pointer]
    library.assay_checksum.restype = ctypes.c_uint32
    library.assay_checksum.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
    library.assay_order.restype = number
    library.assay_order.argtypes = [pointer, pointer, number, pointer, pointer, real, real]
    return library


def checksum(data: bytes, begin: int, length: int) -> int:
    """FNV-1a of a part of ``data``."""
    return int(_library().assay_checksum(data, begin, length))


def decode(data: bytes, blocks: npt.NDArray[np.uint64], columns: Columns) -> int:
    """Decode blocks (rows of offset, length, events, requests, completions) of ``data`` into the
    columns, which have room for all; how many blocks could be decoded.
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
    """Move points of ``time`` (s, in place) so that each is later than those that it needs by
    ``after`` s; how many could be placed.

    ``first``: where the points of each rank begin, and the end. Point ``i`` needs
    ``needs[need_begin[i]:need_begin[i + 1]]``. Corrections shrink by ``decay`` per s.
    """
    arrays = [np.ascontiguousarray(one) for one in (first, need_begin, needs)]
    pointers = [one.ctypes.data for one in arrays]
    return int(
        _library().assay_order(
            time.ctypes.data, pointers[0], len(first) - 1, pointers[1], pointers[2], after, decay
        )
    )
