"""What a plan is about: its topics are reported in the order in which it lists their kernels.

A plan begins with what it was made for; what it measures besides (STREAM beside benchmarks, to
explain their scaling) comes later. The same holds for plans of users and for single kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.model.plan import Plan
from assay.questions.common.question import Topic


def plan_order(topics: Sequence[Topic[Any]], plan: Plan) -> tuple[str, ...]:
    """The names of the topics in the order of the plan's first cells of their kernels.

    Topics without kernels of their own follow the one before them in ``topics``, and those whose
    kernels the plan lacks are last.
    """
    first: dict[str, int] = {}
    for place, cell in enumerate(plan.cells):
        first.setdefault(cell.kernel, place)
    last = len(plan.cells)
    places: dict[str, int] = {}
    before = 0
    for topic in topics:
        if topic.kernels:
            before = min(
                (place for name, place in first.items() if name.startswith(topic.kernels)),
                default=last,
            )
        places[topic.name] = before
    return tuple(sorted(places, key=places.__getitem__))


def in_order(topics: Sequence[Topic[Any]], order: Sequence[str]) -> list[Topic[Any]]:
    """The topics in an order of their names; in their own where it is empty."""
    places = {name: place for place, name in enumerate(order)}
    return sorted(topics, key=lambda topic: places.get(topic.name, len(places)))
