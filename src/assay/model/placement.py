"""Where and how a cell runs: nodes, ranks per node, threads, rank order, binding, adapter,
devices.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

import msgspec

Value = int | float | str
BINDINGS = ("compact", "spread", "per-numa", "near-device", "none")
# One of BINDINGS, or for example "numa:1": only the CPUs of this NUMA node.
Binding = Annotated[
    str, msgspec.Meta(pattern=r"^(compact|spread|per-numa|near-device|none|numa:[0-9]{1,4})$")
]

# Whether ranks and threads share cores, one per hardware thread.
SMT = ("off", "on")
Smt = Literal["off", "on"]


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where and how a cell runs."""

    nodes: int = 1
    ppn: int = 1
    threads: int = 1
    #: Numbering of the ranks: one of ``rank_order.ORDERS``, or the seat of each rank ("0,2,1,3").
    order: str = "block"
    binding: Binding = "compact"
    #: The network adapter to send over, or several ("eth0,eth1"); None leaves the choice to the MPI
    #: library.
    adapter: str | None = None
    #: Choice of hosts if more than ``nodes`` are available: 0 for the first ones, k for the k-th
    #: random draw.
    node_set: int = 0
    #: Off: one thread per core. On: one thread per hardware thread.
    smt: Smt = "off"
    #: Accelerators of a node that its ranks use, rank after rank and from the first one again; 0:
    #: each rank uses its own, if it uses any.
    devices: int = 0

    @property
    def ranks(self) -> int:
        """The number of MPI processes on all nodes."""
        return self.nodes * self.ppn

    def content(self, always: Collection[str]) -> dict[str, object]:
        """The fields by name: the fields in ``always``, and other fields that differ from their
        defaults."""
        plain = Placement()
        return {
            name: value
            for name in self.__struct_fields__
            if (value := getattr(self, name)) != getattr(plain, name) or name in always
        }

    @property
    def numa_node(self) -> int | None:
        """The NUMA node that ranks are bound to; None if the binding names none."""
        kind, _, number = self.binding.partition(":")
        return int(number) if kind == "numa" else None
