"""Builds kernels, with progress on the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.config import Config
from assay.kernels import known_kernel
from assay.model.plan import Plan

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from assay.kernels.building import BuildProgress


@dataclass(frozen=True)
class Built:
    """An executable and the toolchain that built it."""

    toolchain: str
    executable: str


def needed_kernels(plan: Plan) -> dict[str, set[str]]:
    """The kernels that a plan measures, by toolchain, without external programs."""
    needed: dict[str, set[str]] = defaultdict(set)
    for cell in plan.cells:
        kernel = known_kernel(cell.kernel)
        needed[cell.toolchain] |= set() if kernel and kernel.outside else {cell.kernel}
    return dict(needed)


def build_for(
    name: str | None,
    config: Config,
    console: Console,
    processor: str | None = None,
    *,
    shared: bool = False,
    kernels: Collection[str] | None = None,
) -> Built:
    """Build the kernels with a toolchain unless they are already built.

    ``kernels``: kernels to build; None for all. ``processor``: the compiler's name of the processor
    to build for; None for this machine's processor. ``shared``: whether to copy the build to the
    site's folder. Raises AssayError.
    """
    from assay.kernels.building import build_kernels
    from assay.kernels.builds.origin import for_processor
    from assay.kernels.builds.shared import publish
    from assay.kernels.toolchains import select_toolchain

    toolchain = select_toolchain(name, config)
    if processor is not None:
        toolchain = for_processor(toolchain, processor)
    with build_display(console) as progress:
        executable: Path = build_kernels(toolchain, progress, kernels=kernels)
    if shared:
        executable = publish(executable.parent, executable.name)
    return Built(toolchain.name, str(executable))


@contextmanager
def build_display(console: Console) -> Iterator[Callable[[BuildProgress], None]]:
    """A progress bar while kernels are compiled. Without a terminal it prints a line while it
    waits, at the start, and after each 20% of the steps.
    """
    if not console.is_terminal:
        said: dict[str, int] = {}

        def tell(progress: BuildProgress) -> None:
            if progress.phase == "wait":
                console.print(_waiting(progress), soft_wrap=True, markup=False)
            if progress.phase != "compile":
                return
            fifth = 5 * progress.done // max(progress.total, 1)
            if fifth > said.get(progress.toolchain, -1) and fifth < 5:
                said[progress.toolchain] = fifth
                console.print(
                    f"Compiling the kernels, {progress.toolchain}: {progress.done} of "
                    f"{progress.total} steps.",
                    soft_wrap=True,
                    markup=False,
                )

        yield tell
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def show(progress: BuildProgress) -> None:
            task = tasks.get(progress.toolchain)
            if task is None:
                task = bars.add_task(
                    f"building kernels, {progress.toolchain}", total=progress.total
                )
                tasks[progress.toolchain] = task
            if progress.phase == "wait":
                bars.print(_waiting(progress))
            bars.update(task, completed=progress.done, total=progress.total)

        yield show


def _waiting(progress: BuildProgress) -> str:
    return f"Waiting for the kernels, {progress.toolchain}: built by {progress.step}."
