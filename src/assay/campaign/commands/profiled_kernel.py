"""Makes a kernel the program of a profile: builds the command that launches it once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cache import cache_folder
from assay.campaign.engine.execute import prepare
from assay.campaign.machine.bench import ThisMachine
from assay.config import Config
from assay.errors import AssayError
from assay.kernels import known_kernel, left_open
from assay.launch.executor import LaunchOrder
from assay.launch.local import LocalExecutor
from assay.model.cell import OWN_TOOLCHAIN
from assay.model.replication import Replication
from assay.plans.words import plan_from_words
from assay.records.schema import JOB_SCHEMA, Job, MeasurementOrder

if TYPE_CHECKING:
    from rich.console import Console

# Limits of a profile: seconds after which no operation begins, and maximum operations.
_SECONDS, _MOST_SAMPLES = 5.0, 1000


@dataclass(frozen=True)
class KernelPlacement:
    """Placement of a profiled kernel, as in the options of ``assay measure``; None: default."""

    nodes: str | None = None
    ppn: str | None = None
    threads: str | None = None
    order: str | None = None

    @property
    def given(self) -> bool:
        """Whether any option is given."""
        return any(getattr(self, one.name) is not None for one in fields(self))


def is_kernel(command: Sequence[str]) -> bool:
    """Whether a command names a kernel and its parameters."""
    return bool(command) and known_kernel(command[0]) is not None


@contextmanager
def kernel_command(
    words: Sequence[str], placement: KernelPlacement, config: Config, console: Console
) -> Iterator[list[str]]:
    """The command that launches a kernel with its parameters (``class=A``), as in measurements.

    Its job and stream are in a folder that is removed afterwards. Raises AssayError if the kernel
    can't run here, if there are several cells, or if the kernels can't be built.
    """
    machine = ThisMachine(config)
    plan = plan_from_words(
        words[0],
        words[1:],
        context=machine.context,
        placement={one.name: getattr(placement, one.name) for one in fields(placement)},
        replication=Replication(),
    )
    if len(plan.cells) != 1:
        raise AssayError(
            f"These parameters give {len(plan.cells)} cells, but a profile covers one cell.",
            where=" ".join(words),
            fix="Name one value of each parameter.",
        )
    cell = plan.cells[0]
    missing = left_open(cell)
    if missing or cell.toolchain == OWN_TOOLCHAIN:
        raise AssayError(
            f"{cell.kernel} first needs a search for {', '.join(missing) or 'its program'}.",
            where=" ".join(words),
            fix="Name its parameters.",
        )
    bench = prepare(machine, plan, console)
    assert isinstance(bench.executor, LocalExecutor)
    shared = cache_folder() if cell.placement.nodes > 1 else None
    with tempfile.TemporaryDirectory(prefix="assay-", dir=shared) as folder:
        order = LaunchOrder(
            launch="profile",
            toolchain=cell.toolchain,
            placement=cell.placement,
            job=Job(
                schema=JOB_SCHEMA,
                job="profile",
                threads=cell.placement.threads,
                binding=cell.placement.binding,
                order=cell.placement.order,
                smt=cell.placement.smt,
                devices=cell.placement.devices,
                seed=plan.seed % 2**31,
                measurements=[
                    MeasurementOrder(
                        measurement="profile",
                        kernel=cell.kernel,
                        parameters=cell.parameters,
                        precision=0.01,
                        confidence=0.95,
                        budget=_SECONDS,
                        min_samples=1,
                        max_samples=_MOST_SAMPLES,
                    )
                ],
            ),
            stream=Path(folder) / "profile.jsonl",
            seed=plan.seed,
        )
        yield bench.executor.command(order)
