"""Contradictions of a contract: between commitments, and between a commitment and the machine."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import combinations

from assay.acceptance.contract import Commitment, PromisedRange, WrittenCommitment
from assay.errors import nearest
from assay.kernels import known_kernel
from assay.kernels.catalogue import Parameter
from assay.model.placement import Placement
from assay.toml import KeyPath, TomlDocument
from assay.units import counted, whole_number

_PLACES = (*Placement.__struct_fields__, "ranks", "toolchain")


def check_words(
    document: TomlDocument, path: KeyPath, written: WrittenCommitment, nodes: int | None
) -> None:
    """Raise AssayError for words of a pattern that no cell of its kernel has, and for more nodes
    than the machine's."""
    name, *words = written.cells.split()
    kernel = known_kernel(name)
    where = [*path, "cells"]
    known = {each.name: each for each in kernel.parameters} if kernel is not None else {}
    used = written.nodes_used
    for word in words:
        key, _, value = word.partition("=")
        if kernel is not None and key not in known and key not in _PLACES:
            raise document.error(
                where,
                f"'{name}' has no parameter '{key}', and it is not a placement word.",
                nearest(key, (*known, *_PLACES)),
            )
        if key in known and not _is_possible(known[key], value):
            choices = [str(choice) for choice in known[key].choices or ()]
            raise document.error(
                where, f"'{key}' of '{name}' can't be '{value}'.", nearest(value, choices)
            )
        if key == "nodes":
            used = whole_number(value)
    if written.per == "node" and used not in (None, 1):
        raise document.error(
            where,
            f"The commitment is for each node, but its cells use {used} nodes.",
            'Remove per = "node", or measure the cells on one node.',
        )
    if used is not None and nodes is not None and used > nodes:
        raise document.error(
            where if used != written.nodes_used else [*path, "nodes_used"],
            f"The commitment uses {used} nodes, but the machine has {nodes}.",
            f"Write at most {counted(nodes, 'node')}, or correct [machine].",
        )


def _is_possible(parameter: Parameter, value: str) -> bool:
    """Whether a parameter with a list of values has one that the word selects."""
    choices = [str(choice) for choice in parameter.choices or ()]
    return not choices or any(fnmatchcase(choice, value) for choice in choices)


def check_pairs(document: TomlDocument, commitments: tuple[Commitment, ...]) -> None:
    """Raise AssayError for two commitments that repeat each other, or that no cell can meet."""
    for one, other in _pairs(commitments):
        path: list[str | int] = ["commitment", other.number - 1]
        line = one.where.rpartition(":")[2]
        if _words(one) == _words(other):
            raise document.error(
                path,
                f"The commitment contradicts or repeats the one in line {line}: both are about "
                f"'{other.cells}'.",
                "Keep one of the two, or write one commitment with 'within'.",
            )
        if _exclude(one, other):
            raise document.error(
                path,
                f"The commitment contradicts the one in line {line}: no cell of "
                f"'{max(one.cells, other.cells, key=len)}' can meet both.",
                "Correct the promised values, or the cells of one of the two.",
            )


def _pairs(commitments: tuple[Commitment, ...]) -> Iterator[tuple[Commitment, Commitment]]:
    """Commitments on the same kernel and metric, one of which selects all cells of the other."""
    for one, other in combinations(commitments, 2):
        same = (_kernel(one), one.metric, one.per) == (_kernel(other), other.metric, other.per)
        if same and (_words(one) <= _words(other) or _words(other) <= _words(one)):
            yield one, other


def _kernel(commitment: Commitment) -> str:
    return commitment.cells.split()[0]


def _words(commitment: Commitment) -> frozenset[str]:
    return frozenset(commitment.cells.split()[1:])


def _exclude(one: Commitment, other: Commitment) -> bool:
    """Whether the promised ranges have no value in common."""
    kernel = known_kernel(_kernel(one))
    metric = kernel.metric(one.metric or kernel.headline) if kernel is not None else None
    if metric is None:
        return False
    ranges = [one.limits(metric.unit), other.limits(metric.unit)]
    return _above(*ranges) or _above(*reversed(ranges))


def _above(one: PromisedRange, other: PromisedRange) -> bool:
    return one.low is not None and other.high is not None and one.low > other.high
