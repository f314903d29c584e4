"""What the time of a placement is made of: one record for each component.

A record holds the component's place in arrays, its name in figures and JSON, its heading in tables,
and what an answer says where it is the cause of a loss or of a saving.
"""

from __future__ import annotations

from enum import Enum


class Component(Enum):
    """A component of a placement's time; its value is its name.

    ``index``: its column in arrays (a component is an index into them). ``heading``: of its column
    in tables. ``cause``: what an answer says of a placement that loses time by it; None where it is
    never called a cause. ``saving``: what it says of a placement that saves time by it. ``hue``:
    its place among the colours of figures, which has the components of every placement first; None:
    grey. ``of_threads``: only placements with threads or shared cores have it.
    """

    COMPUTE = ("compute", "Computing", "smaller pieces take more computing in all", None, 0)
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
        "hardware threads use what a core's one thread leaves idle",
        7,
        True,
    )
    THREADS = ("threads", "Threads", None, None, 6, True)
    IMBALANCE = (
        "imbalance",
        "Imbalance",
        "ranks wait for the one that computes most",
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
    # Only as a cause: messages, where those within nodes and those between them can't be separated.
    MESSAGES = (
        "messages",
        "Messages",
        "messages, within nodes and between them",
        "messages take less",
        None,
    )

    heading: str
    cause: str | None
    saving: str | None
    hue: int | None
    of_threads: bool
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


# What a placement's time is made of, in this order. They add up to the whole; what caches and
# hardware threads save is negative.
COMPONENTS: tuple[Component, ...] = tuple(one for one in Component if one is not Component.MESSAGES)
COMPUTE, CONTENTION, CACHE = Component.COMPUTE, Component.CONTENTION, Component.CACHE
SHARED, THREADS, IMBALANCE = Component.SHARED, Component.THREADS, Component.IMBALANCE
WITHIN, BETWEEN, UNEXPLAINED = Component.WITHIN, Component.BETWEEN, Component.UNEXPLAINED
MESSAGES = Component.MESSAGES
