"""The catalogue of kernels as terminal output (``assay kernels``), Markdown and plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.kernels.catalogue import Kernel, Parameter
from assay.units import format_quantity

if TYPE_CHECKING:
    from rich.console import Console


# Columns of the catalogue, and the minimum terminal width at which each is shown.
_HEADINGS = {"kernel": 0, "what it measures": 0, "headline": 110, "parameters": 150}


def describe(kernel: Kernel) -> dict[str, object]:
    """A catalogue entry as plain values.

    ``work``: the work of one operation with default parameters.
    """
    return {
        "name": kernel.name,
        "title": kernel.title,
        "headline": kernel.headline,
        "ranks": {"min": kernel.min_ranks, "max": kernel.max_ranks},
        "threaded": kernel.threaded,
        "parameters": [
            {
                "name": parameter.name,
                "default": parameter.default,
                "meaning": parameter.meaning,
                "unit": parameter.unit,
                "choices": list(parameter.choices),
                "low": parameter.low,
                "high": parameter.high,
            }
            for parameter in kernel.parameters
        ],
        "metrics": [
            {
                "name": metric.name,
                "unit": metric.unit,
                "better": metric.better,
                "meaning": metric.meaning,
                "series": metric.series,
                "quantity": metric.quantity,
            }
            for metric in kernel.metrics
        ],
        "work": {
            quantity: {"unit": kernel.work_units.get(quantity, ""), "value": value}
            for quantity, value in _default_work(kernel).items()
        },
        "source": kernel.source,
        "notes": kernel.notes,
    }


def _default_work(kernel: Kernel) -> dict[str, float | None]:
    """The work of all ranks for one operation, with default parameters and the minimum number of
    ranks.

    None where the kernel chooses its size at run time (the default is 0 elements).
    """
    defaults = {parameter.name: parameter.default for parameter in kernel.parameters}
    work = kernel.work(defaults, kernel.min_ranks, 1)
    sizes = [parameter.default for parameter in kernel.parameters if not parameter.omitted]
    sized_later = any(type(size) is int and size == 0 for size in sizes)
    return {
        quantity: None if sized_later and not value else value for quantity, value in work.items()
    }


def print_catalogue(catalogue: tuple[Kernel, ...], out: Console) -> None:
    """All kernels, one line each. Wide terminals also show headline metrics and parameters."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    shown = [heading for heading, width in _HEADINGS.items() if out.width >= width]
    for heading in shown:
        table.add_column(heading, no_wrap=heading == "kernel")
    for kernel in catalogue:
        metric = kernel.metric(kernel.headline)
        headline = f"{kernel.headline} ({metric.unit})" if metric else kernel.headline
        names = ", ".join(parameter.name for parameter in kernel.parameters) or "none"
        table.add_row(*(kernel.name, kernel.title, headline, names)[: len(shown)])
    out.print(table)
    out.print("\nDetails of a kernel: [bold]assay kernels NAME[/bold]")


def print_kernel(kernel: Kernel, out: Console) -> None:
    """One kernel: ranks, parameters, metrics, work and source."""
    from rich.table import Table

    out.print(f"[bold]{kernel.name}[/bold]  {kernel.title}")
    threads = "ranks may have threads" if kernel.threaded else "one thread per rank"
    out.print(f"Ranks: {_ranks(kernel)}; {threads}.")
    if kernel.notes:
        out.print(kernel.notes)
    out.print("\n[bold]Parameters[/bold]" + ("" if kernel.parameters else ": none"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for parameter in kernel.parameters:
        default = f"= {parameter.default}" + (f" {parameter.unit}" if parameter.unit else "")
        table.add_row(f"  {parameter.name}", default, _range(parameter), parameter.meaning)
    if kernel.parameters:
        out.print(table)
    out.print("\n[bold]Metrics[/bold]")
    table = Table(box=None, pad_edge=False, show_header=False)
    for metric in kernel.metrics:
        mark = " (headline)" if metric.name == kernel.headline else ""
        better = f"{metric.better} is better"
        table.add_row(f"  {metric.name}", metric.unit, better, metric.meaning + mark)
    out.print(table)
    work = _default_work(kernel)
    if work:
        on = "one rank" if kernel.min_ranks == 1 else f"{kernel.min_ranks} ranks"
        out.print(f"\n[bold]Work[/bold] of one operation with default parameters, on {on}")
        for quantity, value in work.items():
            unit = kernel.work_units.get(quantity, "")
            known = value is not None
            text = (
                format_quantity(value, unit) if known else "depends on settings chosen at run time"
            )
            out.print(f"  {quantity}: {text}")
    out.print(f"\nSource: {kernel.source}", soft_wrap=True)


def catalogue_markdown(catalogue: Sequence[Kernel]) -> str:
    """All catalogue entries as Markdown: the content of ``docs/kernels.md``."""
    head = (
        "# Kernels\n\n"
        "All kernels, generated from the catalogue (`src/assay/kernels/`) by\n"
        "`assay kernels --markdown > docs/kernels.md`. Sizes and times of parameters are in SI "
        "base\nunits. How each kernel is checked is in [methods](methods/kernels.md).\n"
    )
    links = "\n".join(
        f"- [`{kernel.name}`](#{kernel.name.replace('.', '')}): {kernel.title}"
        for kernel in catalogue
    )
    return f"{head}\n{links}\n" + "".join(f"\n{_section(kernel)}" for kernel in catalogue)


def _section(kernel: Kernel) -> str:
    threads = "ranks may have threads" if kernel.threaded else "one thread per rank"
    lines = [
        f"## {kernel.name}",
        "",
        f"{kernel.title}. Ranks: {_ranks(kernel)}; {threads}.",
        *(["", kernel.notes] if kernel.notes else []),
    ]
    if kernel.parameters:
        lines += ["", "| parameter | default | values | meaning |", "| --- | --- | --- | --- |"]
        for parameter in kernel.parameters:
            default = f"{parameter.default} {parameter.unit}".rstrip()
            cells = (f"`{parameter.name}`", default, _range(parameter), parameter.meaning)
            lines.append(_row(cells))
    lines += ["", "| metric | unit | better | meaning |", "| --- | --- | --- | --- |"]
    for metric in kernel.metrics:
        name = f"**`{metric.name}`**" if metric.name == kernel.headline else f"`{metric.name}`"
        lines.append(_row((name, metric.unit, metric.better, metric.meaning)))
    if kernel.formulas:
        lines += ["", "| work of one operation | unit | formula |", "| --- | --- | --- |"]
        for quantity, formula in kernel.formulas.items():
            lines.append(_row((quantity, kernel.work_units.get(quantity, ""), formula)))
    return "\n".join([*lines, "", f"Source: {kernel.source}.", ""])


def _row(cells: Sequence[str]) -> str:
    """A row of a table, with vertical bars in cells escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _ranks(kernel: Kernel) -> str:
    if kernel.max_ranks == kernel.min_ranks:
        return f"{kernel.min_ranks}"
    most = "or more" if kernel.max_ranks is None else f"to {kernel.max_ranks}"
    return f"{kernel.min_ranks} {most}"


def _range(parameter: Parameter) -> str:
    if parameter.choices:
        return " | ".join(map(str, parameter.choices))
    if parameter.low is not None and parameter.high is not None:
        return f"{parameter.low:,.0f} to {parameter.high:,.0f}"
    if parameter.low is not None:
        return f"from {parameter.low:,.0f}"
    return f"to {parameter.high:,.0f}" if parameter.high is not None else ""
