"""Describes a stored run's network and nodes as a cluster to simulate."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import AssayError
from assay.units import format_quantity

if TYPE_CHECKING:
    from assay.models.network.message_model import LogGP
    from assay.records.model import RunData
    from assay.stats.core.model import CellSummary

# Kernels whose launches show how the speed of nodes varies. The first one in the run is used.
_SPEEDS = ("compute.dgemm", "compute.peak", "npb.ep", "memory.stream")
# Minimum cost of messages in a piece of the model, as a share of the first piece's latency.
_LEAST_LATENCY = 0.01


def print_cluster(name: str) -> None:
    """Print the description.

    Raises AssayError if there is no such run, or if the run has no ping-pong.
    """
    from assay.config import load_config
    from assay.records.directory import find_run
    from assay.records.reading import read_run
    from assay.stats.cells.summarise import summarise_cells

    run = read_run(find_run(load_config(None).runs, name).path)
    print(cluster_text(run, summarise_cells(run)), end="")


def cluster_text(run: RunData, cells: Sequence[CellSummary]) -> str:
    """The description (TOML).

    Users fill in the topology and the number of nodes. Raises AssayError if the run has no
    ping-pong over message sizes with enough launches.
    """
    from assay.questions.network.messages.sweeps import sweeps

    models: dict[str, LogGP] = {}
    for sweep in sweeps(cells, run):
        if sweep.model is not None:
            models.setdefault(sweep.reach, sweep.model)
    between = models.get("between nodes") or models.get("within a node")
    if between is None:
        raise AssayError(
            "The run has no ping-pong over message sizes with enough launches for a model.",
            where=str(run.path),
            fix="Measure it: assay run network.",
        )
    lines = [
        f"# The network and the nodes of run {run.manifest.run}. Fill in topology and cores.",
        "schema = 1",
        f'title = "as measured by {run.manifest.run}"',
        "",
        "[topology]",
        'kind = "single"',
        "hosts = 2",
        "",
        "[network]" if "between nodes" in models else "[network]  # measured within a node only",
        *_network(between),
    ]
    within = models.get("within a node")
    if within is not None:
        lines += ["", "[memory]", *_network(within)]
    cores = max(
        (cell.cell.placement.ppn * cell.cell.placement.threads for cell in cells), default=1
    )
    lines += ["", "[node]", f"cores = {cores}", *_variability(run)]
    for piece in between.pieces[1:]:
        latency = max(piece.intercept, _LEAST_LATENCY * between.pieces[0].intercept)
        if piece.slope > 0.0:
            lines += [
                "",
                "[[size]]",
                f"above = {piece.first - 1}",
                f'latency = "{latency:.4g} s"',
                f'bandwidth = "{1.0 / piece.slope:.5g} B/s"',
            ]
    return "\n".join([*lines, *_linpack(cells)]) + "\n"


def _linpack(cells: Sequence[CellSummary]) -> list[str]:
    """DGEMM's rate over the order, if the run has several orders on one thread of each rank.

    The placement with the most ranks on a node counts: its ranks share the memory as in Linpack.
    """
    from assay.models.calls.linpack_work import through

    points: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for each in cells:
        cell = each.cell
        time = each.metrics["time"].median if "time" in each.metrics else None
        placement = cell.placement
        if cell.kernel == "compute.dgemm" and placement.threads == 1 and time and each.verified:
            order = float(cell.parameters["n"])
            points[placement.ppn, -placement.nodes].append((order, 2.0 * order**3 / time))
    if not points or len(best := points[max(points)]) < 2:
        return []
    curve = through(best)
    return [
        "",
        f"[linpack]  # by DGEMM of {len(best)} orders; rate of large matrices for --rate: "
        f"{format_quantity(curve.maximum, 'flop/s')}",
        f"dgemm_half = {curve.half:.3g}",
    ]


def _network(model: LogGP) -> list[str]:
    first = model.pieces[0]
    latency = max(first.intercept, 1e-9)
    lines = [f'latency = {{ value = "{latency:.4g} s", kind = "measured"{_interval(model)} }}']
    rate = model.bandwidth.value if model.bandwidth else 1.0 / max(model.pieces[-1].slope, 1e-12)
    # The latency of the first piece, if it has one; [[size]] has the others.
    slope = first.slope if first.slope > 0.0 else 1.0 / rate
    return [*lines, f'bandwidth = {{ value = "{1.0 / slope:.5g} B/s", kind = "measured" }}']


def _interval(model: LogGP) -> str:
    found = model.pieces[0].latency
    if found is None or found.ci95 is None or not found.ci95[0] <= found.value <= found.ci95[1]:
        return ""
    low, high = found.ci95
    return f', interval = ["{low:.4g} s", "{high:.4g} s"]'


def _variability(run: RunData) -> list[str]:
    """Standard deviations of the nodes' speeds, from launches on single nodes."""
    from assay.stats.cells.summarise import launch_value

    for kernel in _SPEEDS:
        by_cell: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for measurement in run.measurements:
            cell = measurement.cell
            hosts = {rank.host for rank in measurement.ranks}
            value = launch_value(measurement)
            if cell.kernel == kernel and len(hosts) == 1 and value is not None and value > 0.0:
                by_cell[cell.id][hosts.pop()].append(math.log(value))
        if by_cell:
            best = max(by_cell.values(), key=lambda hosts: sum(map(len, hosts.values())))
            return _deviations(kernel, list(best.values()))
    return []


def _deviations(kernel: str, hosts: list[list[float]]) -> list[str]:
    launches = sum(map(len, hosts))
    free = launches - len(hosts)
    within = sum(float(((np.array(h) - np.mean(h)) ** 2).sum()) for h in hosts)
    lines = []
    over = 0.0
    if free > 0:
        over = within / free
        source = f"{kernel}: {launches} launches, {len(hosts)} hosts"
        lines.append(f"over_time = {math.sqrt(over):.4g}  # {source}")
    if len(hosts) > 2:
        means = [float(np.mean(host)) for host in hosts]
        # The variation between launches of one host is also part of the hosts' means.
        part = over * float(np.mean([1.0 / len(host) for host in hosts]))
        lines.append(
            f"between_nodes = {math.sqrt(max(float(np.var(means, ddof=1)) - part, 0.0)):.4g}"
        )
    return lines
