"""Numbers of short types as bits, all of them, against NumPy and by their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from check_program import SANITIZABLE, CheckProgram

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]
PROGRAM = CheckProgram("numbers_check.cpp", (), SANITIZABLE)


def table(exponent_bits: int, stored_bits: int, bias: int) -> list[tuple[float, int, int]]:
    """Of all bits below the sign: the number, and the bits of it and of its negative."""
    [words] = PROGRAM.ask(f"all {exponent_bits} {stored_bits} {bias}")
    numbers = [float.fromhex(word) for word in words[::3]]
    return list(zip(numbers, map(int, words[1::3]), map(int, words[2::3]), strict=True))


def assert_there_and_back(found: list[tuple[float, int, int]]) -> None:
    for bits, (_, again, negative) in enumerate(found):
        assert again == bits
        assert negative == (bits | len(found) if bits else 0)


def test_halves_are_numpys() -> None:
    found = table(5, 10, 15)
    expected = np.arange(1 << 15, dtype=np.uint16).view(np.float16).astype(float)
    assert np.array_equal([number for number, *_ in found], expected, equal_nan=True)
    assert_there_and_back(found)


def test_bfloat16_is_the_upper_half_of_a_single() -> None:
    found = table(8, 7, 127)
    with np.errstate(invalid="ignore"):  # NaN
        expected = (np.arange(1 << 15, dtype=np.uint32) << 16).view(np.float32).astype(float)
    assert np.array_equal([number for number, *_ in found], expected, equal_nan=True)
    assert_there_and_back(found)


@pytest.mark.parametrize("bias", [7, 8])
def test_eight_bits_follow_their_definition(bias: int) -> None:
    found = table(4, 3, bias)
    # The largest exponent has numbers in this type; the data that are multiplied are below it.
    for bits, (number, *_) in enumerate(found[: 15 << 3]):
        exponent, stored = bits >> 3, bits & 7
        whole = stored if exponent == 0 else 8 + stored
        assert number == math.ldexp(whole, max(exponent, 1) - bias - 3)
    assert_there_and_back(found)
