"""The answer on Linpack: Rmax and its orders, shares of the machine's limits, and bottlenecks."""

from __future__ import annotations

from assay.kernels.linpack import OWN_CODE
from assay.kernels.naming import metric_name, placement_text
from assay.models.linpack.sizing import sizing_text
from assay.questions.common.answer import Bound
from assay.questions.common.gate import is_possible
from assay.questions.common.parts import Growth, Part
from assay.questions.common.ratios import range_text
from assay.questions.common.selection import measured_text, quantity_text
from assay.questions.common.speedups import speedup_row
from assay.questions.speed.linpack.evidence import linpack_rows
from assay.questions.speed.linpack.findings import Gain, LinpackFindings
from assay.questions.speed.linpack.results import order_of
from assay.questions.speed.linpack.search import LinpackSearch
from assay.questions.speed.linpack.shares import MEASURED_PEAK, THEORETICAL_PEAK
from assay.questions.speed.linpack.top500_places import standing
from assay.units import counted, format_share

# Least gain between the two largest orders for which a larger order is recommended.
SMALL_GAIN = 0.02
# Least share of the peak that is rounded to whole percents.
_WHOLE_PERCENTS = 0.1
# Least share of the time at which a phase other than the update is reported as limiting the rate.
_LARGE_PHASE = 0.1
# Advice for a phase that takes much of the time, by phase.
_PHASE_ADVICE = {
    "panel": "Panel factorisation takes {} of Linpack's time: it proceeds column by column. A "
    "larger N reduces its share.",
    "broadcast": "Linpack spends {} of its time waiting for panels from other columns of the "
    "grid. A larger N needs less communication per operation; `assay run network` measures the "
    "network.",
    "swap": "Interchanging rows takes {} of Linpack's time. A larger N moves fewer data per "
    "operation.",
}
_LARGER = {
    "time": " but takes more time (`--budget`)",
    "memory": " but takes more memory",
}
_METHOD = (
    f"Linpack: {OWN_CODE}. It solves a random dense system of order N by LU with partial pivoting "
    "(2/3 N³ + 3/2 N² flop), timed on the slowest rank. HPL's scaled residual of each solution "
    "must be under 16. Rmax is the best rate of all cells, Nmax its order, N½ the smallest order "
    "that reaches half of Rmax (docs/methods/speed.md, Linpack)."
)


def part(found: LinpackFindings) -> Part:
    """The part on Linpack of the answer."""
    part = Part(headline=[found.rmax], method=[_METHOD])
    part.evidence += linpack_rows(found)
    _add_scaling(part, found)
    _add_orders(part, found)
    _add_phases(part, found)
    if found.search is not None:
        _add_search(part, found.search)
    _add_threads(part, found)
    _add_dgemm(part, found)
    _add_caveats(part, found)
    part.remark = _remark(found)
    return part


def _add_scaling(part: Part, found: LinpackFindings) -> None:
    if found.over_most_cores is not None:
        part.caveats.append(_rmax_on_fewer(found, found.over_most_cores))
    speedup = found.speedup
    if speedup is None:
        return
    few, most = speedup.few.cores, speedup.most.cores
    orders = [order_of(speedup.few), order_of(speedup.most)]
    note = "" if len(set(orders)) == 1 else f"N = {orders[0]:,} and {orders[1]:,}"
    part.evidence.append(speedup_row("Linpack", speedup, note=note))
    part.growth.append(Growth("Linpack", speedup))
    if not speedup.poor:
        return
    loss = found.loss
    reason = ""
    if loss is not None:
        most_of_it = "the {}"
        if loss.most:
            most_of_it = "most of the time beyond perfect scaling is in the {}, which"
        reason = (
            f"; {most_of_it.format(metric_name(loss.phase))} takes {format_share(loss.after)} of "
            f"the time there and {format_share(loss.before)} on {counted(few, 'core')}"
        )
    share = format_share(speedup.efficiency, speedup.efficiency_interval)
    part.limits.append(
        f"Linpack reaches {share} of perfect scaling from {few} to {counted(most, 'core')}{reason}."
    )


def _rmax_on_fewer(found: LinpackFindings, gain: Gain) -> str:
    """The caveat on an Rmax that does not use all measured cores."""
    fewer, compared = counted(found.rmax.cores, "core"), gain.compared()
    if compared.direction == "more":
        return (
            f"Linpack is fastest on {fewer}, although it was measured on {found.most_cores}: Rmax "
            "does not use all of them."
        )
    return (
        f"Rmax was reached on {fewer}; its ratio to the rate on {found.most_cores} is not "
        f"distinguishable from 1 ({range_text(compared, gain.interval)})."
    )


def _add_orders(part: Part, found: LinpackFindings) -> None:
    """Sentences on what limited N, and on whether the rate still grows at the largest N."""
    if found.sizing is not None:
        part.limits.append(f"Linpack's order: {sizing_text(found.sizing)}.")
    if found.over_largest is not None:
        part.limits.append(_beyond_rmax(found, found.over_largest))
    gain = found.last_gain
    if gain is None or gain.value - 1 < SMALL_GAIN or gain.compared().direction != "more":
        return
    how = _LARGER[found.sizing.limit] if found.sizing is not None else ""
    part.advice.append(
        f"Linpack still gains {_gain_text(gain)} from N = {order_of(gain.other):,} to "
        f"{found.nmax:,}: a larger N would raise Rmax{how}."
    )


def _beyond_rmax(found: LinpackFindings, gain: Gain) -> str:
    """The sentence on an Rmax that was not reached at the largest order."""
    largest = f"N = {order_of(gain.other):,}, the largest measured order,"
    compared = gain.compared()
    if compared.direction == "more":
        return (
            f"Linpack's rate has stopped growing: {largest} is slower than {found.nmax:,} by "
            f"{format_share(1 - 1 / gain.value)}."
        )
    return (
        f"Rmax was reached at N = {found.nmax:,}; its ratio to the rate at {largest} is not "
        f"distinguishable from 1 ({range_text(compared, gain.interval)})."
    )


def _gain_text(gain: Gain) -> str:
    interval = gain.interval
    return format_share(gain.value - 1, interval and (interval[0] - 1, interval[1] - 1))


def _add_phases(part: Part, found: LinpackFindings) -> None:
    """Sentences on the phases of Rmax, and on the phase that limits the rate besides the update."""
    if found.rmax_phases is None:
        return
    taking = {name: share for name, share in found.rmax_phases.shares.items() if share > 0}
    phases = ", ".join(
        f"{metric_name(name)} {format_share(share)}"
        for name, share in sorted(taking.items(), key=lambda item: -item[1])
    )
    part.limits.append(f"Where Linpack's time goes at N = {found.nmax:,}: {phases}.")
    taking.pop("update", None)
    most = max(taking, key=lambda name: taking[name], default="")
    if most in _PHASE_ADVICE and taking[most] >= _LARGE_PHASE:
        part.advice.append(_PHASE_ADVICE[most].format(format_share(taking[most])))


def _add_search(part: Part, search: LinpackSearch) -> None:
    """Sentences on the search and on the effect of the settings."""
    orders = " to ".join(
        f"{order:,}" for order in dict.fromkeys(search.orders[:1] + search.orders[-1:])
    )
    tried = f"{counted(search.count, 'setting')} at N = {orders}" if search.count else "settings"
    part.method.append(f"Linpack's settings: a search tried {tried} in alternation.")
    varied, worst, usual = search.varied, search.worst, search.usual
    if search.count < 2 or worst is None:
        return
    settings, default = worst.trial.text(varied), ""
    if usual is worst:
        settings += "; the default without a search"
    elif usual is not None:
        own = usual.trial.text(("nb", "p"))
        default = f", and the default without a search ({own}) {format_share(1 - usual.loss)}"
    reached = f"{format_share(1 - worst.loss)} ({settings}) to 100% of the best{default}"
    part.limits.append(
        f"Linpack's settings: of {tried}, {search.chosen.text(varied)} "
        f"{'is' if len(varied) == 1 else 'are'} chosen. By the best of a few trials each, the "
        f"settings reached {reached}."
    )


def _add_threads(part: Part, found: LinpackFindings) -> None:
    """Advice on ranks against threads on the cores of Rmax, if both were measured."""
    for gain in found.same_cores:
        if gain.compared(len(found.same_cores)).direction == "more":
            part.advice.append(
                "Run codes like Linpack as "
                f"{placement_text(found.rmax.summary.cell.placement)}: that is {_gain_text(gain)} "
                f"faster than {placement_text(gain.other.summary.cell.placement)}."
            )


def _add_dgemm(part: Part, found: LinpackFindings) -> None:
    """A sentence on DGEMM on all cores concurrently, which bounds Linpack's rate for any grid."""
    dgemm = found.dgemm
    if dgemm is None:
        return
    rate = dgemm.point.metric
    part.limits.append(
        f"DGEMM on all {found.rmax.cores} cores concurrently reaches "
        f"{quantity_text(rate.median, 'flop/s', rate.ci95)}, {format_share(dgemm.of_single)} of "
        f"{dgemm.single}; Linpack reaches {format_share(dgemm.rmax_ratio, dgemm.interval)} of it."
    )


def _add_caveats(part: Part, found: LinpackFindings) -> None:
    orders, peak = found.launch_orders, found.peak
    if len(orders) > 1:
        part.caveats.append(
            f"The launches of Rmax solved orders from {orders[0]:,} to {orders[-1]:,}: without a "
            "search each launch derives its own order from the free memory."
        )
    if peak is not None and peak.assumed:
        part.caveats.append(
            f"The theoretical peak is based on an assumption ({peak.source}), and so is Linpack's "
            "share."
        )
    if found.half is not None and found.half.how != "interpolated":
        part.caveats.append(
            f"N½ was not measured: the smallest order, N = {found.half.at_most:,}, reaches more "
            "than half of Rmax. Measure it with a smaller `fraction` or `n`."
        )


def _of_peak(found: LinpackFindings) -> str:
    """The share of the theoretical peak; of the measured peak if that is unknown or assumed."""
    names = [(MEASURED_PEAK, "measured peak"), (THEORETICAL_PEAK, "assumed peak")]
    if found.peak is not None and not found.peak.assumed:
        names = [(THEORETICAL_PEAK, "theoretical peak")]
    for name, text in names:
        share = found.share(name)
        bound: Bound = "computed" if name == THEORETICAL_PEAK else "measured"
        if share is not None and is_possible(share.value, share.interval, bound):
            whole = share.value >= _WHOLE_PERCENTS
            return f", {f'{share.value:.0%}' if whole else format_share(share.value)} of the {text}"
    return ""


def _remark(found: LinpackFindings) -> str:
    """The clause of the verdict on Linpack."""
    rmax, half, price = found.rmax, found.half, found.price
    orders = [f"N = {found.nmax:,}"]
    if half is not None and half.how != "bounded":
        about = "" if half.how == "interpolated" else ", extrapolated"
        orders.append(f"N½ = {quantity_text(half.order, 'order')}{about}")
    paid = f", {quantity_text(price.value, price.unit)}" if price is not None else ""
    subject = f"{counted(rmax.cores, 'core')} {'solves' if rmax.cores == 1 else 'solve'}"
    return (
        f"{subject} Linpack at {measured_text(rmax)} ({'; '.join(orders)}){_of_peak(found)}{paid}: "
        f"it would have been {standing(found.top500)}"
    )
