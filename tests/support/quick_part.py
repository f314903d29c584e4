"""Variants of a test: the first in ``make test``, the others among the long tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_quickly(variants: Iterable[Any], quick: int = 1) -> list[Any]:
    """Parameters of a test; those after the first ``quick`` ones are marked ``long``.

    A variant is one value, or a tuple of the values of several arguments.
    """
    return [
        each if place < quick else pytest.param(*_values(each), marks=pytest.mark.long)
        for place, each in enumerate(variants)
    ]


def _values(variant: Any) -> tuple[Any, ...]:
    return variant if type(variant) is tuple else (variant,)
