"""The search over all architectures and numbers of nodes, with prices and predicted rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Bools, Floats
from assay.design.architecture import Architecture, architectures
from assay.design.candidates import Bill, Builder, PriceFactors
from assay.design.spec.model import DesignSpec
from assay.design.workload import LINPACK, STREAM, needs_rate, times
from assay.errors import AssayError, nearest
from assay.units import counted

# Budget, relative to the given one, for which the value of more money is computed.
MORE_MONEY = 1.1
# The limits on money.
BUDGET, TOTAL = "budget", "total_cost"
# The key of the specification that states a limit, if it is not of [limits] with its name.
_STATED: Mapping[str, tuple[str, ...]] = {
    "ports": ("limits", "nodes"),
    "rack_power": ("choose", "nodes"),
    "cooling": ("choose", "nodes"),
    "channels": ("choose", "memory"),
    "bandwidth": ("require", "bandwidth"),
    "scratch": ("require", "scratch"),
    "scratch_bandwidth": ("require", "scratch_bandwidth"),
}


@dataclass(frozen=True)
class Candidates:
    """Columns over all candidates that meet the limits."""

    architectures: tuple[Architecture, ...]
    #: Index into ``architectures``.
    architecture: NDArray[np.int32]
    count: NDArray[np.int32]
    price: Floats
    power: Floats
    #: Price and costs of all years.
    total: Floats
    #: ``rate``: weighted geometric mean of the rates. ``score``: what the design maximises.
    rate: Floats
    score: Floats
    #: Number of all candidates, whether they meet the limits or not.
    considered: int
    #: Number of candidates that each limit excludes, possibly together with others.
    excluded: Mapping[str, int]
    #: The best score with ``MORE_MONEY`` of the budget.
    richer: float


def search(
    spec: DesignSpec, builder: Builder, progress: Callable[[int, int], None] | None = None
) -> Candidates:
    """All candidates that meet the limits.

    ``progress``: called with the number of finished architectures and of all.

    Raises AssayError, naming the limit that excludes the most, if there are none, or if a node
    lacks the rate of a workload.
    """
    every = tuple(architectures(spec))
    _check_rates(spec, every)
    limits = spec.limits
    count = np.arange(limits.least, limits.most + 1, spec.step, dtype=np.int64)
    columns: list[tuple[NDArray[np.int32], NDArray[np.int64], Floats, Floats, Floats, Floats]] = []
    excluded: dict[str, int] = {}
    richer = 0.0
    for index, one in enumerate(every):
        bill = builder.bill(one, count, PriceFactors.as_quoted())
        tests = within(spec, builder, one, bill, count)
        for name, passes in tests.items():
            excluded[name] = excluded.get(name, 0) + int(np.sum(~passes))
        others = _all(tests, without=(BUDGET, TOTAL))
        fits = others & tests[BUDGET] & tests[TOTAL]
        wider = others & (bill.price <= MORE_MONEY * limits.budget)
        wider = wider & (bill.total <= MORE_MONEY * limits.total_cost)
        if np.any(wider):
            rate = scores(spec, builder, one, count[wider])
            richer = max(richer, float(np.max(objective(spec, rate, bill.total[wider]))))
            kept = fits[wider]
            if np.any(kept):
                known = np.full(int(np.sum(kept)), index, dtype=np.int32)
                columns.append(
                    (known, count[fits], bill.price[fits], bill.power[fits], bill.total[fits],
                     rate[kept])
                )  # fmt: skip
        if progress is not None:
            progress(index + 1, len(every))
    considered = len(every) * len(count)
    if not columns:
        raise _nothing_fits(spec, builder, every, excluded, considered)
    index_, counts, price, power, total, rate = (
        np.concatenate(parts) for parts in zip(*columns, strict=True)
    )
    return Candidates(
        architectures=every,
        architecture=index_,
        count=counts.astype(np.int32),
        price=price,
        power=power,
        total=total,
        rate=rate,
        score=objective(spec, rate, total),
        considered=considered,
        excluded={name: number for name, number in excluded.items() if number},
        richer=richer,
    )


def scores(
    spec: DesignSpec, builder: Builder, one: Architecture, count: NDArray[np.int64]
) -> Floats:
    """The weighted geometric mean of the predicted rates, from the catalogue's figures."""
    return combined(
        spec,
        {name: times(name, builder.machines(one, count, name)).rate for name in spec.workload},
    )


def objective(spec: DesignSpec, rate: Floats, total: Floats) -> Floats:
    """What the design maximises. ``total``: price and costs of all years."""
    return rate if spec.objective == "rate" else np.asarray(rate / np.maximum(total, 1e-9))


def combined(spec: DesignSpec, rates: Mapping[str, Floats]) -> Floats:
    """One score of several rates: their geometric mean by the workload's weights.

    Ratios of geometric means don't depend on the units of the rates (Fleming & Wallace 1986).
    """
    whole = sum(spec.workload.values())
    logs = sum(weight / whole * np.log(rates[name]) for name, weight in spec.workload.items())
    return np.exp(np.asarray(logs, dtype=np.float64))


def within(
    spec: DesignSpec, builder: Builder, one: Architecture, bill: Bill, count: NDArray[np.int64]
) -> dict[str, Bools]:
    """For each limit, which numbers of nodes meet it."""
    limits = spec.limits
    require, disk = spec.require, one.disk
    per_rank = one.memory / one.node.cores >= limits.memory_per_rank
    scratch = disk.capacity.value if disk else 0.0
    speed = disk.rate.value if disk else 0.0
    whole = {
        "memory_per_rank": per_rank,
        "channels": spec.unbalanced or one.kit is None or one.balanced,
        "rack_power": builder.nodes_per_rack(one) >= 1 or not builder.cools(one),
        "cooling": builder.cools(one),
        "scratch": scratch >= require.scratch,
        "scratch_bandwidth": speed >= require.scratch_bandwidth,
    }
    fits = builder.fabric(one).fits[count]
    return {
        BUDGET: bill.price <= limits.budget,
        TOTAL: bill.total <= limits.total_cost,
        "power": bill.power <= limits.power,
        "floor": bill.floor <= limits.floor,
        "racks": bill.racks <= limits.racks,
        "memory": count * one.memory >= limits.memory,
        "accelerator_memory": count * one.accelerator_memory >= limits.accelerator_memory,
        "bandwidth": builder.io(one, count) >= require.bandwidth,
        "ports": fits,
        **{name: np.full(count.shape, met) for name, met in whole.items()},
    }


def _all(tests: Mapping[str, Bools], without: Sequence[str]) -> Bools:
    flags = [passes for name, passes in tests.items() if name not in without]
    return np.asarray(np.logical_and.reduce(flags))


def _check_rates(spec: DesignSpec, every: Sequence[Architecture]) -> None:
    nodes = {one.node.name: one for one in every}
    known = {rate for one in nodes.values() for rate in one.node.rates}
    for name in (name for name in spec.workload if needs_rate(name)):
        for one in nodes.values():
            if name in one.node.rates:
                continue
            if not name.startswith("npb.") and name not in known:
                raise spec.document.error(
                    ["workload", name],
                    f"No node has a rate '{name}'.",
                    nearest(name, {*known, LINPACK, STREAM}),
                )
            raise AssayError(
                f"The node '{one.node.name}' has no rate for '{name}'.",
                where=one.host.price.where,
                fix=f'Add rates = {{ "{name}" = "… op/s" }}, or measure it: assay run npb and '
                "--from RUN; or leave out the node with [choose] nodes.",
            )


def _nothing_fits(
    spec: DesignSpec,
    builder: Builder,
    every: tuple[Architecture, ...],
    excluded: Mapping[str, int],
    considered: int,
) -> AssayError:
    """The error if no candidate meets the limits: it names the limit that excludes the most."""
    limit = max(excluded, key=lambda name: excluded[name])
    text = "No cluster meets the limits: "
    text += f"'{limit}' excludes {excluded[limit]:,} of {considered:,}"
    count = np.array([spec.limits.least])
    if limit == BUDGET:
        cheapest = min(
            float(builder.bill(one, count, PriceFactors.as_quoted()).price[0]) for one in every
        )
        text += f"; the cheapest cluster with {counted(spec.limits.least, 'node')} costs"
        text += f" {math.ceil(cheapest):,}"
        text += f" {spec.catalogue.currency}"
    return spec.document.error(
        _STATED.get(limit, ("limits", limit)),
        f"{text}.",
        "Change this limit, or choose other parts.",
    )
