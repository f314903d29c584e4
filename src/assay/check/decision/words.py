"""The texts of findings: one clause of printable ASCII, short enough for a drain reason."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.check.baseline.costs import CORE_GAP, value_of
from assay.check.baseline.coverage import OTHERS
from assay.check.components import BY_NAME, OF_DEVICES, PER_UNIT, unit_title
from assay.check.decision.model import SeriesJudgement
from assay.check.model import NodeFinding, Reading
from assay.units import counted, format_quantity

#: Maximum number of characters: a line of 100 with its outcome before it.
LONGEST = 88
# Of a normal distribution.
_TWO_SIDED = 1.96
_LEAST_SHOWN = 1e-9


def slow_finding(judged: SeriesJudgement) -> NodeFinding:
    """A slow component, with value, expectation, deviation, 95% interval and probability.

    A node that became slower is compared with its own level, if the fleet alone doesn't show it.
    """
    component = BY_NAME[judged.component]
    usual = judged.usual
    own = judged.from_own is not None and judged.log_own < judged.log_fleet
    shift = judged.from_own if own and judged.from_own is not None else judged.from_fleet
    error = _TWO_SIDED * math.hypot(
        usual.check_scatter, usual.node_scatter / math.sqrt(max(usual.nodes, 1))
    )
    log_p = min(judged.log_fleet, judged.log_own, -max(judged.evidence) if judged.creeping else 0.0)
    probability = math.exp(log_p)
    signed = _share(component.better, shift)
    bounds = (_share(component.better, shift - error), _share(component.better, shift + error))
    if judged.series == CORE_GAP:
        value, expected = _as_percent(judged.cost), _as_percent(judged.cost - shift)
        title = f"CPU {judged.cpu}" if judged.cpu is not None else component.title
        said, against = f"{title} {value} slower than the median CPU", f"usual {expected}"
    else:
        cost = judged.cost + judged.slot
        value = format_quantity(value_of(judged.component, cost), component.unit)
        expected = format_quantity(value_of(judged.component, cost - shift), component.unit)
        title = component.title
        if judged.component in PER_UNIT and judged.cpu is not None:
            title = unit_title(judged.component, judged.cpu)
        percent = _signed(signed)
        low, high = sorted(bounds, key=abs)
        said = f"{title} {value}, {percent}% [{_signed(low)}, {_signed(high)}]"
        against = f"{'own level' if own else 'fleet'} {expected}"
    worse = -abs(signed) if shift > 0.0 else abs(signed)
    return NodeFinding(
        about=judged.component,
        value=value,
        expected=expected,
        deviation=worse,
        interval=_worse(bounds, component.better),
        probability=probability,
        text=_fitted(said, against, _chance(probability), _look_at(judged)),
    )


def failure_finding(component: str, what: str, readings: Sequence[Reading]) -> NodeFinding:
    """A component that gives wrong results or none."""
    about = BY_NAME[component]
    said = next((each.failed for each in readings if each.failed), "")
    wrong = what.startswith("wrong")
    count = sum(not each.verified for each in readings) if wrong else len(readings)
    text = f"{about.title}: {what}, {count} of {len(readings)} times"
    if said:
        text = f"{text} ({said.rstrip('.')})"
    return NodeFinding(
        about=component,
        value=what,
        expected="a right result" if wrong else "a value",
        text=cut(f"{cut(text, LONGEST - len(about.look_at) - 2)}; {about.look_at}"),
    )


def busy_text(readings: Sequence[Reading]) -> str:
    """Why readings weren't quiet."""
    users = max((each.quiet.users for each in readings), default=0)
    if users:
        return f"busy: {counted(users, 'other process')} used the devices"
    others = max((each.quiet.others for each in readings), default=0.0)
    steal = max((each.quiet.steal for each in readings), default=0.0)
    if steal > 0.0 and others < steal * len(readings[0].cpus or (0,)):
        return f"busy: the hypervisor withheld {100.0 * steal:.1f}% of CPU time"
    return f"busy: other processes used {others:.1f} CPUs"


def reason_of(texts: Sequence[str]) -> str:
    """The first text, and how many others there are."""
    more = f" (+{counted(len(texts) - 1, OTHERS)})" if len(texts) > 1 else ""
    return cut(texts[0], LONGEST - len(more)) + more if texts else ""


def cut(text: str, longest: int = LONGEST) -> str:
    """A text as printable ASCII with at most ``longest`` characters."""
    plain = "".join(each if " " <= each <= "~" else "?" for each in text)
    return plain if len(plain) <= longest else plain[: max(longest - 3, 0)] + "..."


def _look_at(judged: SeriesJudgement) -> str:
    look_at = BY_NAME[judged.component].look_at
    if judged.component in OF_DEVICES and judged.cpu is not None:
        return f"{look_at} {judged.cpu}"
    return look_at


def _share(better: str, shift: float) -> float:
    """The change of a value whose cost changes by ``shift``."""
    return math.expm1(min(-shift if better == "more" else shift, 100.0))


def _worse(bounds: tuple[float, float], better: str) -> tuple[float, float]:
    """An interval of the deviation, in which worse is negative."""
    low, high = sorted(bounds if better == "more" else (-bounds[0], -bounds[1]))
    return low, high


def _signed(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:+.1f}" if abs(percent) < 3.0 else f"{percent:+.0f}"


def _as_percent(shift: float) -> str:
    return f"{100.0 * -math.expm1(-shift):.1f}%"


def _chance(probability: float) -> str:
    if probability < _LEAST_SHOWN:
        return "p<1e-9"
    return f"p<1e{math.ceil(math.log10(probability) - 1e-9):d}" if probability < 0.1 else ""


def _fitted(said: str, against: str, chance: str, look_at: str) -> str:
    """The clause with as many of its parts as fit."""
    for parts in ((said, against, chance), (said, against), (said,)):
        text = f"{', '.join(filter(None, parts))}; {look_at}"
        if len(text) <= LONGEST:
            return cut(text)
    return cut(f"{said}; {look_at}")
