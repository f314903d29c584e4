"""Linpack: Rmax, the orders it takes, what it is of the machine's limits, and what held it back."""

from __future__ import annotations

from collections.abc import Sequence

from assay.answers.arithmetic import ABOVE_PEAK, theoretical_peak
from assay.answers.linpack_data import (
    Results,
    Share,
    alike,
    asked_alike,
    by_cores,
    growing,
    measurements_of,
    order_of,
    price,
    results,
    shares,
)
from assay.answers.linpack_places import standing
from assay.answers.linpack_rows import linpack_rows
from assay.answers.linpack_search import largest_of, search_of
from assay.answers.scaling import phase_shares
from assay.answers.select import (
    Growth,
    Part,
    Point,
    best_by,
    measured_text,
    placement_text,
    points,
    quantity_text,
    ratio,
    speedup,
)
from assay.models.linpack import KERNEL, SEARCH, Largest, sizing_text
from assay.records.model import RunData
from assay.stats.model import CellSummary
from assay.units import counted, format_share

KERNELS = (KERNEL, SEARCH)
# Parallel efficiency below which the loss is worth a word.
POOR_EFFICIENCY = 0.75
# A gain between the two largest orders under which a larger one promises little.
LITTLE_GAIN = 0.02
# From this share of the peak, whole percents tell enough.
_WHOLE_PERCENTS = 0.1
# A share of the time that a phase but the update must take to be named as what holds it back.
_WORTH_NAMING = 0.1
_WORDS = {
    "panel": "factoring panels",
    "broadcast": "bringing panels along the rows of the grid",
    "swap": "interchanging rows",
    "update": "updating the rest of the matrix",
    "solve": "back substitution",
}
_METHOD = (
    "Linpack: a random dense system of order N solved by LU with partial pivoting, 2/3 N³ + 3/2 N² "
    "flop, timed on the slowest rank; each solution is checked by HPL's scaled residual, which "
    "must be under 16. Rmax is the best rate of all cells, Nmax its order, N½ the smallest order "
    "with half of it (docs/methods.md, Linpack)."
)


def linpack_part(cells: Sequence[CellSummary], run: RunData) -> Part | None:
    """Linpack's part of "how fast"; None if no usable cell measured it."""
    known = results(cells)
    if known is None:
        return None
    part = Part(headline=[known.rmax], method=[_METHOD])
    told = shares(known, cells, run)
    part.evidence += linpack_rows(known, told, run)
    _scaling(part, known)
    _larger(part, known, largest_of(known, run))
    _time(part, known)
    _search(part, known, run)
    _same_cores(part, known)
    _all_at_once(part, known, told, cells)
    _caveats(part, known, run)
    part.remark = _remark(known, told, run)
    return part


def _scaling(part: Part, known: Results) -> None:
    all_cores = max(by_cores(known))
    if known.rmax.cores < all_cores:
        part.caveats.append(
            f"Linpack is fastest on {counted(known.rmax.cores, 'core')}, though it was measured on "
            f"{all_cores}: Rmax is not of all of them."
        )
    line = growing(known)
    few, most = min(line), max(line)
    if few == most:
        return
    orders = {count: order_of(line[count]) for count in (few, most)}
    note = "" if len(set(orders.values())) == 1 else f"N = {orders[few]:,} and {orders[most]:,}"
    row = speedup("Linpack", line, few, most, note=note)
    part.evidence.append(row)
    part.growth.append(Growth(few, most, "Linpack", row.value))
    if row.share is not None and row.share < POOR_EFFICIENCY:
        reason = _loss(line[few], line[most], row.share)
        part.limits.append(
            f"Linpack keeps {format_share(row.share, row.share_ci95)} of perfect scaling from {few}"
            f" to {counted(most, 'core')}{reason}."
        )


def _loss(few: Point, most: Point, efficiency: float) -> str:
    """Which phase takes most of what is lost, as far as phases were told."""
    before, after = phase_shares(few.summary), phase_shares(most.summary)
    if not before or not after:
        return ""
    # In the time that perfect scaling would take each phase may have its share of before.
    gained = {name: share - before.get(name, 0.0) * efficiency for name, share in after.items()}
    name = max(gained, key=lambda phase: gained[phase])
    return (
        f"; most of the loss is in {_WORDS.get(name, name)}, which takes "
        f"{format_share(after[name])} of the time there and {format_share(before.get(name, 0.0))} "
        f"on {counted(few.cores, 'core')}"
    )


def _larger(part: Part, known: Results, largest: Largest | None) -> None:
    """Whether the curve still rises at its end, and what held N down."""
    if largest is not None:
        part.limits.append(f"Linpack's order: {sizing_text(largest)}.")
    orders = list(known.curve)
    if len(orders) < 2:
        return
    if known.nmax != orders[-1]:
        part.limits.append(
            f"Linpack's rate has stopped growing: N = {orders[-1]:,}, the largest order measured, "
            f"is no faster than {known.nmax:,}."
        )
        return
    before, last = known.curve[orders[-2]], known.curve[orders[-1]]
    gain, interval = ratio(last.metric, before.metric)
    if gain - 1 < LITTLE_GAIN or interval is None or interval[0] <= 1:
        return
    more = format_share(gain - 1, (interval[0] - 1, interval[1] - 1))
    how = {
        "time": "; it takes more time (`--budget`)",
        "memory": "; it takes more memory",
    }
    part.advice.append(
        f"Linpack still gains {more} from N = {orders[-2]:,} to {orders[-1]:,}: a larger N would "
        f"raise Rmax{how[largest.limit] if largest else ''}."
    )


def _time(part: Part, known: Results) -> None:
    """Where the time of Rmax goes, and which phase holds it back."""
    found = phase_shares(known.rmax.summary)
    if not found:
        return
    rest = {name: share for name, share in found.items() if name != "update" and share > 0}
    listed = ", ".join(
        f"{_WORDS.get(name, name)} {format_share(share)}"
        for name, share in sorted(found.items(), key=lambda item: -item[1])
        if share > 0
    )
    part.limits.append(f"Where Linpack's time goes at N = {known.nmax:,}: {listed}.")
    most = max(rest, key=lambda name: rest[name], default="")
    if not most or rest[most] < _WORTH_NAMING:
        return
    what = {
        "panel": "Factoring panels is what holds Linpack back most beside the update ({}): it goes "
        "column by column. Its share falls with a larger N.",
        "broadcast": "Linpack waits {} of its time for panels from other columns of the grid. A "
        "larger N sends less for each operation; `assay run network` tells what the network gives.",
        "swap": "Interchanging rows takes {} of Linpack's time. A larger N moves less for each "
        "operation.",
    }
    if most in what:
        part.advice.append(what[most].format(format_share(rest[most])))


def _search(part: Part, known: Results, run: RunData) -> None:
    """What the settings matter, by the search."""
    found = search_of(known, run)
    if found is None:
        return
    orders = " to ".join(
        f"{order:,}" for order in dict.fromkeys(found.orders[:1] + found.orders[-1:])
    )
    tried = f"{counted(found.count, 'setting')} at N = {orders}" if found.tried else "settings"
    part.method.append(f"Linpack's settings: a search tried {tried}, by turns.")
    if found.count < 2:
        return
    varied, worst = found.varied, found.worst
    words = [f"the worst ({worst.text(varied)}) lost {format_share(found.loss(worst))}"]
    usual = found.usual
    if usual is worst:
        words = [
            f"the worst, which is taken without a search, {words[0].removeprefix('the worst ')}"
        ]
    elif usual is not None:
        loss = found.loss(usual)
        own = f"what is taken without a search ({usual.text(('nb', 'p'))})"
        words.append(f"{own} lost {format_share(loss)}" if loss > 0 else f"{own} was as fast")
    part.limits.append(
        f"Linpack's settings: of {tried}, {found.chosen.text(varied)} "
        f"{'is' if len(varied) == 1 else 'are'} chosen; by the best of a few trials each, "
        f"{' and '.join(words)}."
    )


def _same_cores(part: Part, known: Results) -> None:
    """Ranks against threads on the cores of Rmax, where both were measured."""
    rmax = known.rmax
    others = [p for p in asked_alike(known) if p.cores == rmax.cores]
    by_threads = best_by(others, lambda point: point.summary.cell.placement.threads)
    del by_threads[rmax.summary.cell.placement.threads]
    for other in by_threads.values():
        gain, interval = ratio(rmax.metric, other.metric)
        if interval is None or interval[0] <= 1:
            continue
        more = format_share(gain - 1, (interval[0] - 1, interval[1] - 1))
        part.advice.append(
            f"Run codes like Linpack as {placement_text(rmax.summary.cell.placement)}: that is "
            f"{more} faster than {placement_text(other.summary.cell.placement)}."
        )


def _all_at_once(
    part: Part, known: Results, told: Sequence[Share], cells: Sequence[CellSummary]
) -> None:
    """What DGEMM loses when all cores compute at once: no grid can give Linpack more than that."""
    alone = next((s for s in told if s.name in ("DGEMM × ranks", "DGEMM × cores")), None)
    together = [
        p
        for p in alike(points(cells, "compute.dgemm", "rate"), known.rmax)
        if p.summary.cell.placement.nodes == known.rmax.summary.cell.placement.nodes
        and p.cores == known.rmax.cores > 1
    ]
    if alone is None or not together:
        return
    top = max(together, key=lambda point: point.metric.median)
    value, interval = ratio(known.rmax.metric, top.metric)
    part.limits.append(
        f"DGEMM on all {known.rmax.cores} cores at once gives "
        f"{quantity_text(top.metric.median, 'flop/s', top.metric.ci95)}, "
        f"{format_share(top.metric.median / alone.of)} of {alone.name}; Linpack reaches "
        f"{format_share(value, interval)} of it."
    )


def _caveats(part: Part, known: Results, run: RunData) -> None:
    orders = {
        int(m.record.parameters.get("n") or 0)
        for m in measurements_of(run, KERNEL, known.rmax)
        if m.cell.id == known.rmax.summary.id
    } - {0}
    if len(orders) > 1:
        part.caveats.append(
            f"The launches of Rmax solved orders from {min(orders):,} to {max(orders):,}: without "
            "a search each chose its own by the memory that was free."
        )
    peak = theoretical_peak(run, [known.rmax])
    if peak is not None and peak.assumed:
        part.caveats.append(
            f"The theoretical peak rests on a guess ({peak.source}), and so does Linpack's share."
        )
    if peak is not None and known.rmax.metric.median > ABOVE_PEAK * peak.rate:
        part.caveats.append(
            f"Linpack runs at {format_share(known.rmax.metric.median / peak.rate)} of the "
            "theoretical peak, which can't be: the true clock must be above the one the peak was "
            "computed with."
        )
    if known.half is not None and known.half.how != "interpolated":
        at = f"N = {known.half.at_most:,}"
        part.caveats.append(
            f"N½ was not measured: the smallest order, {at}, reaches more than half of Rmax. A "
            "smaller `fraction` or `n` would tell."
        )


def _of_peak(rmax: Point, told: Sequence[Share], run: RunData) -> str:
    """Its share of the theoretical peak; of the measured one where that is unknown or a guess."""
    limit = theoretical_peak(run, [rmax])
    names = {share.name: share.value for share in told}
    kinds = {"theoretical": "peak", "measured": "measured peak", "assumed": "peak"}
    if limit is None or limit.assumed:
        del kinds["theoretical"]
    for kind, name in kinds.items():
        if name in names:
            value = names[name]
            share = f"{value:.0%}" if value >= _WHOLE_PERCENTS else format_share(value)
            return f", {share} of {kind} peak"
    return ""


def _remark(known: Results, told: Sequence[Share], run: RunData) -> str:
    """The clause of the verdict."""
    rmax = known.rmax
    words = [f"N = {known.nmax:,}"]
    half = known.half
    if half is not None and half.how != "bounded":
        about = "" if half.how == "interpolated" else ", extrapolated"
        words.append(f"N½ = {quantity_text(half.order, 'order')}{about}")
    cost = price(known, run)
    paid = f", {quantity_text(cost.value, cost.unit)}" if cost else ""
    subject = f"{counted(rmax.cores, 'core')} {'solves' if rmax.cores == 1 else 'solve'}"
    return (
        f"{subject} Linpack at {measured_text(rmax)} ({'; '.join(words)})"
        f"{_of_peak(rmax, told, run)}{paid}: it would have been {standing(rmax.metric.median)}"
    )
