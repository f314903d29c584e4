"""``assay profile``: profiles a program or a kernel, here or in a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from assay.campaign.commands.profile_launches import profile_launches
from assay.campaign.commands.profile_program import new_profile_folder, profile_program
from assay.campaign.commands.profiled_kernel import KernelPlacement, is_kernel, kernel_command
from assay.campaign.jobs.profile_job import profile_in_job
from assay.campaign.jobs.submission import JobOptions
from assay.config import Config
from assay.errors import AssayError
from assay.launch.repeated import RepeatedStreams
from assay.trace.model import ProgramProfile
from assay.trace.reading import RANK_FILES, read_profile
from assay.units import whole_number

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class ProfileOrder:
    """What to profile: a program's ``command``, or a kernel's name and parameters."""

    command: tuple[str, ...]
    #: Folder of the profile; None for a new one in the working directory.
    folder: Path | None
    trace: bool
    #: Placement of a kernel.
    kernel: KernelPlacement
    #: Whether to submit a job, with the options ``site``.
    submit: bool
    site: JobOptions
    #: Number of launches.
    launches: int = 1
    #: Samples of call stacks per s of CPU time; None: none.
    sample: float | None = None
    #: Whether children that the program forks are sampled.
    follow_forks: bool = False
    #: Events to count beside the samples.
    counters: tuple[str, ...] = ()


def run_profile(
    order: ProfileOrder, config: Config, console: Console
) -> tuple[ProgramProfile | None, Path]:
    """Make the profile; returns it and its folder. A sampled program without MPI has only samples.

    Raises AssayError.
    """
    if order.launches < 1:
        raise AssayError(
            f"'{order.launches}' is not a number of launches.",
            where="--launches",
            fix="Example: 3.",
        )
    if order.submit:
        return _in_job(order, config, console)
    if order.site != JobOptions():
        raise AssayError(
            "--walltime, --partition and --account require a job.", fix="Add --submit."
        )
    if is_kernel(order.command):
        with kernel_command(order.command, order.kernel, config, console) as command:
            # The kernel switches the profile on for its measurement, but not for its setup.
            return _launched(order, command, config, console, regions=True)
    if order.kernel.given:
        raise AssayError(
            "--nodes, --ppn, --threads and --order apply only to assay's kernels.",
            where=order.command[0],
            fix="Give the program's launcher its own options, or name a kernel (`assay kernels`).",
        )
    return _launched(order, order.command, config, console)


def _launched(
    order: ProfileOrder,
    command: Sequence[str],
    config: Config,
    console: Console,
    *,
    regions: bool = False,
) -> tuple[ProgramProfile | None, Path]:
    streams = RepeatedStreams() if order.launches > 1 else None

    def launch(folder: Path | None) -> tuple[ProgramProfile | None, Path]:
        return profile_program(
            command,
            folder,
            config,
            console,
            trace=order.trace,
            regions=regions,
            sample=order.sample,
            follow_forks=order.follow_forks,
            counters=order.counters,
            streams=streams,
        )

    return profile_launches(launch, order.folder, order.launches, console)


def _in_job(
    order: ProfileOrder, config: Config, console: Console
) -> tuple[ProgramProfile | None, Path]:
    nodes = whole_number(order.kernel.nodes or "1")
    if nodes is None or nodes < 1:
        raise AssayError(
            f"'{order.kernel.nodes}' is not a number of nodes.", where="--nodes", fix="Example: 2."
        )
    kernel = is_kernel(order.command)
    folder = new_profile_folder(order.folder)
    words = ["--folder", str(folder)]
    words += ["--trace"] if order.trace else []
    words += ["--sample", f"{order.sample:g}"] if order.sample is not None else []
    words += ["--follow-forks"] if order.follow_forks else []
    words += ["--counters", ",".join(order.counters)] if order.counters else []
    words += ["--launches", str(order.launches)] if order.launches > 1 else []
    words += ["--config", str(config.path.absolute())] if config.path else []
    for one in fields(order.kernel):
        value = getattr(order.kernel, one.name)
        if value is not None and (kernel or one.name != "nodes"):
            words += [f"--{one.name}", value]
    site = order.site.applied(config.scheduler)
    words += ["--", *order.command]
    profile_in_job(words, folder, site, console, nodes=nodes, walltime=order.site.seconds)
    if order.sample is not None and not any(folder.glob(RANK_FILES)):
        return None, folder
    return read_profile(folder), folder
