"""A reading as costs: one number per component, and one more for the spread of a node's CPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from assay.check.components import BY_NAME, CORE, PER_UNIT
from assay.check.model import Reading

#: The series of the slowest CPU against the median CPU of its node.
CORE_GAP = "core.gap"
#: Minimum number of CPUs whose median says what is usual on a node.
_LEAST_CPUS = 4


class CoreCosts(NamedTuple):
    """The CPUs of one reading of ``core``, or its devices."""

    #: The cost of the slowest one, and its number.
    slowest: float
    cpu: int
    #: The cost of the median CPU; None for few CPUs.
    usual: float | None


def cost_of(component: str, value: float) -> float | None:
    """The cost of a value in SI units; None for a value that is not positive or not finite."""
    if not (value > 0.0 and math.isfinite(value)):
        return None
    cost = math.log(value)
    return -cost if BY_NAME[component].better == "more" else cost


def value_of(component: str, cost: float) -> float:
    """The value in SI units that has this cost."""
    return math.exp(-cost if BY_NAME[component].better == "more" else cost)


def reading_cost(reading: Reading) -> float | None:
    """The cost of a reading: of its slowest CPU or device, or of the median of its repetitions.

    None if the reading has no usable value or a wrong result, and for components that assay doesn't
    know.
    """
    if reading.component not in BY_NAME or not reading.values:
        return None
    if reading.failed or not reading.verified:
        return None
    if reading.component in PER_UNIT:
        cores = core_costs(reading)
        return None if cores is None else cores.slowest
    values = reading.values
    if not all(map(math.isfinite, values)):
        return None
    return cost_of(reading.component, values[0] if len(values) == 1 else median(values))


def core_costs(reading: Reading) -> CoreCosts | None:
    """The CPUs of a reading of ``core``, or its devices; None if one has no usable value."""
    values = reading.values
    if reading.failed or not values or not (min(values) > 0.0 and math.isfinite(sum(values))):
        return None
    slowest = min(values)
    usual = -math.log(median(values)) if len(values) >= _LEAST_CPUS else None
    return CoreCosts(-math.log(slowest), _cpus(reading)[values.index(slowest)], usual)


def core_cost(reading: Reading, cpu: int) -> float | None:
    """The cost of one CPU by its number; None if the reading has no usable value of it."""
    cpus = _cpus(reading)
    if reading.failed or cpu not in cpus:
        return None
    return cost_of(CORE, reading.values[cpus.index(cpu)])


def _cpus(reading: Reading) -> Sequence[int]:
    values, cpus = reading.values, reading.cpus
    return cpus if len(cpus) == len(values) else range(len(values))
