"""How a run was measured, in sentences for the section on methods of a paper.

The sentences state what the rules of Hoefler & Belli (2015) ask for; docstrings name the rules.
``assay.report.latex.bibliography`` has the keys of works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.records.model import Manifest, RunData
from assay.report.model import MethodSentence
from assay.stats.core.model import CellSummary
from assay.system.model import System
from assay.units import counted, format_duration, format_half_width, format_quantity, listed

RULES = "hoefler2015"
# Works that describe a benchmark, by the beginning of its kernels' names.
_WORKS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "memory.stream": ("STREAM", ("mccalpin1995",)),
    "npb.": ("the NAS Parallel Benchmarks", ("bailey1994",)),
    "linpack": ("Linpack", ("dongarra2003",)),
    "hpcg": ("HPCG", ("heroux2013", "dongarra2016")),
    "storage.io500": ("IO500", ("kunkel2016",)),
}
# Most levels of a factor and most toolchains that a sentence names.
_MOST = 8


def run_methods(run: RunData, cells: Sequence[CellSummary]) -> list[MethodSentence]:
    """The sentences; an imported run has none of them, since its measuring is unknown."""
    return [
        *_tool(run.manifest),
        *_machine(run.manifest),
        *_toolchains(run.manifest),
        *_factors(cells),
        *_replication(run, cells),
        *_time(run),
        *_summaries(cells),
        *_missing(run, cells),
    ]


def _tool(manifest: Manifest) -> Iterator[MethodSentence]:
    yield MethodSentence(
        f"All results were measured by assay {manifest.assay} in the run {manifest.run} of "
        f"the plan {manifest.plan.name}, by the rules for scientific benchmarking.",
        ["assay", RULES],
    )
    if manifest.fake:
        yield MethodSentence("The machine is simulated; no number is a measurement.")


def _machine(manifest: Manifest) -> Iterator[MethodSentence]:
    """Rule 9: the setup."""
    system = System.known(manifest.system)
    if system is None:
        return
    processor, memory = system.processor, system.memory
    parts = [
        processor.name or "",
        counted(processor.cores, "core") if processor.cores else "",
        f"{format_quantity(memory.total, 'B')} of memory" if memory.total else "",
    ]
    clock = processor.frequency
    parts.append(f"governor {listed(clock.governors)}" if clock.governors else "")
    if clock.turbo is not None:
        parts.append(f"turbo {'on' if clock.turbo else 'off'}")
    software = " ".join(filter(None, (system.os.name, system.os.kernel)))
    node = ", ".join(filter(None, parts))
    if node:
        where = f" It runs {software}." if software else ""
        virtual = " It is a virtual machine." if system.virtualisation.virtual else ""
        yield MethodSentence(f"A node has {node}.{where}{virtual}")


def _toolchains(manifest: Manifest) -> Iterator[MethodSentence]:
    """Rule 9: compilers, MPI libraries and BLAS, with versions and options."""
    for name, facts in list(manifest.toolchains.items())[:_MOST]:
        blas = facts.get("blas")
        parts = [
            _part("compiler", facts, "cxx", "cxx_version"),
            _part("MPI", facts, "mpi_flavour", "mpi_version"),
            _part("BLAS", blas if isinstance(blas, Mapping) else {}, "name", "version"),
            _part("options", facts, "cxx_flags"),
        ]
        known = ", ".join(filter(None, parts))
        if known:
            yield MethodSentence(f"Toolchain {name}: {known}.")


def _part(what: str, facts: Mapping[str, object], *names: str) -> str:
    words = [str(facts[name]) for name in names if facts.get(name)]
    return f"{what} {' '.join(words)}" if words else ""


def _factors(cells: Sequence[CellSummary]) -> Iterator[MethodSentence]:
    """Rules 2 and 9: benchmarks, factors and their levels."""
    kernels = list(dict.fromkeys(cell.kernel for cell in cells))
    works = [
        (title, keys)
        for prefix, (title, keys) in _WORKS.items()
        if any(kernel.startswith(prefix) for kernel in kernels)
    ]
    named = kernels[:_MOST]
    more = len(kernels) - len(named)
    yield MethodSentence(
        f"The plan has {counted(len(cells), 'cell')} of {counted(len(kernels), 'kernel')}: "
        f"{', '.join(f'`{each}`' for each in named)}{f' and {more} more' if more else ''}."
    )
    if works:
        yield MethodSentence(
            f"Kernels after {listed([title for title, _ in works])} are assay's own code, so their "
            "rates are not official results.",
            [key for _, keys in works for key in keys],
        )
    placements = [cell.cell.placement for cell in cells]
    factors = {
        "nodes": [each.nodes for each in placements],
        "ranks per node": [each.ppn for each in placements],
        "threads per rank": [each.threads for each in placements],
    }
    levels = []
    for name, values in factors.items():
        found = sorted(set(values))
        shown = ", ".join(map(str, found[:_MOST])) + (", …" if len(found) > _MOST else "")
        levels.append(f"{name} {shown}")
    if placements:
        yield MethodSentence(f"The levels of placement are {'; '.join(levels)}.")


def _replication(run: RunData, cells: Sequence[CellSummary]) -> Iterator[MethodSentence]:
    """Rule 5: how often, until when, in which order."""
    plan = run.manifest.plan
    rule = plan.replication
    made = [max(metric.n for metric in cell.metrics.values()) for cell in cells if cell.metrics]
    if not made:
        return
    low, high = min(made), max(made)
    times = counted(low, "launch") if low == high else f"{low} to {counted(high, 'launch')}"
    sessions = f" in each of {rule.planned} sessions" if rule.repeated else ""
    yield MethodSentence(
        f"Each cell has {times}{sessions}, in blocks of random order (seed {plan.seed}). "
        f"Launching ended when the {100 * rule.confidence:g}% interval of the median was within "
        f"{format_half_width(rule.precision)} of it, after {rule.max_launches} launches, or after "
        f"{format_duration(rule.budget)}."
    )


def _time(run: RunData) -> Iterator[MethodSentence]:
    """Rule 10: clock, synchronisation and summary over ranks."""
    clocks = [m.clock for m in run.measurements if m.clock is not None]
    clock = ""
    if clocks:
        names = listed(list(dict.fromkeys(each.source for each in clocks)))
        finest = max(each.resolution for each in clocks)
        clock = f" The clock is {names}, with a resolution of {format_quantity(finest, 's')}."
    yield MethodSentence(
        f"Times of parallel operations come from the slowest rank.{clock} "
        "Leading samples that are not yet steady are left out."
    )


def _summaries(cells: Sequence[CellSummary]) -> Iterator[MethodSentence]:
    """Rules 3 to 8: medians, intervals without a distribution, rates from costs."""
    without = sum(
        1 for cell in cells if cell.metrics and all(m.ci95 is None for m in cell.metrics.values())
    )
    none = f" {counted(without, 'cell')} with fewer than six have none." if without else ""
    yield MethodSentence(
        "Values are medians of the launches' medians, with 95% intervals over launches that assume "
        f"no distribution.{none} Rates are work divided by these times.",
        [RULES],
    )


def _missing(run: RunData, cells: Sequence[CellSummary]) -> Iterator[MethodSentence]:
    """Rule 2: what was not measured."""
    failed = sum(1 for cell in cells if not cell.metrics)
    words = []
    if failed:
        words.append(f"{counted(failed, 'cell')} of {len(cells)} have no result.")
    if not run.complete:
        words.append("The run is incomplete.")
    if words:
        yield MethodSentence(" ".join(words))
