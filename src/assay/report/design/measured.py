"""A stored run's machine as a node, printed as a catalogue."""

from __future__ import annotations

import datetime


def print_node(name: str) -> None:
    """Print the catalogue. Raises AssayError if there is no such run, or it lacks a rate."""
    from assay.config import load_config
    from assay.design.measured import node_of_run
    from assay.records.directory import find_run
    from assay.records.reading import read_run
    from assay.stats.cells.summarise import summarise_cells

    run = read_run(find_run(load_config(None).runs, name).path)
    day = datetime.datetime.fromtimestamp(run.manifest.utc, datetime.UTC).date().isoformat()
    print(node_of_run(run, summarise_cells(run), day), end="")
