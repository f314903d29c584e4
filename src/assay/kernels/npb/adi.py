"""What npb.bt and npb.sp share in the catalogue: grid, batches of lines, messages, memory.

Messages follow ``native/npb/adi/solver.hpp`` and ``pipeline.hpp``; the rest is shared with native
code (``shared.py``). Vectors are assumed to have eight lanes; the plain code solves lines one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.kernels.catalogue import (
    Kernel,
    MemoryFormula,
    Peers,
    PeersFormula,
    Work,
    WorkFormula,
    phase,
)
from assay.kernels.npb.common import (
    COMPUTE_SPREAD,
    MONITOR,
    RATE,
    TIME,
    WORK_UNITS,
    Cubic,
    class_parameter,
    code_parameter,
    cubic,
    cubic_text,
    is_plain,
    listed,
)
from assay.kernels.npb.grid import block_pairs, choose_grid, cutting_of, inner, share_of
from assay.kernels.npb.shared import constants, formula
from assay.model.placement import Value

_CONSTANTS = constants("cfd", "adi")
COMPONENTS: int = _CONSTANTS["kComponents"]
GHOSTS: int = _CONSTANTS["kGhosts"]
LANES = 8

_STATE = 8.0 * COMPONENTS  # bytes per point


@dataclass(frozen=True)
class LineSystem:
    """The systems along lines:"""

    #: Number of doubles that elimination keeps per point.
    kept: int
    #: Number of rows passed on to the next rank.
    handed: int


def lanes_of(parameters: Mapping[str, Value]) -> int:
    """The lines that are solved together."""
    return 1 if is_plain(parameters) else LANES


def adi_grid(points: int, ranks: int) -> tuple[int, int]:
    """Blocks along y and z; their product is the number of ranks that work."""
    cutting = cutting_of(_CONSTANTS["kAdiCutting"], (points, points, points))
    _, y, z = choose_grid(cutting, ranks)
    return y, z


def batch(points: int, blocks: int, across: int, kept: int, lanes: int = LANES) -> tuple[int, int]:
    """Rows and vectors per row in a batch of lines; ``across``: rows per thread."""
    shape = formula("adi/batch.def", "cfd", "adi")
    terms = shape(points=points, blocks=blocks, across=across, kept=kept, lanes=lanes)
    return int(terms["rows"]), int(terms["vectors"])


def communication(
    points: int, system: LineSystem, ranks: int, threads: int, lanes: int = LANES
) -> tuple[float, float]:
    """Number of messages of all ranks in one time step, and their bytes."""
    blocks = adi_grid(points, ranks)
    messages = sent = 0.0
    for own, others in (blocks, blocks[::-1]):
        if own == 1:
            continue
        faces = 2 * (own - 1)
        messages += faces * others
        sent += faces * GHOSTS * _STATE * points**2
        for part in range(others):
            across = -(-inner(points, part, others) // threads)
            batches, size = handed_batches(
                points=points, system=system, own=own, across=across, threads=threads, lanes=lanes
            )
            # Elimination: one message from every rank, inwards or between the two innermost ranks.
            # Back substitution: messages go outwards.
            messages += batches * (own + own - 2)
            sent += batches * size * (own * system.kept + (own - 2) * COMPONENTS)
    return messages, sent


def handed_batches(
    points: int, system: LineSystem, own: int, across: int, threads: int, lanes: int
) -> tuple[float, float]:
    """Batches of lines cut into ``own`` blocks, and bytes of a batch for one double per point."""
    rows, vectors = batch(points, own, across, system.kept, lanes)
    every = -(-points // lanes)
    batches = -(-across // rows) * -(-every // vectors)
    return batches, 8.0 * lanes * threads * rows * vectors * system.handed


def peers(points: int, system: LineSystem, ranks: int, threads: int, lanes: int = LANES) -> Peers:
    """Bytes of one time step from each rank to each other."""
    blocks = (1, *adi_grid(points, ranks))
    found = {}
    for one, other, dimension, at in block_pairs(blocks):
        own, part, parts = blocks[dimension], at[3 - dimension], blocks[3 - dimension]
        halo = GHOSTS * _STATE * points * len(share_of(points, part, parts))
        across = -(-inner(points, part, parts) // threads)
        batches, size = handed_batches(
            points=points, system=system, own=own, across=across, threads=threads, lanes=lanes
        )
        lower, middle = at[dimension], own // 2 - 1
        # Eliminated rows go inwards, solutions outwards; the two innermost ranks exchange rows.
        up = system.kept if lower <= middle else COMPONENTS
        down = system.kept if lower >= middle else COMPONENTS
        found[one, other] = halo + batches * size * up
        found[other, one] = halo + batches * size * down
    return found


def memory(points: int, system: LineSystem, ranks: int, threads: int, lanes: int = LANES) -> float:
    """Maximum bytes that a rank allocates: u, right-hand side, forcing, each thread's lines."""
    y, z = adi_grid(points, ranks)

    def batch_of(blocks: int, others: int) -> tuple[int, int]:
        rows = -(-points // others)
        return batch(points, blocks, -(-rows // threads), system.kept, lanes)

    (rows_y, vectors_y), (rows_z, vectors_z) = batch_of(y, z), batch_of(z, y)
    need = formula("adi/memory.def", "cfd", "adi")
    terms = need(
        **{"points": points, "y": y, "z": z, "threads": threads, "lanes": lanes},
        **{"kept": system.kept, "handed": system.handed},
        **{"rows_y": rows_y, "vectors_y": vectors_y, "rows_z": rows_z, "vectors_z": vectors_z},
    )
    return float(terms["bytes"])


def _work_of(
    sizes: Mapping[str, tuple[int, ...]],
    system: LineSystem,
    flops: Cubic,
    operations: Callable[[int], float],
) -> WorkFormula:
    def work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
        n, steps = sizes[str(parameters["class"])]
        messages, sent = communication(n, system, ranks, threads, lanes_of(parameters))
        return {
            "operations": steps * operations(n),
            "flops": steps * cubic(flops, n - 2.0),
            "traffic": steps * 6.0 * _STATE * n**3,
            "messages": steps * messages,
            "sent": steps * sent,
        }

    return work


def _peers_of(sizes: Mapping[str, tuple[int, ...]], system: LineSystem) -> PeersFormula:
    def of_a_run(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
        n, steps = sizes[str(parameters["class"])]
        found = peers(n, system, ranks, threads, lanes_of(parameters))
        return {pair: steps * sent for pair, sent in found.items()}

    return of_a_run


def _memory_of(sizes: Mapping[str, tuple[int, ...]], system: LineSystem) -> MemoryFormula:
    def need(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
        points, _ = sizes[str(parameters["class"])]
        return memory(points, system, ranks, threads, lanes_of(parameters))

    return need


def adi_kernel(
    name: str,
    title: str,
    sizes: Mapping[str, tuple[int, ...]],
    system: LineSystem,
    flops: Cubic,
    operations: Callable[[int], float],
    formula: str,
    source: str,
    notes: str,
    pace: float,
) -> Kernel:
    """The catalogue's entry. ``sizes``: points along each side and time steps of each class;
    ``flops``: those done in a time step, in m = n - 2; ``operations``: the official count of a time
    step, ``formula``: the same as text."""
    handed = f"{8 * LANES * system.handed * system.kept} bytes for each {LANES} lines inwards"
    back = f"{8 * LANES * system.handed * COMPONENTS} outwards"
    points = listed(n for n, *_ in sizes.values())
    return Kernel(
        name=name,
        title=title,
        parameters=(
            class_parameter(sizes),
            code_parameter("lines are solved one by one instead of in the lanes of vectors"),
            MONITOR,
        ),
        metrics=(
            TIME,
            RATE,
            phase("compute", "computing right-hand sides and solving lines on the rank"),
            phase("halo", "exchanging boundary points with neighbours"),
            phase("handover", "passing rows of cut lines from rank to rank, and waiting for them"),
            *COMPUTE_SPREAD,
        ),
        work=_work_of(sizes, system, flops, operations),
        source=source,
        threaded=True,
        headline="rate",
        pace=pace,
        notes="Operations are counted as by NPB. Any number of ranks is allowed: ranks have blocks "
        "along y and z. Lines across blocks are solved from both ends, rank after rank, in "
        f"batches. Ranks beyond the last block stay idle (fact working_ranks). {notes} "
        "Verified: norms of residual and error, each within 1e-8, after every run.",
        work_units=WORK_UNITS,
        formulas={
            "operations": f"{formula}, n = {points} points per side for {listed(sizes)}",
            "flops": f"steps ({cubic_text(flops)}), m = n - 2; on one rank, without lanes of "
            "vectors that hold no point",
            "traffic": "240 n^3 steps: a step reads u and forcing and writes the right-hand side, "
            "reads both again and writes u",
            "messages": "per step, along y and z, each cut into p blocks: 2 (p - 1) in halos and "
            "2 (p - 1) for each batch of lines, times the blocks along the other",
            "sent": "per step: 160 n^2 (p - 1) in halos; for lines cut into p blocks "
            f"{handed} from p ranks, {back} from p - 2; in plain code for each line, an eighth",
        },
        memory=_memory_of(sizes, system),
        peers=_peers_of(sizes, system),
    )
