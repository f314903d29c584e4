"""The theoretical arithmetic peak of the cores; memory bandwidth is not considered.

    peak = cores * flops per cycle * clock

Flops per cycle are vector pipes times lanes, times two for a fused multiply-add
(``reference/microarchitectures.toml``, each entry with its source). Vectors are no wider than the
instruction set that the kernel shows: a hypervisor may hide AVX-512.

**The valid limit is the peak at the clock rate measured while the kernel ran.** No processor holds
its highest turbo clock on all cores, and many run below their base clock in wide vector code, so a
share of the peak at the maximum clock understates the code, and a share of the peak at the base
clock can exceed 100%. The clock is therefore taken from, in this order: the clock rate measured
along with the samples (covariate ``clock_rate``), cpufreq's maximum, the base clock, the clock in
/proc/cpuinfo (on virtual machines a constant that the hypervisor sets). ``assumed`` is true if the
peak depends on an assumption. Hoefler & Belli (SC15), rule 1, asks that the base of such a ratio be
given: ``explanation`` gives it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.reference.microarchitectures import identify
from assay.system.model import Processor, System
from assay.units import format_quantity

ClockSource = Literal["measured", "cpufreq maximum", "base", "/proc/cpuinfo"]

_ASSUMED_PIPES = 2


class Peak(msgspec.Struct, frozen=True):
    """The peak of some cores."""

    #: Peak of all cores, flop/s.
    value: float
    #: Operations per core and cycle.
    flops_per_cycle: float
    #: Clock rate, Hz.
    clock_hz: float
    #: Source of the clock rate.
    clock_source: ClockSource
    #: Whether any factor is an assumption.
    assumed: bool
    #: The calculation in one sentence.
    explanation: str


def peak_flops(system: System, cores: int, clock_hz: float | None = None) -> Peak | None:
    """The double-precision peak of ``cores`` physical cores of a system.

    ``cores`` are physical: the hardware threads of a core share its pipes. They may belong to
    several equal nodes. ``clock_hz`` is the clock measured along with the samples (Hz), None if it
    was not. The result is None if the clock or the instruction set is unknown. Raises ValueError if
    ``cores`` is not positive.
    """
    if cores < 1:
        raise ValueError(f"cores must be positive, not {cores}")
    per_core = flops_per_cycle(system.processor)
    clock = _clock(system, clock_hz)
    if per_core is None or clock is None:
        return None
    flops, basis, assumed_flops = per_core
    hertz, source, description, assumed_clock = clock
    value = cores * flops * hertz
    noun = "core" if cores == 1 else "cores"
    explanation = (
        f"{cores} {noun} × {flops:g} flops per cycle ({basis}) × {format_quantity(hertz, 'Hz')} "
        f"({description}) = {format_quantity(value, 'flop/s')}"
    )
    return Peak(
        value=value,
        flops_per_cycle=flops,
        clock_hz=hertz,
        clock_source=source,
        assumed=assumed_flops or assumed_clock,
        explanation=explanation,
    )


def flops_per_cycle(processor: Processor) -> tuple[float, str, bool] | None:
    """Double-precision operations per core and cycle, their basis, and whether they are assumed.

    None if neither the processor nor its vector width is known.
    """
    entry = identify(processor.vendor, processor.family, processor.model, processor.name)
    if entry is None:
        bits = processor.vector_bits
        if bits is None:
            return None
        fused = 2 if processor.fma else 1
        flops = _ASSUMED_PIPES * bits // 64 * fused
        kind = "FMA pipes" if processor.fma else "pipes (an adder, a multiplier)"
        return flops, f"assumed: two {bits}-bit {kind}, because the processor is unknown", True
    bits, fused = entry.pipe_bits, 2 if entry.fma else 1
    hidden = ""
    x86 = entry.vendor in ("AuthenticAMD", "GenuineIntel", "HygonGenuine")
    # The oldest entries are scalar (64 bits) even where there are vectors.
    if x86 and processor.vector_bits is not None and processor.vector_bits < bits:
        bits = processor.vector_bits
        hidden = f", {bits}-bit vectors here"
    if x86 and entry.fma and processor.fma is False:
        fused = 1
        hidden += ", no FMA here"
    pipes = f"{entry.pipes} {bits}-bit {'FMA ' if fused == 2 else ''}pipe"
    basis = f"{entry.name}: {pipes}{'s' if entry.pipes > 1 else ''}{hidden}"
    if processor.hybrid:
        basis += "; the slower kind of core has fewer"
    return entry.pipes * bits // 64 * fused, basis, bool(processor.hybrid)


def _clock(system: System, measured: float | None) -> tuple[float, ClockSource, str, bool] | None:
    """The clock (Hz), its source, a description, and whether it is an assumption."""
    f = system.processor.frequency
    if measured is not None and measured > 0:
        return measured, "measured", "measured while it ran", False
    if f.maximum is not None:
        # A limit set below the hardware's maximum applies instead.
        highest = min(f.limit, f.maximum) if f.limit is not None else f.maximum
        if f.turbo is False and f.base is not None:
            return min(highest, f.base), "base", "the nominal clock; turbo is off", False
        if f.turbo is False:
            return highest, "cpufreq maximum", "the highest clock; turbo is off", False
        if f.driver == "acpi-cpufreq":
            # Its table ends at the nominal clock, or at 1 MHz above it as an entry for turbo.
            return highest, "cpufreq maximum", "turbo exceeds it by an unknown amount", True
        if highest < f.maximum:
            return highest, "cpufreq maximum", "the cap set in the kernel", False
        description = "the highest turbo clock, which all cores together rarely reach"
        return highest, "cpufreq maximum", description, False
    if f.base is not None:
        return f.base, "base", "the nominal clock; turbo may exceed it", False
    if f.current is not None:
        return f.current, "/proc/cpuinfo", "as /proc/cpuinfo shows it, unverified", True
    return None
