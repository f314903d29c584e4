"""Display names of kernels, metrics, parameters, placements and cells.

Reports, figures, messages and the terminal take all display names from here, so that they agree.
Identifiers, as on the command line and in JSON, are the catalogue's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from assay.kernels import kernels, known_kernel, left_to_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.units import counted

_NPB = "npb."
# Metrics by identifier. Phases of programs are metrics, too.
_METRICS: Mapping[str, str] = {
    "access": "time per access",
    "allgatherv": "allgatherv",
    "allreduce": "allreduce",
    "alltoall": "alltoall",
    "alltoallv": "alltoallv",
    "bandwidth": "bandwidth",
    "bandwidth.algorithm": "algorithm bandwidth",
    "bandwidth.device": "bandwidth by the device's clock",
    "bandwidth.median": "bandwidth of the median pair",
    "bandwidth_each": "bandwidth per sender",
    "bandwidth_score": "geometric mean of bandwidths",
    "barrier": "barrier time",
    "broadcast": "panel broadcast",
    "communication": "communication",
    "computation": "computation",
    "compute": "computation",
    "cpu": "CPU time",
    "device_time": "time by the device's clock",
    "detour": "longest interruption",
    "dot": "scalar products",
    "fastest": "shortest time",
    "find": "find",
    "gather": "gather",
    "halo": "halo exchange",
    "handover": "pipeline of cut lines",
    "impact": "impact",
    "impact_mean": "impact on the mean",
    "impact_p99": "impact on the 99th percentile",
    "impact_p999": "impact on the 99.9th percentile",
    "ior_easy_read": "ior-easy-read",
    "ior_easy_write": "ior-easy-write",
    "ior_hard_read": "ior-hard-read",
    "ior_hard_write": "ior-hard-write",
    "latency": "latency",
    "latency.median": "latency of the median pair",
    "latency_p99": "99th percentile of latency",
    "least_compute": "least computation of a rank",
    "loaded": "loaded time",
    "loaded_mean": "loaded mean",
    "loaded_p99": "loaded 99th percentile",
    "loaded_p999": "loaded 99.9th percentile",
    "lost": "share of time lost",
    "max_bandwidth": "largest bandwidth",
    "mdtest_easy_delete": "mdtest-easy-delete",
    "mdtest_easy_stat": "mdtest-easy-stat",
    "mdtest_easy_write": "mdtest-easy-write",
    "mdtest_hard_delete": "mdtest-hard-delete",
    "mdtest_hard_read": "mdtest-hard-read",
    "mdtest_hard_stat": "mdtest-hard-stat",
    "mdtest_hard_write": "mdtest-hard-write",
    "metadata_score": "geometric mean of metadata rates",
    "mg": "preconditioner",
    "min_bandwidth": "smallest bandwidth",
    "most_compute": "most computation of a rank",
    "noise": "noise",
    "pair_max": "largest bandwidth of a pair",
    "pair_min": "smallest bandwidth of a pair",
    "overlap": "share hidden by computation",
    "overlap_tested": "share hidden with calls",
    "overlapped": "overlapped time",
    "panel": "panel factorisation",
    "pipeline": "pipeline",
    "quiet": "quiet time",
    "quiet_mean": "quiet mean",
    "quiet_p99": "quiet 99th percentile",
    "quiet_p999": "quiet 99.9th percentile",
    "rate": "rate",
    "rate.device": "rate by the device's clock",
    "rate.ddot": "rate of the scalar products",
    "rate.mg": "rate of the preconditioner",
    "rate.raw": "rate without charges",
    "rate.spmv": "rate of the products of matrix and vector",
    "rate.symgs": "rate of the Gauss-Seidel sweeps",
    "rate.waxpby": "rate of the combinations of vectors",
    "rated": "rated time",
    "score": "score, not official",
    "share": "share of a single device",
    "slowest": "longest latency",
    "solve": "back substitution",
    "spmv": "products of matrix and vector",
    "spread": "spread of arrivals",
    "swap": "row interchange",
    "symgs": "Gauss-Seidel sweeps",
    "tested": "overlapped with calls",
    "time": "time",
    "time.alone": "time alone",
    "traffic": "traffic",
    "transfer": "transfers between the grids",
    "update": "update of the trailing matrix",
    "wall": "wall time",
    "waxpby": "combinations of vectors",
    "worst_bandwidth": "smallest bandwidth",
}
# Display names of parameters' values, by kernel and parameter, if they differ from the value.
_LEVELS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("storage.file", "op"): {
        "random_read": "random read",
        "random_write": "random write",
        "stride_read": "strided read",
    },
    ("storage.parallel", "layout"): {
        "own": "file per rank",
        "shared": "shared file, segmented",
        "strided": "shared file, strided",
    },
    ("storage.metadata", "layout"): {"own": "directory per rank", "shared": "one directory"},
}
# Maximum characters of a command in a cell's name, and of a rank order in a label.
_COMMAND_LENGTH = 40
# Words of a command before the name of its program.
_LAUNCHERS = frozenset({"mpirun", "mpiexec", "mpiexec.hydra", "srun", "aprun", "jsrun"})
_STARTERS = _LAUNCHERS | {"env", "nice", "numactl", "taskset", "time", "exec", "sh", "bash"} | {
    "python", "python3", "julia", "Rscript",
}  # fmt: skip
# Options of launchers without a value.
_FLAGS = frozenset({"--exclusive", "--oversubscribe", "--allow-run-as-root", "-l", "--overlap"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ORDER_LENGTH = 16
# A size that is left to the kernel, and the option of OSU's programs that states it.
_SIZE_LEFT = "bytes=-1"
_SIZE_GIVEN = re.compile(r"-m (\d+):")
# Number of seats of a rank order that are shown; a longer order shows half of them at each end.
MOST_SEATS = 8


def kernel_code(kernel: str) -> str:
    """``CG`` for npb.cg, as in publications; empty for kernels outside the NPB."""
    return kernel.removeprefix(_NPB).upper() if kernel.startswith(_NPB) else ""


def kernel_name(kernel: str) -> str:
    """``CG``, ``memory.stream``: the code of a benchmark, else the kernel's identifier."""
    return kernel_code(kernel) or kernel


def benchmark_codes() -> dict[str, str]:
    """The codes of all benchmarks that have one, by kernel."""
    return {kernel.name: code for kernel in kernels() if (code := kernel_code(kernel.name))}


def metric_name(metric: str, unit: str = "") -> str:
    """``bandwidth``, ``time per access (µs)``; for an unknown metric its identifier.

    ``unit``: as shown, with or without a prefix; if empty, no unit is appended.
    """
    name = _METRICS.get(metric, metric.replace("_", " "))
    return f"{name} ({unit})" if unit else name


def level_name(kernel: str, parameter: str, value: str) -> str:
    """The name of a parameter's value: ``random read``, ``file per rank``; usually the value
    itself.
    """
    return _LEVELS.get((kernel, parameter), {}).get(value, value)


def parameters_text(cell: Cell) -> str:
    """``op=triad``: the parameters, except those left to the kernel and tacit ones at defaults."""
    defaults = left_to_kernel(cell.kernel)
    return " ".join(
        f"{name}={value}"
        for name, value in cell.parameters.items()
        if name not in defaults or value != defaults[name]
    )


def cell_name(cell: Cell) -> str:
    """``CG class A``, ``IS class A, plain code``, ``memory.stream op=triad``; for a command, its
    program (``program_name``).

    For the site's executable of a benchmark it is the file name, plus the parameters of the kernel
    beside it that the file name doesn't show: ``cg.A.x``, ``xhpl n=20000``.
    """
    kernel = known_kernel(cell.kernel)
    if is_beside(cell.kernel):
        name = PurePath(str(cell.parameters.get("program", ""))).name
        return name if cell.kernel == "beside.npb" else f"{name} {_beside_what(cell)}".rstrip()
    if kernel is not None and kernel.outside:
        return program_name(str(cell.parameters.get("command", cell.kernel)))
    text = parameters_text(cell)
    if kernel_code(cell.kernel):
        text = text.replace("class=", "class ").replace(" code=plain", ", plain code")
    return f"{kernel_name(cell.kernel)} {text}".rstrip()


def _beside_what(cell: Cell) -> str:
    """The parameters of the kernel that a site's executable is beside.

    Where the size is left to the kernel, it is the one that the executable is given, if it has one.
    """
    at = str(cell.parameters.get("at", ""))
    given = _SIZE_GIVEN.search(str(cell.parameters.get("arguments", "")))
    size = [f"bytes={given[1]}"] if given else []
    return " ".join(
        word for each in at.split() for word in (size if each == _SIZE_LEFT else [each])
    )


def program_name(command: str) -> str:
    """The program that a command runs, with its arguments: ``cg.A.x``, ``train.py --lr 0.1``.

    Launchers with their options, variables, interpreters and folders are left out. A long name is
    shortened in its middle, since programs differ at both ends. A command that isn't a sequence
    of words, such as one of a shell, is only shortened.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = [command]
    at = 0
    while at < len(words) - 1 and _before_program(words, at):
        at += 1
    name = " ".join([PurePath(words[at]).name or words[at], *words[at + 1 :]]) if words else command
    if len(name) <= _COMMAND_LENGTH:
        return name
    end = (_COMMAND_LENGTH - 1) // 3
    return f"{name[: _COMMAND_LENGTH - 1 - end]}…{name[-end:]}"


def _before_program(words: Sequence[str], at: int) -> bool:
    """Whether a word of a command comes before the name of its program."""
    word = words[at]
    if PurePath(word).name in _STARTERS or _ASSIGNMENT.match(word):
        return True
    # Options and their values, only of launchers.
    launched = any(PurePath(each).name in _LAUNCHERS for each in words[:at])
    if not launched:
        return False
    before = words[at - 1]
    value = before.startswith("-") and "=" not in before and before not in _FLAGS
    return word.startswith("-") or value or "{" in word or word.isdigit()


def cell_title(cell: Cell) -> str:
    """The name with the placement: ``CG class A, 2 nodes 8 ranks cyclic order``."""
    return f"{cell_name(cell)}, {placement_text(cell.placement)}"


def cell_labels(cells: Sequence[Cell]) -> Mapping[str, str]:
    """The shortest label for each cell, by id, that distinguishes it from the others."""
    labels: dict[str, str] = {}
    for cell in cells:
        same = [other for other in cells if other.kernel == cell.kernel]
        title = cell_name(cell)
        if kernel_code(cell.kernel) and len({cell_name(other) for other in same}) == 1:
            title = kernel_code(cell.kernel)
        alike = [other for other in same if other.parameters == cell.parameters]
        equal_nodes = len({other.placement.nodes for other in alike}) == 1
        parts = [
            part
            for place, part in enumerate(_placement_parts(cell, equal_nodes))
            if len({_placement_parts(other, equal_nodes)[place] for other in alike}) > 1
        ]
        nodes = cell.placement.nodes
        sets = {other.placement.node_set for other in alike if other.placement.nodes == nodes}
        if len(sets) > 1:
            parts.append(f"node set {cell.placement.node_set}")
        labels[cell.id] = " ".join([title, *parts])
    return labels


def _placement_parts(cell: Cell, equal_nodes: bool) -> tuple[str, ...]:
    """Each part of a cell's placement, and its toolchain.

    ``equal_nodes``: all cells have the same number of nodes, so that ranks imply ranks per node.
    """
    placement = cell.placement
    cut = len(placement.order) > _ORDER_LENGTH
    order = f"{placement.order[:_ORDER_LENGTH]}…" if cut else placement.order
    return (
        f"on {counted(placement.nodes, 'node')}",
        f"on {counted(placement.ranks, 'rank')}" if equal_nodes else f"{placement.ppn} per node",
        f"with {counted(placement.threads, 'thread')}",
        f"in {order} order",
        f"{placement.binding} binding",
        f"SMT {placement.smt}",
        f"on {counted(placement.devices, 'device')}" if placement.devices else "on own devices",
        f"over {placement.adapter or 'any adapter'}",
        f"by {cell.toolchain}",
    )


def placement_text(placement: Placement) -> str:
    """A placement with its total number of ranks: ``2 nodes 8 ranks × 2 threads cyclic order``.

    Only what differs from the default placement is written.
    """
    parts = [
        counted(placement.nodes, "node") if placement.nodes > 1 else "",
        counted(placement.ranks, "rank"),
        f"× {counted(placement.threads, 'thread')}" if placement.threads > 1 else "",
        "" if placement.order == "block" else order_text(placement.order),
        f"{placement.binding} binding" if placement.binding != "compact" else "",
        "sharing cores" if placement.smt == "on" else "",
        f"over {placement.adapter}" if placement.adapter else "",
        _devices_text(placement),
        f"node set {placement.node_set}" if placement.node_set else "",
    ]
    return " ".join(part for part in parts if part)


def layout_text(placement: Placement, *, whole_order: bool = False) -> str:
    """A placement with its ranks per node: ``2 ranks × 4 threads per node, spread``.

    ``whole_order``: a list of seats is not shortened.
    """
    ranks = counted(placement.ppn, "rank")
    if placement.threads > 1:
        ranks += f" × {placement.threads} threads"
    if placement.nodes > 1:
        ranks += " per node"
    return ", ".join([ranks, *_binding_parts(placement, [], whole_order)])


def where_text(placement: Placement) -> str:
    """``layout_text`` with the number of nodes: ``2 ranks per node, spread on 4 nodes``."""
    return f"{layout_text(placement)} on {counted(placement.nodes, 'node')}"


def binding_text(placement: Placement) -> str:
    """``layout_text`` without ranks and threads: ``compact``, ``spread, cyclic order``."""
    return ", ".join(_binding_parts(placement, ["compact"]))


def _binding_parts(
    placement: Placement, default: list[str], whole_order: bool = False
) -> list[str]:
    whole = f"order {placement.order}" if "," in placement.order else ""
    order = whole if whole_order and whole else order_text(placement.order)
    return [
        *([placement.binding] if placement.binding != "compact" else default),
        *(["sharing cores (SMT)"] if placement.smt == "on" else []),
        *([order] if placement.order != "block" else []),
        *([f"over {placement.adapter}"] if placement.adapter else []),
        *([_devices_text(placement)] if placement.devices else []),
    ]


def _devices_text(placement: Placement) -> str:
    """``on 4 devices per node``; empty if each rank uses its own."""
    return f"on {counted(placement.devices, 'device')} per node" if placement.devices else ""


def order_text(order: str) -> str:
    """``cyclic order``, ``order 0,2,1,3``; a long list of seats is shortened in the middle."""
    return f"{order} order" if "," not in order else f"order {short_order(order)}"


def short_order(order: str) -> str:
    """A rank order's name, or its seats: the seats at both ends if there are more than
    ``MOST_SEATS``.
    """
    seats = order.split(",")
    if len(seats) <= MOST_SEATS:
        return order
    half = MOST_SEATS // 2
    return ",".join([*seats[:half], "…", *seats[-half:]])
