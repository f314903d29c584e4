"""The answer on latency under load: what a load costs while other cores stream."""

from __future__ import annotations

from assay.kernels.naming import cell_name
from assay.questions.common.answer import Evidence
from assay.questions.common.parts import Part
from assay.questions.common.ratios import ratio_row
from assay.questions.common.selection import evidence
from assay.questions.speed.memory.loaded import LoadedFindings, Standing
from assay.units import counted, format_quantity, listed

# At most this many programs are named in a sentence.
_NAMED = 4


def loaded_part(found: LoadedFindings) -> Part:
    """The part on latency under load."""
    idle, top = found.curve[0], found.curve[-1]
    streaming = counted(found.streaming, "core")
    part = Part(headline=[idle.latency, top.latency])
    part.evidence += [
        evidence("Latency of a load, idle memory", idle.latency, "latency"),
        evidence(
            f"Latency of a load while {streaming} "
            f"{'streams' if found.streaming == 1 else 'stream'}, load of {top.load}%",
            top.latency,
            "latency",
            note=f"streams move {format_quantity(top.rate, 'B/s')}",
        ),
        ratio_row(f"Latency at a load of {top.load}% over idle", found.growth),
    ]
    if found.knee is not None:
        part.evidence.append(
            evidence(
                "Latency of a load at the knee of the curve",
                found.knee.latency,
                "latency",
                note=f"streams move {format_quantity(found.knee.rate, 'B/s')}, a load of "
                f"{found.knee.load}%",
            )
        )
    if found.idle_over_latency is not None:
        part.evidence.append(ratio_row("Idle latency over memory.latency", found.idle_over_latency))
    if found.full_over_stream is not None:
        part.evidence.append(
            ratio_row(
                f"Traffic of the streams at full rate over memory.stream on {streaming}",
                found.full_over_stream,
                metric="traffic",
            )
        )
    part.evidence += [_standing(each) for each in found.programs]
    part.remark = (
        f"a load takes {format_quantity(idle.latency.metric.median, 's')} from idle memory and "
        f"{format_quantity(top.latency.metric.median, 's')} while {streaming} "
        f"{'streams' if found.streaming == 1 else 'stream'}"
    )
    part.method.append(
        "Latency under load: one core follows a chain of dependent loads while the others stream "
        "at a given share of their full rate. The traffic counts the bytes of the streams, "
        "as STREAM does, in the same samples. The knee is the point farthest below the chord "
        "of the curve, with both axes scaled to 1 (Satopää et al. 2011)."
    )
    _advise(part, found)
    return part


def _standing(found: Standing) -> Evidence:
    cell = found.program.summary.cell
    side = {None: "", True: ", beyond the knee", False: ", below the knee"}[found.beyond_knee]
    return Evidence(
        label=f"Memory traffic of {cell_name(cell)}",
        metric="traffic",
        unit="B/s",
        value=found.traffic,
        cells=[found.program.summary.id],
        note=f"by its work formula; at this traffic a load takes "
        f"{format_quantity(found.latency, 's')}{side}",
    )


def _advise(part: Part, found: LoadedFindings) -> None:
    if found.knee is None:
        return
    beyond = [each for each in found.programs if each.beyond_knee]
    names = list(dict.fromkeys(cell_name(each.program.summary.cell) for each in beyond))
    knee = format_quantity(found.knee.rate, "B/s")
    if names:
        more = len(names) - _NAMED
        named = listed([*names[:_NAMED], *([f"{more} more"] if more > 0 else [])])
        part.advice.append(
            f"{named} {'moves' if len(names) == 1 else 'move'} more than {knee}, beyond the knee "
            "of the latency under load: fewer ranks per node shorten each access there, and codes "
            "that hide latency (prefetch, independent accesses) lose less."
        )
    else:
        part.advice.append(
            f"Keep the traffic of a node below {knee}, the knee of its latency under load, where "
            "codes wait for single accesses: beyond it, more traffic mostly adds latency."
        )
