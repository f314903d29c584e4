"""The components of the time of a placement, one record for each.

A record holds the component's index in arrays, its name in figures and JSON, its heading in tables,
and the text of an answer that names it as the cause of a loss or a saving.
"""

from __future__ import annotations

from enum import Enum


class Component(Enum):
    """A component of a placement's time; its value is its name."""

    COMPUTE = ("compute", "Computing", "smaller pieces need more computing in total", None, 0)
    CONTENTION = (
        "memory contention",
        "Memory contention",
        "ranks that share memory take {slowdown:.2f} times as long to compute",
        "its cores wait less for memory",
        1,
    )
    CACHE = ("cache effect", "Cache effect", None, "more of its data stay in caches", 2)
    SHARED = (
        "shared cores",
        "Shared cores",
        None,
        "hardware threads use resources of a core that one thread leaves idle",
        7,
        True,
    )
    THREADS = ("threads", "Threads", None, None, 6, True)
    IMBALANCE = (
        "imbalance",
        "Imbalance",
        "ranks wait for the rank that computes most",
        "its ranks wait less for each other",
        3,
    )
    WITHIN = (
        "messages within nodes",
        "Within nodes",
        "messages within the node",
        "messages within the node take less",
        4,
    )
    BETWEEN = (
        "messages between nodes",
        "Between nodes",
        "messages between nodes",
        "messages between nodes take less",
        5,
    )
    UNEXPLAINED = ("unexplained", "Unexplained", None, None, None)
    # Only as a cause: messages, if those within and between nodes can't be separated.
    MESSAGES = (
        "messages",
        "Messages",
        "messages, within nodes and between them",
        "messages take less",
        None,
    )

    #: Heading of its column in tables.
    heading: str
    #: Text for a placement that loses time by it; None if it is never a cause.
    cause: str | None
    #: Text for a placement that saves time by it.
    saving: str | None
    #: Index of its colour in figures, counting the components of all placements first; None: grey.
    hue: int | None
    #: Whether only placements with threads or shared cores have it.
    of_threads: bool
    #: Its column in arrays (a component is an index into them).
    index: int

    def __new__(
        cls,
        name: str,
        heading: str,
        cause: str | None,
        saving: str | None,
        hue: int | None,
        of_threads: bool = False,
    ) -> Component:
        """A member with its record; ``index`` counts from 0."""
        member = object.__new__(cls)
        member._value_ = name
        member.heading, member.cause, member.saving = heading, cause, saving
        member.hue, member.of_threads = hue, of_threads
        member.index = len(cls.__members__)
        return member

    def __index__(self) -> int:
        """Its column in arrays."""
        return self.index

    def __str__(self) -> str:
        """Its name."""
        return str(self.value)


# The components of a placement's time, in this order. They add up to the total; savings by caches
# and hardware threads are negative.
COMPONENTS: tuple[Component, ...] = tuple(one for one in Component if one is not Component.MESSAGES)
COMPUTE, CONTENTION, CACHE = Component.COMPUTE, Component.CONTENTION, Component.CACHE
SHARED, THREADS, IMBALANCE = Component.SHARED, Component.THREADS, Component.IMBALANCE
WITHIN, BETWEEN, UNEXPLAINED = Component.WITHIN, Component.BETWEEN, Component.UNEXPLAINED
MESSAGES = Component.MESSAGES
