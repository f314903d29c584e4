"""A lab that exists for the duration of a ``with`` block, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from assay.errors import AssayError
from assay.lab import network
from assay.lab.cluster import Cluster, remove_leftovers
from assay.lab.names import process_start
from assay.lab.spec import MOST_HOSTS, MOST_RAILS, Spec, Wire
from assay.topologies.kinds import Single

GIGABIT = 125e6  # B/s
FAST_ETHERNET = 12.5e6
_serial = itertools.count(1)


def new_name() -> str:
    """``assay-lab-PID-START-SERIAL``: unique on this machine, also after the owner's end.

    START, the clock ticks from boot to the owner's start, distinguishes it from a later process
    with the same id.
    """
    pid = os.getpid()
    return f"assay-lab-{pid}-{process_start(pid)}-{next(_serial)}"


class VirtualCluster(Cluster):
    """``with VirtualCluster(2, rates=(GIGABIT, FAST_ETHERNET)) as cluster: …``

    Each host has one adapter per rate (``eth0``, ``eth1`` …), which sends at most that many B/s;
    None is no limit. ``spec`` describes any other cluster instead. The hosts share this machine's
    memory and files, and divide its cores if there are enough. Raises AssayError if it can't be
    created. It is removed at the end, also after an exception; the remains of a killed process are
    removed by the next cluster, or by ``remove_leftovers``.
    """

    def __init__(
        self,
        hosts: int = 2,
        *,
        rates: Sequence[float | None] = (GIGABIT,),
        spec: Spec | None = None,
    ) -> None:
        if spec is None:
            if not 1 <= hosts <= MOST_HOSTS or not 1 <= len(rates) <= MOST_RAILS:
                raise ValueError(
                    f"1 to {MOST_HOSTS} hosts with 1 to {MOST_RAILS} adapters each, "
                    f"not {hosts} with {len(rates)}"
                )
            spec = Spec(Single(hosts), tuple(Wire(rate) for rate in rates))
        name = new_name()
        folder = Path(tempfile.gettempdir()) / name
        super().__init__(spec, name, f"{name}-", folder, sorted(os.sched_getaffinity(0)))
        self.rates = tuple(wire.rate for wire in spec.adapters)

    def __enter__(self) -> VirtualCluster:
        problem = network.why_not()
        if problem:
            raise AssayError(problem, fix="Run as root, on a machine with iproute2.")
        remove_leftovers()
        try:
            self.folder.mkdir(mode=0o700)  # fails if another user has created it in /tmp
            self.make()
        except BaseException:
            with contextlib.suppress(AssayError):
                self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()
