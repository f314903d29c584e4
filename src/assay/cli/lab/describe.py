"""Shared by the commands of labs: description of a lab, progress display of its creation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from assay.lab.network import Progress
    from assay.lab.store import Lab


def facts(lab: Lab) -> dict[str, object]:
    """The facts of a lab that ``--json`` prints."""
    cluster = lab.cluster
    spec = cluster.spec if cluster else None
    return {
        "name": lab.name,
        "state": lab.state,
        "utc": lab.utc,
        "title": spec.title if spec else None,
        "topology": spec.topology if spec else None,
        "adapters": spec.adapters if spec else None,
        "trunk": spec.trunk if spec else None,
        "slurm": spec.slurm if spec else None,
        "remote_shell": str(cluster.remote_shell) if cluster else None,
        "hosts": [
            {"name": h.name, "namespace": h.namespace, "addresses": h.addresses, "cores": h.cores}
            for h in (cluster.hosts if cluster else ())
        ],
    }


def in_words(lab: Lab) -> str:
    """A lab in one line: its topology, hosts and rates."""
    from assay.units import format_quantity

    if lab.cluster is None:
        return ""
    spec = lab.cluster.spec
    title = spec.title or f"a topology of kind '{spec.topology.kind}'"
    rates = " and ".join(
        "no limit" if wire.rate is None else format_quantity(wire.rate, "B/s")
        for wire in spec.adapters
    )
    slurm = ", with a Slurm" if spec.slurm else ""
    return f"{title} ({len(lab.cluster.hosts)} hosts, {rates} each way{slurm})"


def watched(what: str) -> AbstractContextManager[Progress | None]:
    """A progress bar on a terminal, else nothing."""
    from contextlib import contextmanager, nullcontext

    from assay.console import console

    err = console(stderr=True)
    if not err.is_terminal:
        return nullcontext()
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    @contextmanager
    def shown() -> Iterator[Progress]:
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        with Bars(*columns, console=err, transient=True) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, steps: bars.update(task, completed=done, total=steps)

    return shown()
