"""The measured device of a run as an accelerator of a catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.design.parts.written import figure_text, plain
from assay.model.placement import Value
from assay.records.model import RunData
from assay.reference.accelerators import AcceleratorModel, identify
from assay.stats.core.model import CellSummary, MetricSummary

# Types of matrix products whose rates a catalogue may have as workloads, besides 64 bit.
_TYPES = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8")


def accelerator_lines(run: RunData, cells: Sequence[CellSummary], day: str) -> Iterator[str]:
    """An ``[[accelerator]]`` with the rates of one device; nothing without STREAM on a device.

    The user fills in price and power, and what a run lacks.
    """
    bandwidth = _best(cells, "gpu.stream", "bandwidth")
    facts = _facts(run)
    if bandwidth is None or facts is None:
        return
    name, memory = str(facts["device_name"]), facts.get("device_memory")
    units = facts.get("device_units")
    entry = identify(
        name,
        int(units) if isinstance(units, (int, float)) else None,
        float(memory) if isinstance(memory, (int, float)) else None,
    )
    dgemm = _best(cells, "gpu.gemm", "rate", type="fp64")
    link = _best(cells, "gpu.transfer", "bandwidth", direction="to device", memory="pinned")
    yield "[[accelerator]]"
    yield f'name = "{plain(name)}, measured"'
    yield f'source = "assay run {run.manifest.run}"'
    yield f'date = "{day}"'
    yield f'memory = "{memory} B"' if memory else '# memory = "80 GB"'
    yield _peak(entry, dgemm)
    yield f"dgemm = {figure_text(dgemm)}" if dgemm else '# dgemm = "60 Tflop/s"'
    yield f"bandwidth = {figure_text(bandwidth)}"
    yield f"link = {figure_text(link)}" if link else '# link = "50 GB/s"'
    yield '# price = { value = 20000, kind = "quoted", source = "offer of …" }'
    power = f"{entry.power:.0f} W" if entry and entry.power else "700 W"
    kind = "quoted" if entry and entry.power else "assumed"
    yield f'{"" if kind == "quoted" else "# "}power = {{ value = "{power}", kind = "{kind}" }}'
    rates = [(kind, _best(cells, "gpu.gemm", "rate", type=kind)) for kind in _TYPES]
    if any(rate for _, rate in rates):
        yield "[accelerator.rates]"
        # Workloads are counted in op/s.
        yield from (f"{kind} = {figure_text(rate, 'op/s')}" for kind, rate in rates if rate)


def _peak(entry: AcceleratorModel | None, dgemm: MetricSummary | None) -> str:
    """The vendor's peak in 64 bit, else the measured rate."""
    stated = entry.peak("fp64") if entry else None
    if stated is not None and (dgemm is None or stated >= dgemm.median):
        return f'peak = {{ value = "{stated:.6g} flop/s", kind = "quoted" }}'
    return f"peak = {figure_text(dgemm)}" if dgemm else '# peak = "67 Tflop/s"'


def _facts(run: RunData) -> dict[str, Value] | None:
    """The facts of the first measurement on a device."""
    return next((m.record.facts for m in run.measurements if "device_name" in m.record.facts), None)


def _best(
    cells: Sequence[CellSummary], kernel: str, metric: str, **parameters: str
) -> MetricSummary | None:
    """The largest of a metric on one device, in its memory; None if no usable cell has it."""
    found = [
        cell
        for cell in cells
        if cell.kernel == kernel
        and cell.status == "ok"
        and metric in cell.metrics
        and cell.cell.placement.ranks == 1
        and all(cell.cell.parameters.get(key) == value for key, value in parameters.items())
    ]
    if kernel == "gpu.stream":  # arrays that the device chose exceed its caches
        found = [
            cell for cell in found if cell.cell.parameters.get("elements") in (0, None)
        ] or found
    metrics = [cell.metrics[metric] for cell in found]
    return max(metrics, key=lambda each: each.median, default=None)
