"""Caveats: sentences on what affects a cell's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.arrays import Floats
from assay.kernels import is_search, known_kernel
from assay.kernels.gpu.common import BACKENDS, VERIFIED_ON_HARDWARE
from assay.model.cell import Cell
from assay.records.model import Measurement
from assay.records.stream import sent_by_adapter
from assay.stats.cells.contention import Contention, contention_of
from assay.stats.cells.device_state import device_caveats
from assay.stats.core.correlation import effective_size
from assay.stats.core.intervals import median_of, smallest_size
from assay.stats.core.launches import ENOUGH, are_ordered, span_of
from assay.stats.core.model import Stop
from assay.stats.core.warmup import mid_ranks
from assay.units import (
    counted,
    format_count,
    format_duration,
    format_half_width,
    format_quantity,
    format_signed,
)


@dataclass(frozen=True)
class Thresholds:
    """Limits beyond which a caveat is given."""

    # Reading the clock in whole ticks changes a sample of 100 ticks by at most 1%.
    ticks: float = 100.0
    # Share of the ranks' CPU time that is stolen: equal to the default precision; and seconds in
    # total, since steal is counted in steps of 10 ms.
    steal: float = 0.01
    least_steal: float = 0.05
    # Involuntary context switches per rank and second, and per rank in total. The scheduler's own
    # work causes a few per second; a rank that shares its core is switched after each time slice of
    # a few milliseconds, 100 times per second or more.
    switches: float = 50.0
    least_switches: float = 10.0
    # A rank slower than the others by this share: cores of a healthy node differ by 1 or 2%.
    slow_rank: float = 0.05
    # Effective samples divided by actual samples. At one half, an interval that ignored dependence
    # would be 1.4 times too narrow and cover 83%.
    effective: float = 0.5
    # Fewer samples don't show correlation or drift within a launch.
    samples: int = 20
    # Standard deviations that chance alone exceeds once in a thousand launches or cells.
    evidence: float = 3.3
    # Minimum bytes sent by an adapter other than the requested one, and their minimum ratio to the
    # bytes of the requested adapter: connection setup and host management use any adapter.
    traffic: float = 1e5
    # A rank stood still if it neither ran nor waited for a CPU for this many seconds, and if these
    # exceed the seconds of the cell's other launches by this factor. Ranks that sleep by design
    # always do so.
    still: float = 0.5
    times_still: float = 10.0
    times_traffic: float = 2.0


THRESHOLDS = Thresholds()
# The beginning of the caveat on a missed precision, which concerns the width of an interval and not
# whether it is right.
IMPRECISE = "Known to "


@dataclass(frozen=True)
class CaveatInputs:
    """One cell's measurements with its headline costs, an array per launch, warm-up dropped."""

    cell: Cell
    measurements: Sequence[Measurement]
    launches: Sequence[Floats]
    medians: Floats
    half_width: float | None
    precision: float
    confidence: float
    stop: Stop
    #: The facts of the run's manifest.
    system: Mapping[str, object] = field(default_factory=dict)
    #: The smallest difference that the costs can show; None if unknown.
    step: float | None = None


def caveats(evidence: CaveatInputs) -> list[str]:
    """All caveats of a cell, in a fixed order."""
    return [sentence for check in _CHECKS for sentence in check(evidence)]


def _few(evidence: CaveatInputs) -> Iterator[str]:
    count, needed = len(evidence.medians), smallest_size()
    if count < needed and not is_search(evidence.cell):
        yield (
            f"{counted(count, 'launch')} only: there is no 95% interval, which needs {needed} "
            f""
            "launches."
        )


def _imprecise(evidence: CaveatInputs) -> Iterator[str]:
    if evidence.half_width is not None and evidence.stop != "precision":
        why = {
            "budget": "the budget was spent",
            "launches": "no more launches were allowed",
            "interrupted": "the run was interrupted",
            "failed": "a launch failed",
        }[evidence.stop]
        if (evidence.step or 0.0) > evidence.precision * abs(median_of(evidence.medians)):
            why = "the clock's step permits no better"
        yield (
            f"{IMPRECISE}{format_half_width(evidence.half_width)} where "
            f"{format_half_width(evidence.precision)} was requested: {why}."
        )


def _equal(evidence: CaveatInputs) -> Iterator[str]:
    if evidence.half_width == 0.0 and not evidence.step:
        count = counted(len(evidence.medians), "launch")
        yield (
            f"The values of its {count} are equal, and their resolution is unknown: the interval's "
            f"zero width doesn't show the precision."
        )


def _clock(evidence: CaveatInputs) -> Iterator[str]:
    # The headline's costs may be per unit of work; the clock timed the series itself.
    ticks = [
        median_of(np.asarray(series.values)) * (m.record.batch or 1) / m.clock.resolution
        for m in evidence.measurements
        if m.clock is not None and m.clock.resolution > 0.0
        for series in m.record.series[:1]
        if series.unit == "s" and series.values
    ]
    if ticks and min(ticks) < THRESHOLDS.ticks:
        yield f"The clock is too coarse: a sample lasts only {min(ticks):.3g} of its ticks."


def _dependent(evidence: CaveatInputs) -> Iterator[str]:
    long = [values for values in evidence.launches if values.size >= THRESHOLDS.samples]
    if long:
        shares = [effective_size(values) / values.size for values in long]
        share = float(np.median(shares))
        if share < THRESHOLDS.effective:
            size = int(np.median([values.size for values in long]))
            yield (
                f"Samples depend on their predecessors: the {size} samples of a launch count as "
                f"{share * size:.0f} independent samples."
            )
    if are_ordered(evidence.medians):
        taken = evidence.measurements
        span = span_of([m.utc for m in taken], [m.record.wall for m in taken])
        allowed = (
            "the interval allows for it"
            if evidence.medians.size >= ENOUGH
            else f"the interval holds for the median in these {format_duration(span)}, not for "
            "other times"
        )
        yield f"Launches depend on their predecessors (the machine drifts): {allowed}."


def _unsteady(evidence: CaveatInputs) -> Iterator[str]:
    # Launches that were kept short, because launches differ, have too few samples for the test.
    long = [values for values in evidence.launches if values.size >= THRESHOLDS.samples]
    drifting = [
        shift
        for values in long
        if (shift := drift(values)) is not None and abs(shift) > evidence.precision
    ]
    if 2 * len(drifting) > len(long):
        typical = 100.0 * float(np.median(drifting))
        enough = "" if len(long) == len(evidence.launches) else " with enough samples to test"
        of = f"{len(drifting)} of {counted(len(long), 'launch')}{enough}"
        yield (
            f"Not steady after warm-up in {of}: the first quarter differs from the second "
            f"half by {format_signed(typical, '+.2g')}%."
        )


def drift(values: Floats) -> float | None:
    """Relative shift of the first quarter's median from the second half's; None if insignificant.

    Rank-sum test (Wilcoxon 1945; Mann & Whitney 1947), normal approximation, scaled to the
    effective number of samples of the second half.
    """
    if values.size < THRESHOLDS.samples:
        return None
    first, rest = values[: values.size // 4], values[values.size // 2 :]
    both = mid_ranks(np.concatenate([first, rest]))
    excess = float(both[: first.size].sum()) - first.size * (both.size + 1) / 2.0
    # With ties the variance follows from the ranks themselves.
    variance = first.size * rest.size / both.size * float(both.var(ddof=1))
    worth = effective_size(rest) / rest.size
    reference = float(np.median(rest))
    if variance <= 0.0 or reference == 0.0:
        return None
    if abs(excess) * (worth / variance) ** 0.5 <= THRESHOLDS.evidence:
        return None
    return (float(np.median(first)) - reference) / abs(reference)


def _ranks(evidence: CaveatInputs) -> Iterator[str]:
    counts = [
        (sum(not r.pinned for r in m.ranks), sum(r.oversubscribed for r in m.ranks), len(m.ranks))
        for m in evidence.measurements
        if m.ranks
    ]
    if not counts:
        return
    unpinned, oversubscribed = max(c[0] for c in counts), max(c[1] for c in counts)
    total = max(c[2] for c in counts)
    if unpinned:
        yield f"{unpinned} of {total} ranks were not pinned: they may have moved between cores."
    if oversubscribed:
        yield f"{oversubscribed} of {total} ranks shared their cores with others."


def _slow_rank(evidence: CaveatInputs) -> Iterator[str]:
    kernel = known_kernel(evidence.cell.kernel)
    if kernel is not None and not kernel.even:
        return
    table = [m.record.rank_medians for m in evidence.measurements if len(m.record.rank_medians) > 1]
    if not table or len({len(row) for row in table}) > 1:
        return
    medians = np.median(np.array(table, dtype=np.float64), axis=0)
    slowest = int(np.argmax(medians))
    others = float(np.median(np.delete(medians, slowest)))
    if others > 0.0 and medians[slowest] > (1.0 + THRESHOLDS.slow_rank) * others:
        ranks = next((m.ranks for m in evidence.measurements if m.ranks), ())
        seat = next((r for r in ranks if r.rank == slowest), None)
        cpus = ", ".join(map(str, seat.cpus)) if seat else ""
        where = f" (host {seat.host}, CPU {cpus})" if seat and cpus else ""
        yield (
            f"Rank {slowest}{where} is {100 * (medians[slowest] / others - 1.0):.0f}% slower than "
            "the others."
        )


def _starts(evidence: CaveatInputs) -> Iterator[str]:
    """Synchronised starts that ranks missed, and clocks that diverged during the measurement."""
    kept = sum(_fact(m, "late_kept") for m in evidence.measurements)
    if kept:
        samples = sum(len(s.values) for m in evidence.measurements for s in m.record.series[:1])
        yield (
            f"{kept:.0f} of {samples} samples began late on at least one rank. They count and "
            f"include the wait for that rank, because the ranks could not be synchronised better "
            f"in the time available."
        )
    error = max((_fact(m, "clock_error") for m in evidence.measurements), default=0.0)
    typical = median_of(evidence.medians)
    if error > evidence.precision * typical > 0.0:
        yield (
            f"The hosts' clocks diverged by {format_quantity(error, 's')}, which is "
            f"{100 * error / typical:.2g}% of the time measured with them."
        )


def _fact(measurement: Measurement, name: str) -> float:
    """A numeric fact of a measurement; 0 if there is none with that name."""
    value = measurement.record.facts.get(name, 0.0)
    return 0.0 if isinstance(value, str) else float(value)


def _disturbed(evidence: CaveatInputs) -> Iterator[str]:
    placement = evidence.cell.placement
    stolen, share = _per_second(evidence, "steal_seconds")
    share /= placement.ranks * placement.threads
    if share > THRESHOLDS.steal and stolen > THRESHOLDS.least_steal:
        yield f"The hypervisor gave {100 * share:.2g}% of the CPU time to other machines (steal)."
    others = contention_of(evidence.measurements, evidence.system)
    if others is not None and others.noticeable:
        yield contention_text(others)
    switched, switches = _per_second(evidence, "involuntary_switches")
    switches /= placement.ranks
    if switches > THRESHOLDS.switches and switched > THRESHOLDS.least_switches * placement.ranks:
        yield f"Ranks were preempted {switches:.0f} times per second."
    throttled, _ = _per_second(evidence, "throttle_events")
    if throttled > 0:
        yield f"Cores were throttled {throttled:.0f} times because they were too hot."


def _stood_still(evidence: CaveatInputs) -> Iterator[str]:
    """Launches in which a rank was stopped, suspended or held up by a device."""
    known = [
        (m, value)
        for m in evidence.measurements
        if (value := m.record.covariates.get("asleep_seconds")) is not None
    ]
    found = []
    for i, (measurement, value) in enumerate(known):
        if value < THRESHOLDS.still:
            continue
        others = [other for j, (_, other) in enumerate(known) if j != i]
        typical = float(np.median(others)) if others else 0.0
        if value >= THRESHOLDS.times_still * typical:
            found.append((value, measurement))
    if not found or (not _never_sleeps(evidence.cell) and len(known) < _FEW_OTHERS):
        return
    value, longest = max(found, key=lambda each: each[0])
    rank = longest.record.covariates.get("most_asleep_rank")
    who = "A rank" if rank is None else f"Rank {rank:.0f}"
    number = evidence.measurements.index(longest) + 1
    more = "" if len(found) < 2 else f", and in {counted(len(found) - 1, 'further launch')}"
    yield (
        f"{who} stood still for {format_duration(value)} in launch {number} ({longest.launch})"
        f"{more}: it was stopped or suspended, or waited for a device."
    )


# Other launches without which a kernel that may sleep isn't judged.
_FEW_OTHERS = 3


def _never_sleeps(cell: Cell) -> bool:
    """Whether ranks of this cell only compute and poll; files and commands make them sleep."""
    return not cell.kernel.startswith(("storage.", "app", "test."))


def contention_text(found: Contention) -> str:
    """The number of CPUs that other processes kept busy, or that the number is impossible."""
    if found.possible:
        return f"Other processes kept {format_count(found.busy)} CPUs busy during the measurement."
    return (
        f"Other processes can't have kept {format_count(found.busy)} of "
        f"{counted(found.cpus or 0, 'CPU')} busy: hosts that share a "
        "machine were each counted, or its counters are wrong."
    )


def _per_second(evidence: CaveatInputs, name: str) -> tuple[float, float]:
    """A counted covariate over all launches, in total and per second of sampling; 0 if unknown."""
    spans = [
        (value, m.record.covariates.get("sampling_seconds") or m.record.wall)
        for m in evidence.measurements
        if (value := m.record.covariates.get(name)) is not None
    ]
    total, seconds = sum(s[0] for s in spans), sum(s[1] for s in spans)
    return total, (total / seconds if seconds > 0.0 else 0.0)


def _other_adapter(evidence: CaveatInputs) -> Iterator[str]:
    """Most bytes were sent over another adapter than the placement requests."""
    adapters = (evidence.cell.placement.adapter or "").split(",")
    sent = sent_by_adapter(m.record for m in evidence.measurements)
    if not adapters[0] or not sent:
        return
    busiest = next(iter(sent))
    over = max(sent.get(name, 0.0) for name in adapters)
    enough = max(THRESHOLDS.traffic, THRESHOLDS.times_traffic * over)
    if sent[busiest] > enough:
        yield (
            f"The placement requests {' and '.join(adapters)}, but "
            f"{format_quantity(sent[busiest], 'B')} went over {busiest} and "
            f"{format_quantity(over, 'B')} over {' and '.join(adapters)}."
        )


def _device_state(evidence: CaveatInputs) -> Iterator[str]:
    yield from device_caveats(evidence.measurements)


def _devices(evidence: CaveatInputs) -> Iterator[str]:
    """A kind of device on which no result was compared with another program's."""
    kinds = {
        (str(m.record.parameters.get("backend", "")), str(m.record.facts["device_kind"]))
        for m in evidence.measurements
        if "device_kind" in m.record.facts
    }
    for backend, kind in sorted(kinds - VERIFIED_ON_HARDWARE):
        yield (
            f"Not verified on hardware: kernels by {BACKENDS[backend]} weren't yet compared with "
            f"other programs on a device of this kind ({kind})."
        )


_CHECKS: tuple[Callable[[CaveatInputs], Iterator[str]], ...] = (
    _few,
    _imprecise,
    _equal,
    _clock,
    _dependent,
    _unsteady,
    _ranks,
    _slow_rank,
    _starts,
    _other_adapter,
    _disturbed,
    _stood_still,
    _device_state,
    _devices,
)
