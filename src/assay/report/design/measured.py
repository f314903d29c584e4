"""Stored runs' machines as nodes of a catalogue, and a profile as a program, printed."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path


def print_nodes(names: Sequence[str]) -> None:
    """Print a catalogue with the machine of each run as a node.

    Raises AssayError if there is no such run, or if a run lacks a rate.
    """
    from assay.config import load_config
    from assay.design.parts.measured import MeasuredRun, catalogue_of_runs
    from assay.records.directory import find_run
    from assay.records.reading import read_run
    from assay.stats.cells.summarise import summarise_cells

    measured = []
    for name in names:
        run = read_run(find_run(load_config(None).runs, name).path)
        day = datetime.datetime.fromtimestamp(run.manifest.utc, datetime.UTC).date().isoformat()
        measured.append(MeasuredRun(run, summarise_cells(run), day))
    print(catalogue_of_runs(measured), end="")


def print_program(folder: Path) -> None:
    """Print the program of a stored profile. Raises AssayError if the folder has no profile."""
    from assay.subjects.profile.doubts import profile_doubts
    from assay.subjects.profile.findings import find
    from assay.trace.reading import read_profile
    from assay.units import counted

    found = find(read_profile(folder))
    ranks = len(found.ranks)
    computing = sum(rank.computing for rank in found.ranks) / ranks
    messages = sum(rank.messages for rank in found.ranks) / ranks
    # A collective counts as one message per rank, with the bytes that the rank contributes.
    messages += found.demand.collectives * found.wall
    doubt = profile_doubts(found).because("computing")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name.removesuffix(".profile")).strip("-")
    print(
        f"# {counted(found.size, 'rank')} on {counted(found.hosts, 'host')}, "
        f"{found.wall:.4g} s of wall time.\n"
        f"{f'# Doubtful: {doubt}.{chr(10)}' if doubt else ''}"
        "# Add the node of a catalogue on which it ran, and how much of it is bound by memory.\n"
        f'[[program]]\nname = "{name or "program"}"\nranks = {found.size}\nnode = ""\n'
        f'computing = "{computing:.6g} s"\nmessages = {messages:.6g}\n'
        f'bytes = "{sum(rank.bytes for rank in found.ranks) / ranks:.6g} B"\nmemory = "50%"'
    )
