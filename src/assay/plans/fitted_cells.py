"""Cells with order = fitted: their rank order is computed from the traffic between ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assay.errors import AssayError
from assay.kernels.catalogue import Kernel
from assay.model.cell import Cell
from assay.model.rank_order import FITTED, ORDERS
from assay.plans.plan_target import Fitting, Infeasible
from assay.units import counted, counted_verb

if TYPE_CHECKING:
    from assay.arrays import Floats


def with_fitted_order(cell: Cell, kernel: Kernel, fitting: Fitting) -> Cell:
    """The cell with the order fitted to its communication matrix; ``fitting.pending`` says which.

    Raises Infeasible for a command's matrix of another number of ranks, AssayError for a command
    without a matrix.
    """
    placement = cell.placement
    on = f"{kernel.name} on {placement.nodes} × {placement.ppn} ranks"
    from assay.plans.fitted_order import MOST_RANKS, fit_order

    many = placement.ranks > MOST_RANKS
    alone = min(placement.nodes, placement.ppn) == 1
    matrix = None if alone or many else _matrix_of(cell, kernel, fitting)
    if many and not alone:
        order, why = "block", f"no order is fitted for more than {MOST_RANKS} ranks"
    elif matrix is None:
        order, why = "block", "no order suits its messages better than others"
    else:
        fit = fit_order(matrix, placement.nodes, placement.ppn)
        order, why = fit.order, f"{fit.saved:.0%} fewer bytes between nodes than in block order"
        if fit.saved <= 0:
            why = "no order tried sends fewer bytes between nodes"
    short = order if len(order) <= 24 else f"{order[:20]},…"
    fitting.pending["order"] = f"{on}: order {short}: {why}."
    cell = msgspec.structs.replace(cell, placement=msgspec.structs.replace(placement, order=order))
    if order not in ORDERS:
        fitting.fitted.add(cell.id)
    return cell


def _matrix_of(cell: Cell, kernel: Kernel, fitting: Fitting) -> Floats | None:
    """The cell's communication matrix; None if all pairs exchange equally.

    Raises AssayError for a command without a matrix, Infeasible for another number of ranks.
    """
    from assay.plans.fitted_order import dense

    ranks = cell.placement.ranks
    if not kernel.outside:
        if kernel.peers is None:
            return None
        return dense(kernel.peers(cell.parameters, ranks, cell.placement.threads), ranks)
    messages = fitting.messages
    if messages is None:
        raise AssayError(
            "No order can be fitted to a command without a communication matrix.",
            where=f"order = {FITTED}",
            fix="Name the file of its communication matrix: --matrix FILE.",
        )
    if messages.ranks != ranks:
        raise Infeasible(
            f"order = {FITTED} on {counted(ranks, 'rank')}, but the communication matrix "
            f"covers {messages.ranks}.",
            where=messages.where,
            fix=f"Place {messages.ranks} ranks, or count what "
            f"{counted_verb(ranks, 'rank', 'send')}.",
        )
    return messages.matrix
