"""Measure one kernel, ad hoc. Lists and ranges sweep; every combination is a cell.

Examples::

    assay measure npb.cg class=A --ppn 2 --json
    assay measure compute.dgemm n=100..1000:+100 --threads 1,2
    assay measure network.pingpong bytes=0,8,4MiB --ppn 2 --toolchain embedded,site
"""

from __future__ import annotations

from typing import Literal

from assay.cli.options import (
    ConfigFile,
    FakeMachine,
    Flag,
    Json,
    LabName,
    RandomSeed,
    RunsFolder,
    SiteProfile,
)


def measure(
    kernel: str,
    *parameters: str,
    ppn: str | None = None,
    threads: str | None = None,
    nodes: str | None = None,
    order: str | None = None,
    adapter: str | None = None,
    binding: str | None = None,
    smt: str | None = None,
    devices: str | None = None,
    toolchain: str | None = None,
    precision: str = "1%",
    budget: str | None = None,
    launches: str | None = None,
    samples: str | None = None,
    oversubscribe: Flag = False,
    keep: Flag = False,
    runs: RunsFolder = None,
    seed: RandomSeed = None,
    config: ConfigFile = None,
    site: SiteProfile = None,
    lab: LabName = None,
    fake: FakeMachine = None,
    fail_on: Literal["never", "failure", "precision"] = "failure",
    json: Json = False,
) -> int:
    """Measure one kernel. Lists and ranges sweep; every combination is a cell.

    Parameters
    ----------
    kernel
        The kernel's name; `assay kernels` lists them.
    parameters
        key=value; values may be lists (class=A,B) and ranges (n=100..1000:+100, bytes=1..1MiB:x2).
    ppn
        Ranks per node, such as 2 or all [default: the minimum for the kernel].
    threads
        Threads per rank [default: 1].
    nodes
        Nodes [default: 1].
    order
        Rank order: block, cyclic, reversed, or each rank's seat, such as 0,2,1,3 [default: block].
    adapter
        Network adapter between nodes, such as eth0, or eth0+eth1 for both [default: MPI's choice].
    binding
        How ranks and threads are pinned to cores: compact, spread, per-numa (ranks divided among
        NUMA nodes), near-device (each rank near the device that it uses), none or numa:NODE (only
        the CPUs of that NUMA node) [default: compact].
    smt
        Whether ranks and threads share cores, one on each hardware thread: off, on, each
        [default: off].
    devices
        Devices per node that the ranks use in turn, such as 1,2,4 or all [default: each rank its
        own].
    toolchain
        Compiler, MPI and BLAS, by name [default: as in assay.toml, else the embedded one].
    precision
        Relative half-width of the 95% interval to reach.
    budget
        Time for all cells together, such as "2 min". Cells that don't fit are left out, and named.
        Compilation of kernels is not included. [default: 30 s, or the time of one launch of each
        cell if longer]
    launches
        Minimum and maximum launches per cell, such as 6..30 or 10 [default: 6..30].
    samples
        Minimum and maximum samples per cell and launch, such as 5..4000, or only the maximum
        [default: 5..4000].
    oversubscribe
        Allow more ranks and threads than cores.
    keep
        Keep the run with the others instead of deleting it.
    fail_on
        Exit with 1 if a cell failed its measurement or check, or missed its precision.
    json
        Print one object on stdout, or a list of them if there are several cells.
    """
    from assay.campaign.commands.ad_hoc import measure_cells, runs_folder
    from assay.campaign.commands.finish import exit_status
    from assay.campaign.machine.bench import machine_for
    from assay.config import load_config
    from assay.console import command_line, console, print_json
    from assay.errors import INTERRUPTED
    from assay.model.replication import Replication
    from assay.plans.overrides import amended
    from assay.plans.words import plan_from_words

    settings = load_config(config, site)
    if lab is not None:
        from assay.lab.entering import on_lab

        settings = on_lab(lab, settings)
    machine = machine_for(settings, fake)
    rule = {
        "precision": precision,
        "budget": budget or "30 s",
        "whole": None if budget else "yes",
        "launches": launches,
        "samples": samples,
    }
    plan = plan_from_words(
        kernel,
        parameters,
        context=machine.context,
        placement={
            "nodes": nodes,
            "ppn": ppn,
            "threads": threads,
            "order": order,
            "adapter": adapter,
            "binding": binding,
            "smt": smt,
            "devices": devices,
            "toolchain": toolchain,
        },
        replication=amended(Replication(), rule),
        oversubscribe=oversubscribe,
        seed=seed,
    )
    root = runs_folder(settings, runs, keep=keep)
    cells = measure_cells(machine, plan, console(stderr=True), command_line(), root)
    if cells is None:
        return INTERRUPTED
    if json:
        print_json(cells[0] if len(cells) == 1 else cells)
    else:
        from assay.report.measured import print_cells

        print_cells(cells, console())
    return exit_status(cells, fail_on)
