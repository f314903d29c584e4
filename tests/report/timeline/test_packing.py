"""Variable-length integers and zigzag."""

from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.report.timeline.packing import Packed, base64_text, varints, zigzag
from timeline_page import unzigzag
from timeline_page import varints as read_varints


@given(st.lists(st.integers(0, 2**62)))
def test_integers_are_read_back(values: list[int]) -> None:
    packed = varints(np.array(values, np.int64))
    assert read_varints(packed, 0, len(values)) == values
    assert len(packed) == sum(max(-(-value.bit_length() // 7), 1) for value in values)


@given(st.lists(st.integers(-(2**61), 2**61)))
def test_signed_integers_are_read_back(values: list[int]) -> None:
    assert [unzigzag(int(value)) for value in zigzag(values)] == values


def test_known_bytes() -> None:
    assert varints([0, 1, 127, 128, 300, 16384]) == bytes.fromhex("00 01 7f 8001 ac02 808001")
    assert list(zigzag([0, -1, 1, -2, 2])) == [0, 1, 2, 3, 4]
    assert base64_text(b"assay") == "YXNzYXk="


def test_sections_are_in_order() -> None:
    packed = Packed()
    packed.unsigned("a", [1, 200])
    packed.signed("b", [-1])
    packed.octets("c", np.array([[7, 8]], np.uint8))
    assert packed.sections == [
        {"name": "a", "kind": "unsigned", "count": 2, "bytes": 3},
        {"name": "b", "kind": "signed", "count": 1, "bytes": 1},
        {"name": "c", "kind": "bytes", "count": 2, "bytes": 2},
    ]
    assert zlib.decompress(packed.compressed()) == bytes([1, 200, 1, 1, 7, 8])
