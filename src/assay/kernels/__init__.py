"""The catalogue of kernels, and building them."""

from __future__ import annotations

from assay.errors import AssayError, nearest
from assay.kernels import (
    collective,
    compute,
    congestion,
    exchanges,
    fabric,
    gpu,
    hpcg,
    linpack,
    memory,
    network,
    noise,
    nonblocking,
    npb,
    outside,
    storage,
)
from assay.kernels.catalogue import Kernel
from assay.model.cell import Cell
from assay.model.placement import Value

# Defaults that mean "chosen on the machine"; "." is the working directory.
_LEFT_OPEN: tuple[Value, ...] = (0, -1, "auto", ".")

_CATALOGUE: dict[str, Kernel] = {
    kernel.name: kernel
    for family in (
        *(memory, compute, network, exchanges, nonblocking, collective, fabric, congestion),
        *(storage, noise, linpack, hpcg, npb, gpu),
    )
    for kernel in family.KERNELS
}
# Programs from outside, which assay doesn't build; ``kernels`` leaves them out.
_OUTSIDE: dict[str, Kernel] = {kernel.name: kernel for kernel in outside.KERNELS}


def kernels() -> tuple[Kernel, ...]:
    """Every kernel of the catalogue, in the order of its families."""
    return tuple(_CATALOGUE.values())


def known_kernel(name: str) -> Kernel | None:
    """The kernel of that name; None for the code of an imported run, for example."""
    return _CATALOGUE.get(name) or _OUTSIDE.get(name)


def find_kernel(name: str, *, where: str = "") -> Kernel:
    """The kernel of that name; raises AssayError naming the nearest one."""
    kernel = known_kernel(name)
    if kernel is None:
        raise AssayError(
            f"There is no kernel '{name}'.", where=where, fix=nearest(name, _CATALOGUE)
        )
    return kernel


def left_to_kernel(name: str) -> dict[str, Value]:
    """Defaults that a cell's name omits: values chosen on the machine and tacit
    parameters.
    """
    kernel = known_kernel(name)
    return {
        parameter.name: parameter.default
        for parameter in (kernel.parameters if kernel else ())
        if parameter.tacit or parameter.default in _LEFT_OPEN
    }


def left_open(cell: Cell) -> list[str]:
    """The names of the parameters whose value means "chosen on the machine"."""
    kernel = known_kernel(cell.kernel)
    return [
        parameter.name
        for parameter in (kernel.parameters if kernel else ())
        if parameter.default in _LEFT_OPEN
        and not parameter.omitted
        and cell.parameters.get(parameter.name, parameter.default) == parameter.default
    ]


def needs_thread_multiple(kernel: str, threads: int) -> bool:
    """Whether a launch with that kernel must request MPI_THREAD_MULTIPLE."""
    known = known_kernel(kernel)
    return known is not None and known.thread_multiple and threads > 1


def is_search(cell: Cell) -> bool:
    """Whether a cell is a search, which is measured once, before the cells whose parameters it
    sets.
    """
    kernel = known_kernel(cell.kernel)
    return kernel is not None and kernel.once
