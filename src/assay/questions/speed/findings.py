"""Findings on speed, by family of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.questions.common.confidence import is_broken
from assay.questions.common.question import Measured, Topic
from assay.questions.common.topics import find_topics, plan_order
from assay.questions.speed.arithmetic import findings as arithmetic
from assay.questions.speed.arithmetic.topic import TOPIC as ARITHMETIC
from assay.questions.speed.benchmarks.findings import BenchmarksFindings
from assay.questions.speed.benchmarks.topic import KERNELS as NPB_KERNELS
from assay.questions.speed.benchmarks.topic import TOPIC as BENCHMARKS
from assay.questions.speed.codes.findings import CodesFindings
from assay.questions.speed.codes.topic import TOPIC as CODES
from assay.questions.speed.devices import findings as devices
from assay.questions.speed.devices.topic import TOPIC as DEVICES
from assay.questions.speed.hpcg.findings import KERNEL as HPCG_KERNEL
from assay.questions.speed.hpcg.findings import HpcgFindings
from assay.questions.speed.hpcg.topic import TOPIC as HPCG
from assay.questions.speed.io500.findings import KERNEL as IO500_KERNEL
from assay.questions.speed.io500.findings import Io500Findings
from assay.questions.speed.io500.topic import TOPIC as IO500
from assay.questions.speed.linpack.findings import LinpackFindings
from assay.questions.speed.linpack.topic import KERNELS as LINPACK_KERNELS
from assay.questions.speed.linpack.topic import TOPIC as LINPACK
from assay.questions.speed.memory import access, bandwidth
from assay.questions.speed.memory.findings import MemoryFindings
from assay.questions.speed.memory.topic import TOPIC as MEMORY
from assay.questions.speed.messages import TOPIC as MESSAGES
from assay.questions.speed.messages import MessageFindings
from assay.questions.speed.storage import findings as storage
from assay.questions.speed.storage.topic import TOPIC as STORAGE
from assay.stats.core.model import CellSummary

# Topics in the order of the answer, unless the plan determines another order. Each topic has the
# name of a field of ``SpeedFindings``.
TOPICS: tuple[Topic[Any], ...] = (
    MEMORY,
    ARITHMETIC,
    DEVICES,
    LINPACK,
    HPCG,
    BENCHMARKS,
    CODES,
    MESSAGES,
    STORAGE,
    IO500,
)

# Kernels whose failure affects this answer; messages are only context.
_KERNELS = (
    bandwidth.KERNEL,
    *access.KERNELS,
    *arithmetic.KERNELS,
    *devices.KERNELS,
    *LINPACK_KERNELS,
    HPCG_KERNEL,
    *NPB_KERNELS,
    *storage.KERNELS,
    IO500_KERNEL,
)


@dataclass(frozen=True)
class SpeedFindings:
    """Speed, by family of kernels; None for a family that was not measured."""

    #: Memory: bandwidth and access.
    memory: MemoryFindings | None
    #: Floating-point speed.
    arithmetic: arithmetic.ArithmeticFindings | None
    #: Devices (accelerators).
    devices: devices.DevicesFindings | None
    #: Linpack.
    linpack: LinpackFindings | None
    #: HPCG.
    hpcg: HpcgFindings | None
    #: The NPB.
    benchmarks: BenchmarksFindings | None
    #: assay's kernels against codes of the site and of papers.
    codes: CodesFindings | None
    #: Speed of messages, as context.
    messages: MessageFindings | None
    #: Storage.
    storage: storage.StorageFindings | None
    #: Storage by the rules of IO500.
    io500: Io500Findings | None
    #: Cells of these families, except messages, without usable numbers.
    broken: Sequence[CellSummary]
    #: Whether the run is complete.
    complete: bool
    #: Names of the families in the order in which the plan lists their kernels.
    order: tuple[str, ...] = ()


def find(measured: Measured) -> SpeedFindings:
    """All findings on speed."""
    own = measured.without_candidates().own_cells()
    return SpeedFindings(
        **find_topics(TOPICS, measured),
        broken=[cell for cell in own.cells if cell.kernel in _KERNELS and is_broken(cell)],
        complete=measured.run.complete,
        order=plan_order(TOPICS, measured.run.manifest.plan),
    )
