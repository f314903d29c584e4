"""``[[expect]]`` of ``assay.toml``: the values that a site expects of its machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from assay.errors import AssayError
from assay.toml import KeyPath, TomlDocument
from assay.units import listed, parse_quantity

# Number of earlier runs that ``like = "history"`` needs.
FEWEST_RUNS = 5
# The relative tolerance of a value without a stated tolerance.
TOLERANCE = 0.05


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An expected value of each cell that a pattern selects."""

    #: A kernel, in which ``*``, ``?`` and ``[…]`` match other characters, and words such as
    #: ``class=A`` or ``nodes=2`` that its parameters and placement must match: "npb.* class=B".
    cells: str
    #: Metric of the value; None is the kernel's headline metric.
    metric: str | None = None
    #: Expected value, with a unit or in the metric's base unit.
    value: float | str | None = None
    #: Share of the value by which a result may be worse; 5% by default.
    tolerance: float | str | None = None
    #: Share of the value by which a result may be better; None without a limit.
    better: float | str | None = None
    #: ``"history"``: earlier runs of this machine give the value and the tolerance.
    like: Literal["history"] | None = None
    #: File and line, set when the file is read.
    where: str = ""

    @property
    def worse_share(self) -> float:
        """The tolerance as a share of the value."""
        return _share(self.tolerance, self.where, TOLERANCE)

    @property
    def better_share(self) -> float | None:
        """The limit for better results as a share of the value; None without one."""
        return None if self.better is None else _share(self.better, self.where, 0.0)


def checked_expectations(
    document: TomlDocument, found: tuple[Expectation, ...]
) -> tuple[Expectation, ...]:
    """The expectations of a config, with their lines. Raises AssayError for contradictions."""
    checked = []
    for index, each in enumerate(found):
        path: list[str | int] = ["expect", index]
        if (each.value is None) == (each.like is None):
            raise document.error(
                path,
                "An expectation needs exactly one of 'value' and 'like'.",
                'Write for example value = "180 GB/s", or like = "history".',
            )
        if each.like is not None and (each.tolerance, each.better, each.metric) != (None,) * 3:
            raise document.error(
                path,
                "With 'like', earlier runs give the tolerance for the kernel's first metric.",
                "Remove 'tolerance', 'better' and 'metric', or state a value.",
            )
        if each.where:
            raise document.error([*path, "where"], "There is no key 'expect.where'.", "Remove it.")
        check_pattern(document, [*path, "cells"], each.cells)
        each = msgspec.structs.replace(each, where=document.where(path))
        if not 0 <= each.worse_share < 1 or not (each.better_share or 0.0) >= 0:
            raise document.error([*path, "tolerance"], "A tolerance is a share, such as 5%.")
        checked.append(each)
    return tuple(checked)


def _share(value: float | str | None, where: str, default: float) -> float:
    return default if value is None else float(parse_quantity(value, "1", where=where))


def check_pattern(document: TomlDocument, path: KeyPath, pattern: str) -> None:
    """Raise AssayError at ``path`` unless the pattern is a kernel and words with ``=``."""
    words = pattern.split()
    if not words or not all("=" in word for word in words[1:]):
        raise document.error(
            path,
            f"'{pattern}' selects no cells.",
            'Write a kernel and words as in a plan: "npb.cg class=A ppn=2".',
        )


def unmatched(pattern: str, metric: str, metrics: Iterable[str], where: str) -> AssayError:
    """The error for a metric that a selected cell doesn't have. ``metrics``: the metrics that it
    has."""
    return AssayError(
        f"The cells '{pattern}' have no metric '{metric}'.",
        where=where,
        fix=f"They have {listed(list(metrics))}.",
    )
