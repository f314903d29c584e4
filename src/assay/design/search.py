"""The search over all architectures and numbers of nodes, with prices and predicted rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Bools, Floats
from assay.design.candidates import Architecture, Bill, Builder, PriceFactors, architectures
from assay.design.spec import DesignSpec
from assay.design.workload import LINPACK, STREAM, needs_rate, times
from assay.errors import AssayError, nearest
from assay.units import counted

# Budget, relative to the given one, for which the value of more money is computed.
MORE_MONEY = 1.1
BUDGET = "budget"


@dataclass(frozen=True)
class Candidates:
    """Columns over all candidates that meet the limits."""

    architectures: tuple[Architecture, ...]
    #: Index into ``architectures``.
    architecture: NDArray[np.int32]
    count: NDArray[np.int32]
    price: Floats
    power: Floats
    #: Weighted geometric mean of the rates.
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
    _check_rates(spec)
    limits = spec.limits
    count = np.arange(limits.least, limits.most + 1, spec.step, dtype=np.int64)
    columns: list[tuple[int, NDArray[np.int64], Floats, Floats, Floats]] = []
    excluded: dict[str, int] = {}
    richer = 0.0
    for index, one in enumerate(every):
        bill = builder.bill(one, count, PriceFactors.as_quoted())
        tests = within(spec, one, bill, builder.fabric(one).fits[count], count)
        for name, passes in tests.items():
            excluded[name] = excluded.get(name, 0) + int(np.sum(~passes))
        others = _all(tests, without=BUDGET)
        fits = others & tests[BUDGET]
        wider = others & (bill.price <= MORE_MONEY * limits.budget)
        if np.any(wider):
            some = count[wider]
            score = scores(spec, builder, one, some)
            richer = max(richer, float(np.max(score)))
            kept = fits[wider]
            if np.any(kept):
                within_both = some[kept]
                columns.append(
                    (index, within_both, bill.price[fits], bill.power[fits], score[kept])
                )
        if progress is not None:
            progress(index + 1, len(every))
    considered = len(every) * len(count)
    if not columns:
        raise _nothing_fits(spec, builder, every, excluded, considered)
    return Candidates(
        architectures=every,
        architecture=np.concatenate(
            [np.full(len(counts), index, dtype=np.int32) for index, counts, *_ in columns]
        ),
        count=np.concatenate([column[1] for column in columns]).astype(np.int32),
        price=np.concatenate([column[2] for column in columns]),
        power=np.concatenate([column[3] for column in columns]),
        score=np.concatenate([column[4] for column in columns]),
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


def combined(spec: DesignSpec, rates: Mapping[str, Floats]) -> Floats:
    """One score of several rates: their geometric mean by the workload's weights.

    Ratios of geometric means don't depend on the units of the rates (Fleming & Wallace 1986).
    """
    whole = sum(spec.workload.values())
    logs = sum(weight / whole * np.log(rates[name]) for name, weight in spec.workload.items())
    return np.exp(np.asarray(logs, dtype=np.float64))


def within(
    spec: DesignSpec, one: Architecture, bill: Bill, fits: Bools, count: NDArray[np.int64]
) -> dict[str, Bools]:
    """For each limit, which numbers of nodes meet it."""
    limits = spec.limits
    per_rank = one.memory / one.node.cores >= limits.memory_per_rank
    return {
        BUDGET: bill.price <= limits.budget,
        "power": bill.power <= limits.power,
        "floor": bill.floor <= limits.floor,
        "racks": bill.racks <= limits.racks,
        "memory": count * one.memory >= limits.memory,
        "memory_per_rank": np.full(count.shape, per_rank),
        "ports": fits,
    }


def _all(tests: Mapping[str, Bools], without: str) -> Bools:
    flags = [passes for name, passes in tests.items() if name != without]
    return np.asarray(np.logical_and.reduce(flags))


def _check_rates(spec: DesignSpec) -> None:
    for name in spec.workload:
        if not needs_rate(name):
            continue
        for node in (spec.catalogue.nodes[known] for known in spec.nodes):
            if name not in node.rates:
                known = {rate for one in spec.nodes for rate in spec.catalogue.nodes[one].rates}
                if not name.startswith("npb.") and name not in known:
                    raise spec.document.error(
                        ["workload", name],
                        f"No node has a rate '{name}'.",
                        nearest(name, {*known, LINPACK, STREAM}),
                    )
                raise AssayError(
                    f"The node '{node.name}' has no rate for '{name}'.",
                    where=node.price.where,
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
    key = "nodes" if limit == "ports" else limit
    return spec.document.error(
        ["limits", key], f"{text}.", "Change this limit, or choose other parts."
    )
