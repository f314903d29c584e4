"""Adds to a plan a cell for each of the site's executables that corresponds to one of its kernels.

The added cell has the placement of the kernel's cell, so that the randomised blocks of the run
contain both.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.collective import COLLECTIVES
from assay.kernels.hpcg.counts import edges_of
from assay.kernels.hpcg.entry import EDGES
from assay.kernels.linpack import linpack_flops, usual_rows
from assay.kernels.naming import cell_name, placement_text
from assay.kernels.nonblocking.overlap import BARRIER, OPERATIONS, OVERLAP
from assay.kernels.nonblocking.rate import RATE
from assay.kernels.npb.common import MONITOR
from assay.kernels.outside import BESIDE
from assay.model.cell import OWN_TOOLCHAIN, Cell
from assay.model.placement import Placement, Value
from assay.model.plan import Plan
from assay.plans.beside.hpl_input import hpl_input
from assay.plans.beside.limits import HPCG_SECONDS, first_limit
from assay.plans.beside.programs import SiteProgram
from assay.units import counted, format_duration, listed

# Benchmarks of the NPB whose MPI code takes only square numbers of ranks, or powers of two.
_SQUARES = ("bt", "sp")
# OSU's one-sided programs: the operation, and how many are in a window. Accumulates and atomic
# operations are not among them: OSU 7 updates characters, the kernel numbers of 64 bits.
_ONE_SIDED = {
    "put_latency": ("put", 1),
    "get_latency": ("get", 1),
    "put_bw": ("put", 64),
    "get_bw": ("get", 64),
}
_POWERS = ("cg", "mg", "ft", "is", "lu")


# Kernels beside OSU's point-to-point programs.
_MESSAGES = {"latency": "network.pingpong", "bw": "network.stream", "mbw_mr": RATE}
# OSU's programs whose cells have another kernel than beside.osu.
_OSU_KERNELS = {"bw": "osu_bw", "mbw_mr": "osu_rate"}
_OSU_WINDOW = 64


class _Unlike(Exception):
    """The reason why a program can't run beside a cell of its kernel; it ends a sentence with its
    name.
    """


def with_beside(
    plan: Plan,
    programs: Sequence[SiteProgram],
    refused: Sequence[str] = (),
    *,
    timeout: float = 0.0,
) -> Plan:
    """The plan with the cells of the programs, and with sentences on omitted programs.

    ``refused``: sentences on programs refused earlier. ``timeout``: as for ``plan_beside``. Raises
    AssayError if no program corresponds to a cell of the plan.
    """
    added: dict[str, Cell] = {}
    searched: dict[str, bool] = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    absent: list[str] = []
    search = plan.search
    for program in programs:
        before, unlike = len(added), False
        for cell in plan.cells:
            try:
                new = _beside(cell, program, timeout)
            except _Unlike as why:
                reasons.setdefault((program.path.name, str(why)), []).append(_title(cell))
                unlike = True
                continue
            if new is None:
                continue
            added.setdefault(new.id, new)
            if search is not None and cell.id in search.cells:
                searched[new.id] = searched.get(new.id, True) and cell.id in search.optional
        if len(added) == before and not unlike:
            absent.append(program.path.name)
    left_out = [*refused, *_sentences(reasons)]
    if absent:
        left_out.append(f"The plan has no cell that corresponds to {listed(absent)}.")
    if not added:
        raise AssayError(
            " ".join(["No executable corresponds to a cell of this plan.", *left_out[:1]]),
            where=str(programs[0].path.parent) if programs else "",
            fix="`assay run npb class=A --beside DIR` measures cg.A.x and the like.",
        )
    if search is not None:
        search = msgspec.structs.replace(
            search,
            cells=(*search.cells, *searched),
            optional=(*search.optional, *(name for name, more in searched.items() if more)),
        )
    return msgspec.structs.replace(
        plan,
        cells=(*plan.cells, *added.values()),
        notes=(*plan.notes, *left_out),
        choices=(*plan.choices, *_launched(programs, added)),
        search=search,
    )


def _title(cell: Cell) -> str:
    return f"{cell_name(cell)} on {placement_text(cell.placement)}"


def _launched(programs: Sequence[SiteProgram], added: dict[str, Cell]) -> Iterator[str]:
    """A sentence on each program that is measured, with its launcher."""
    for program in programs:
        cells = [c for c in added.values() if c.parameters["program"] == str(program.path)]
        if cells:
            by = f" with {program.mpirun}" if program.mpirun else ""
            yield (
                f"Beside assay's kernels: {program.title}, {counted(len(cells), 'cell')}{by}; "
                f"{_limit(cells)}."
            )


def _limit(cells: Sequence[Cell]) -> str:
    """The longest time limit of the cells of a program, with the option that changes it."""
    if given := float(cells[0].parameters["timeout"]):
        return f"a launch may take {format_duration(given)}"
    longest = max(
        first_limit(cell.parameters, cell.placement.ranks * cell.placement.threads)
        for cell in cells
    )
    return f"its first launch may take {format_duration(longest)} (--timeout)"


def _sentences(reasons: Mapping[tuple[str, str], Sequence[str]]) -> Iterator[str]:
    """A sentence for each program and reason, with the first of the cells."""
    for (name, why), cells in reasons.items():
        more = f" and {counted(len(cells) - 1, 'other cell')}" if len(cells) > 1 else ""
        yield f"{name} is not measured beside {cells[0]}{more}: {why}."


def _kernel_of(program: SiteProgram) -> str:
    """The kernel that measures the same operation; empty if there is none."""
    if program.tool == "npb":
        return f"npb.{program.benchmark}"
    if program.tool == "osu":
        if _collective(program) in COLLECTIVES:
            return "network.collective"
        if program.benchmark in OPERATIONS:
            return OVERLAP
        if program.benchmark in _ONE_SIDED:
            return "network.one_sided"
        return _MESSAGES.get(program.benchmark, "")
    return {"hpl": "linpack", "hpcg": "hpcg", "stream": "memory.stream"}[program.tool]


def _beside(cell: Cell, program: SiteProgram, timeout: float) -> Cell | None:
    """The program's cell beside a kernel's; None if it measures something else. Raises _Unlike."""
    if cell.kernel != _kernel_of(program):
        return None
    special = _SPECIAL[program.tool](cell, program)
    if special is None:
        return None
    _check_seats(cell.placement, program)
    kernel = BESIDE + _OSU_KERNELS.get(program.benchmark, program.tool)
    arguments = str(special.get("arguments", ""))
    line = f"{_word(str(program.path))} {arguments}".rstrip()
    parameters: dict[str, Value] = {
        parameter.name: parameter.default for parameter in find_kernel(kernel).parameters
    }
    parameters |= {
        "program": str(program.path),
        "command": f"{_word(program.mpirun)} -n {{ranks}} {line}" if program.mpirun else line,
        "sha256": program.sha256,
        "version": program.version,
        "of": cell.kernel,
        "benchmark": program.benchmark,
        "mpi": program.mpi,
        "mpirun": program.mpirun,
        "timeout": timeout,
        **special,
    }
    placement = msgspec.structs.replace(cell.placement, order="block")
    return Cell(kernel, parameters, placement, OWN_TOOLCHAIN)


def _word(path: str) -> str:
    """A path as a word of a command with placeholders."""
    return shlex.quote(path).replace("{", "{{").replace("}", "}}")


def _check_seats(placement: Placement, program: SiteProgram) -> None:
    """Raise _Unlike if the program can't be given the seats of a placement."""
    ranks, threads = placement.ranks, placement.threads
    if program.ranks not in (None, ranks):
        raise _Unlike(f"it is compiled for {counted(program.ranks or 0, 'rank')}")
    if program.parallel != "mpi" and ranks > 1:
        raise _Unlike("it is not linked with MPI")
    if program.parallel == "serial" and threads > 1:
        raise _Unlike("it is linked with neither MPI nor OpenMP")
    if program.parallel == "mpi" and threads > 1 and program.tool not in ("hpl", "hpcg"):
        raise _Unlike("it is unknown whether its ranks use several threads")
    if placement.order != "block" and ranks > 1:
        raise _Unlike(f"its ranks can't be given the order {placement.order}")
    if program.tool != "npb" or program.parallel != "mpi":
        return
    if program.benchmark in _SQUARES and isqrt(ranks) ** 2 != ranks:
        raise _Unlike("it takes only square numbers of ranks")
    if program.benchmark in _POWERS and ranks & (ranks - 1):
        raise _Unlike("it takes only powers of two as numbers of ranks")


def _npb(cell: Cell, program: SiteProgram) -> dict[str, Value] | None:
    if cell.parameters["class"] != program.size or cell.parameters.get(MONITOR.name):
        return None
    work = find_kernel(cell.kernel).work(cell.parameters, 1, 1)
    return {"at": f"class={program.size}", "work": float(work["operations"])}


def _hpl(cell: Cell, program: SiteProgram) -> dict[str, Value] | None:
    n, ranks = int(cell.parameters["n"]), cell.placement.ranks
    if not n:
        raise _Unlike("the order is chosen on the machine; name one, such as n=20000")
    p = int(cell.parameters["p"]) or usual_rows(ranks)
    text = hpl_input(program.path, n, int(cell.parameters["nb"]), p, ranks // p)
    return {"at": f"n={n}", "input": text, "work": linpack_flops(n)}


def _hpcg(cell: Cell, program: SiteProgram) -> dict[str, Value] | None:
    """Its input file has a title, a comment, the edges of each rank's grid and the seconds."""
    if not int(cell.parameters["nx"]):
        raise _Unlike("the grid is chosen on the machine; name one, such as nx=104")
    edges, placement = edges_of(cell.parameters), cell.placement
    work = find_kernel("hpcg").work(cell.parameters, placement.ranks, placement.threads)["flops"]
    sizes = " ".join(map(str, edges))
    return {
        "at": " ".join(f"{name}={cell.parameters[name]}" for name in EDGES),
        "input": f"HPCG benchmark input file\nwritten by assay\n{sizes}\n{HPCG_SECONDS:.0f}\n",
        "work": work,
    }


def _stream(cell: Cell, program: SiteProgram) -> dict[str, Value] | None:
    if int(cell.parameters["memory_node"]) >= 0:
        raise _Unlike("its memory can't be bound to a NUMA node")
    if int(cell.parameters["elements"]):
        raise _Unlike("its arrays have the size that it is compiled with")
    return {"at": f"op={cell.parameters['op']} elements=0"}


def _collective(program: SiteProgram) -> str:
    """``allreduce`` for osu_allreduce and osu_allreduce_persistent."""
    return program.benchmark.removesuffix("_persistent")


def _osu(cell: Cell, program: SiteProgram) -> dict[str, Value] | None:
    given = cell.parameters
    size = int(given["bytes"])
    arguments: list[str] = []
    barrier = program.benchmark in ("barrier", BARRIER)
    if cell.kernel == RATE:
        return _osu_rate(cell, program)
    if size < 0 and not barrier:
        size = 8
    if cell.kernel == "network.collective":
        alike = _osu_collective(cell, program)
    elif cell.kernel == OVERLAP:
        alike = f"op={given['op']} bytes={int(given['bytes'])}"
        if given["op"] != program.benchmark:
            return None
    elif cell.kernel == "network.one_sided":
        alike = _osu_one_sided(cell, program)
        arguments = ["-w", "allocate", "-s", str(given["sync"])]
    else:
        alike = _osu_messages(cell, program)
    if alike is None:
        return None
    if program.takes_size and not barrier:
        arguments += ["-m", f"{size}:{size}"]
    return {"at": alike, "arguments": " ".join(arguments), "work": float(max(size, 0))}


def _osu_rate(cell: Cell, program: SiteProgram) -> dict[str, Value] | None:
    given, ranks = cell.parameters, cell.placement.ranks
    size, pairs = int(given["bytes"]), int(given["pairs"])
    if given["window"] != _OSU_WINDOW:
        return None
    if ranks % 2 or pairs not in (0, ranks // 2):
        raise _Unlike("it pairs all ranks")
    arguments = f"-m {size}:{size}" if program.takes_size else ""
    return {
        "at": f"bytes={size} pairs={pairs} window={_OSU_WINDOW}",
        "arguments": arguments,
        "work": float(ranks // 2),
    }


def _osu_collective(cell: Cell, program: SiteProgram) -> str | None:
    given = cell.parameters
    persistent = program.benchmark != _collective(program)
    if given["op"] != _collective(program) or given["root"] != 0:
        return None
    if given.get("imbalance", 1.0) != 1.0 or persistent != (given.get("call") == "persistent"):
        return None
    return f"op={given['op']} bytes={int(given['bytes'])}" + " call=persistent" * persistent


def _osu_one_sided(cell: Cell, program: SiteProgram) -> str | None:
    """Latencies of single operations, bandwidths of windows. OSU's fences come in pairs."""
    given = cell.parameters
    op, window = _ONE_SIDED[program.benchmark]
    if (given["op"], given["window"], given["from"]) != (op, window, 0):
        return None
    if given["sync"] not in ("flush", "lock"):
        return None
    _check_two(cell)
    return f"bytes={int(given['bytes'])} op={op} sync={given['sync']} window={window}"


def _osu_messages(cell: Cell, program: SiteProgram) -> str | None:
    given = cell.parameters
    usual = "blocking" if program.benchmark == "latency" else "nonblocking"
    same = given["mode"] == usual and given["from"] == 0
    same &= given.get("direction", "unidirectional") == "unidirectional"
    same &= given.get("window", 64) == 64 and given.get("buffers", "one") == "one"
    if not same:
        return None
    _check_two(cell)
    return f"bytes={int(given['bytes'])} mode={usual}"


def _check_two(cell: Cell) -> None:
    """Raise _Unlike for other numbers of ranks than that of OSU's programs for pairs."""
    if cell.placement.ranks != 2:
        raise _Unlike("it takes two ranks")


_SPECIAL = {"npb": _npb, "hpl": _hpl, "hpcg": _hpcg, "stream": _stream, "osu": _osu}


def plan_beside(plan: Plan, folder: Path, timeout: float = 0.0) -> Plan:
    """The plan with the executables in a folder. Raises AssayError.

    ``timeout``: seconds that each launch of them may take; 0: derived from the work and from
    earlier launches.
    """
    from assay.plans.beside.programs import find_programs

    programs, refused = find_programs(folder)
    return with_beside(plan, programs, refused, timeout=timeout)
