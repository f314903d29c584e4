"""What-ifs: parsed from text such as ``nodes=+10%``, and applied to a load."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from assay.arrays import Floats, Ints
from assay.errors import AssayError, nearest
from assay.units import (
    counted,
    format_duration,
    format_limit,
    format_share,
    parse_duration,
    parse_quantity,
)
from assay.usage.queue.policies import NamedModel, model_of, with_sharing
from assay.usage.queue.walltimes import RunSteadiness, request_change, variation
from assay.usage.scheduler.machine import EqualNodes, FailedNodes, Machine, Partition, Reservation
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Workload
from assay.usage.workload import change, estimates
from assay.usage.workload.resample import WEEK

# Greatest CoV that is accepted. Beyond it, run times don't vary around a common value.
_MOST_COV = 1.0
# Greatest factor of requests, and of the excess of requests over run times. Beyond it, requests are
# the longest possible or exact.
_MOST_FACTOR = 1000.0


@dataclass(frozen=True)
class Case:
    """The load and the scheduler that are replayed."""

    workload: Workload
    machine: Machine
    policy: Policy
    #: For each row, the job that it is a part of; None if each row is a job.
    job: Ints | None = None


Change = Callable[[Case, np.random.Generator], Case]


@dataclass(frozen=True)
class WhatIf:
    """A change of a case, parsed from ``KIND=VALUE``."""

    #: The text as written.
    text: str
    #: The change, as a clause.
    words: str
    #: The beginning of the sentence that states the result, such as "10% more nodes".
    lead: str
    #: The changed case; random numbers come from the generator.
    apply: Change
    #: Relative change of requests; None if there is no common factor.
    request: float | None = None
    #: Whether ``lead`` is a plural.
    many: bool = False


@dataclass(frozen=True)
class WhatIfContext:
    """What a what-if may refer to: the ``machine``, and the ``run`` that ``--run`` names."""

    machine: Machine
    run: RunSteadiness = field(default_factory=RunSteadiness)


def parse_what_if(text: str, context: WhatIfContext) -> WhatIf:
    """The what-if of a text ``KIND=VALUE``; see ``KINDS``.

    Raises AssayError for other text, with the text and the valid forms.
    """
    where = f"--what-if {text}"
    kind, equals, value = (part.strip() for part in text.partition("="))
    if kind not in KINDS:
        raise AssayError(
            f"'{kind}' is not a kind of what-if.", where=where, fix=nearest(kind, KINDS)
        )
    if not equals or not value:
        raise AssayError(
            f"'{kind}' has no value.", where=where, fix=f"Write one such as {_EXAMPLES[kind]}."
        )
    return replace(KINDS[kind](value, where, context), text=f"{kind}={value}")


def refers_to_run(text: str) -> bool:
    """Whether a what-if takes a number from the run that ``--run`` names."""
    kind, _, value = (part.strip() for part in text.partition("="))
    if kind == "heartbeat":
        return value == "run"
    first, colon, _ = (part.strip() for part in value.partition(":"))
    return kind == "cov" and bool(colon) and not re.match(r"[0-9.]", first)


def parse_estimates(text: str, where: str) -> tuple[str, Callable[[Workload, int], Workload]]:
    """Words and change of requests: ``logged``, ``exact``, ``modal``, ``×2`` (or ``x2``).

    The change takes a load and a seed.
    """
    if text == "logged":
        return "as in the log", lambda workload, _: workload
    if text == "exact":
        return "exact run times", lambda workload, _: estimates.exact(workload)
    if text == "modal":
        return (
            "at random by the model of Tsafrir, Etsion and Feitelson (2005): 20 round values hold "
            "89% of the jobs",
            estimates.modal,
        )
    if text[:1] in ("×", "x"):
        factor = _number(text[1:], where, "exact, modal or ×2")
        if factor < 1.0:
            raise AssayError(
                "Requests below the run time would end every job at its limit.",
                where=where,
                fix="Write a multiple of at least ×1.",
            )
        if factor > _MOST_FACTOR:
            raise AssayError(
                f"Requests of {factor:g} times the run time can't be modelled.",
                where=where,
                fix=f"Write a multiple of at most ×{_MOST_FACTOR:g}.",
            )
        return (
            f"{factor:g} times the run time, for comparison only: real requests are not multiples",
            lambda workload, _: estimates.padded(workload, factor),
        )
    raise AssayError(
        f"'{text}' is not a kind of estimates.",
        where=where,
        fix="Write logged, exact, modal, or a multiple of the run time such as ×2.",
    )


def _estimates(value: str, where: str, _: WhatIfContext) -> WhatIf:
    if re.fullmatch(r"[0-9.eE+-]+", value):
        factor = _number(value, where, "2, exact, modal or ×2")
        if not 1.0 / _MOST_FACTOR <= factor <= _MOST_FACTOR:
            raise AssayError(
                f"Estimates can't be better by a factor of {factor:g}.",
                where=where,
                fix=f"Write a number from {1.0 / _MOST_FACTOR:g} to {_MOST_FACTOR:g}, such as 2, "
                "or exact.",
            )
        return WhatIf(
            "",
            f"what jobs request beyond their run time is divided by {factor:g}",
            f"Estimates that are better by a factor of {factor:g}",
            lambda case, _: replace(case, workload=estimates.better(case.workload, factor)),
            many=True,
        )
    words, changed = parse_estimates(value, where)

    def apply(case: Case, random: np.random.Generator) -> Case:
        return replace(case, workload=changed(case.workload, int(random.integers(2**31))))

    lead = {"exact": "Exact estimates", "modal": "Modal estimates", "logged": "The same estimates"}
    return WhatIf(
        "", f"requests: {words}", lead.get(value, f"Requests of {value} run times"), apply,
        many=True,
    )  # fmt: skip


def _cov(value: str, where: str, context: WhatIfContext) -> WhatIf:
    first, colon, second = (part.strip() for part in value.partition(":"))
    if not colon:
        first, second = "0%", first
    if not first or not re.match(r"[0-9.]", second):
        raise AssayError(
            f"'{second if first else value}' is not a coefficient of variation.",
            where=where,
            fix=f"Write one such as {_EXAMPLES['cov']}.",
        )
    after = _share(second, where, _MOST_COV, _EXAMPLES["cov"])
    times: Floats | float
    if re.match(r"[0-9.]", first):
        before = times = _share(first, where, _MOST_COV, _EXAMPLES["cov"])
        whose, shape = "the CoV of run times", ""
    else:
        program = context.run.program(first, where)
        before, whose = program.cov, f"{program.name}'s CoV"
        times = program.times if program.enough else before
        shape = (
            ""
            if program.enough
            else f" (lognormal run times with this CoV: {counted(program.times.size, 'run')} of "
            f"{program.name} are too few to show the distribution)"
        )
    factor = request_change(times, after)

    def apply(case: Case, random: np.random.Generator) -> Case:
        factors = variation(before, after, len(case.workload), random)
        limited = change.with_limits(case.workload, factor)
        return replace(case, workload=change.varied(limited, factors))

    verb = "Bringing" if after < before else "Raising"
    from_to = f"{whose} from {format_limit(before)} to {format_limit(after)}"
    if factor < 1.0:
        lead = f"{verb} {from_to} lets users ask for {format_share(1.0 - factor)} less, which"
    elif factor > 1.0:
        lead = f"{verb} {from_to} makes users ask for {format_share(factor - 1.0)} more, which"
    else:
        lead = f"{verb} {from_to} doesn't change what users ask for: it"
    confidence = f"99% of runs finish within them at 95% confidence{shape}"
    words = f"requests × {factor:.3f}, so that {confidence}; " + (
        "jobs that finished still do"
        if after <= before
        else "run times vary by lognormal factors with mean 1"
    )
    return WhatIf("", words, lead, apply, request=factor - 1.0)


def _nodes(value: str, where: str, context: WhatIfContext) -> WhatIf:
    match = re.fullmatch(r"([+-]?)([0-9.]+)(%?)", value)
    if match is None:
        raise _wrong(value, where, "nodes")
    sign, digits, percent = match.groups()
    number = _number(digits, where, _EXAMPLES["nodes"])
    size = context.machine.size
    if percent:
        if not sign:
            raise _wrong(value, where, "nodes")
        nodes = size + round((1 if sign == "+" else -1) * number / 100.0 * size)
    else:
        if number != int(number):
            raise _wrong(value, where, "nodes")
        nodes = {"": 0, "+": size, "-": size}[sign] + (-1 if sign == "-" else 1) * int(number)
    if nodes < 1 or nodes > 10_000_000:
        raise AssayError(
            f"A machine can't have {nodes:,} nodes.",
            where=where,
            fix=f"It has {size:,}; write a number such as {_EXAMPLES['nodes']}.",
        )
    machine = _resized(context.machine, nodes, where)
    if percent and number > 0.0 and nodes == size:
        raise AssayError(
            f"{value} of {counted(size, 'node')} is less than half a node.",
            where=where,
            fix="Write a number of nodes, such as nodes=+1.",
        )
    change_of = (nodes - size) / size
    lead = f"{format_limit(abs(change_of))} {'more' if nodes >= size else 'fewer'} nodes"
    words = f"{nodes:,} nodes instead of {size:,}"
    return WhatIf("", words, lead, lambda case, _: replace(case, machine=machine), many=True)


def _resized(machine: Machine, nodes: int, where: str) -> Machine:
    """The machine with this many nodes. Nodes are added to or taken from the last kinds."""
    kinds: list[EqualNodes] = list(machine.nodes)
    extra = nodes - machine.size
    while kinds and kinds[-1].count + extra <= 0:
        extra += kinds.pop().count
    kinds[-1] = msgspec.structs.replace(kinds[-1], count=kinds[-1].count + extra)
    named: list[Partition | Reservation | FailedNodes]
    named = [*machine.partitions, *machine.reservations, *machine.failures]
    for each in named:
        if each.first >= nodes or (each.last is not None and each.last >= nodes):
            raise AssayError(
                f"A partition, reservation or failure has nodes beyond node {nodes:,}.",
                where=where,
                fix="Keep those nodes, or describe another machine in a TOML file.",
            )
    return msgspec.structs.replace(machine, nodes=tuple(kinds))


def _longest(value: str, where: str, _: WhatIfContext) -> WhatIf:
    longest = parse_duration(value, where=where)
    if longest < 60.0:
        raise AssayError(
            "A limit of the request must be at least a minute.",
            where=where,
            fix=f"Write one such as {_EXAMPLES['longest']}.",
        )

    def apply(case: Case, _: np.random.Generator) -> Case:
        split = change.split_by_time(case.workload, longest)
        return replace(case, workload=split.workload, job=split.job)

    return WhatIf(
        "",
        f"no request exceeds {format_duration(longest)}: longer jobs are divided into parts that "
        "run one after the other",
        f"A longest request of {format_duration(longest)}",
        apply,
    )


def _largest(value: str, where: str, context: WhatIfContext) -> WhatIf:
    largest = _count(value, context.machine.processors)
    if largest is None:
        raise AssayError(
            f"'{value}' is not a number of processors.",
            where=where,
            fix=f"Write one from 1 to {context.machine.processors}, such as largest="
            f"{max(context.machine.processors // 2, 1)}.",
        )
    return WhatIf(
        "",
        f"jobs on more than {counted(largest, 'processor')} run on this many processors and take "
        "proportionally longer",
        f"A largest job of {counted(largest, 'processor')}",
        lambda case, _: replace(case, workload=change.at_most(case.workload, largest)),
    )


def _heartbeat(value: str, where: str, context: WhatIfContext) -> WhatIf:
    if value == "run":
        if context.run.noise is None:
            raise AssayError(
                "There is no run with measured noise to take the percentage from.",
                where=where,
                fix="Name a run of the suite noise with --run, or write a percentage.",
            )
        share = context.run.noise
    else:
        share = _share(value, where, 0.99, _EXAMPLES["heartbeat"])
    least = max(kind.processors for kind in context.machine.nodes) + 1
    return WhatIf(
        "",
        f"jobs on several nodes run {format_limit(share)} shorter, and their requests stay the "
        "same",
        f"A coordinated heartbeat that saves {format_limit(share)} of run times",
        lambda case, _: replace(case, workload=change.faster(case.workload, share, least)),
    )


def _lost_node(value: str, where: str, context: WhatIfContext) -> WhatIf:
    first, colon, second = (part.strip() for part in value.partition(":"))
    length = parse_duration(first, where=where)
    if not 0.0 < length <= WEEK:
        raise AssayError(
            "Nodes can be lost for at most a week.",
            where=where,
            fix=f"Write a duration such as {_EXAMPLES['lost-node']}.",
        )
    nodes = _count(second, context.machine.size) if colon else 1
    if nodes is None:
        raise AssayError(
            f"'{second}' is not a number of nodes to lose.",
            where=where,
            fix=f"Write one from 1 to {context.machine.size}, such as {_EXAMPLES['lost-node']}.",
        )

    def apply(case: Case, random: np.random.Generator) -> Case:
        begin = float(case.workload.submit[0])
        weeks = max(math.ceil((float(case.workload.submit[-1]) - begin) / WEEK), 1)
        starts = begin + (np.arange(weeks) + random.random(weeks)) * WEEK
        firsts = random.integers(case.machine.size - nodes + 1, size=weeks)
        failures = tuple(
            FailedNodes(begin=float(start), end=float(start) + length, first=int(node),
                    last=int(node) + nodes - 1)
            for start, node in zip(starts, firsts, strict=True)
        )  # fmt: skip
        machine = msgspec.structs.replace(
            case.machine, failures=(*case.machine.failures, *failures)
        )
        return replace(case, machine=machine)

    what = counted(nodes, "node")
    return WhatIf(
        "",
        f"in each week {what} at random fail{'s' if nodes == 1 else ''} at a random time for "
        f"{format_duration(length)}; their jobs start over",
        f"The loss of {what} for {format_duration(length)} in each week",
        apply,
    )


def _policy(value: str, where: str, _: WhatIfContext) -> WhatIf:
    model: NamedModel = model_of(value, where)
    if model.machine is not None:
        raise AssayError(
            "A what-if uses only the policy of a file, but this file describes a machine.",
            where=where,
            fix="Remove [machine] from the file.",
        )

    def apply(case: Case, _: np.random.Generator) -> Case:
        return replace(case, policy=with_sharing(model, case.policy.sharing))

    return WhatIf("", f"the scheduler is {model.words}", f"The policy {model.name}", apply)


KINDS: dict[str, Callable[[str, str, WhatIfContext], WhatIf]] = {
    "estimates": _estimates,
    "cov": _cov,
    "nodes": _nodes,
    "longest": _longest,
    "largest": _largest,
    "heartbeat": _heartbeat,
    "lost-node": _lost_node,
    "policy": _policy,
}
_EXAMPLES = {
    "estimates": "estimates=2, estimates=exact, estimates=modal or estimates=×2",
    "cov": "cov=10%, cov=5.7%:1% or cov=npb.ft:1%",
    "nodes": "nodes=+10%, nodes=-2 or nodes=264",
    "longest": "longest=12h",
    "largest": "largest=64",
    "heartbeat": "heartbeat=2% or heartbeat=run",
    "lost-node": "lost-node=1d or lost-node=1d:8",
    "policy": "policy=conservative",
}


def _wrong(value: str, where: str, kind: str) -> AssayError:
    return AssayError(
        f"'{value}' is not a valid value.", where=where, fix=f"Write it such as {_EXAMPLES[kind]}."
    )


def _count(text: str, most: int) -> int | None:
    """A number from 1 to ``most``; None for other text."""
    if not re.fullmatch(r"[0-9]{1,18}", text) or not 1 <= int(text) <= most:
        return None
    return int(text)


def _number(text: str, where: str, example: str) -> float:
    try:
        value = float(text) if text.isascii() and len(text) < 40 else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise AssayError(f"'{text}' is not a number.", where=where, fix=f"Write {example}.")
    return value


def _share(text: str, where: str, most: float, example: str) -> float:
    """A percentage or a share between 0 and ``most``."""
    value = float(parse_quantity(text, "1", where=where))
    if not 0.0 <= value <= most:
        raise AssayError(
            f"'{text}' is not between 0% and {format_limit(most)}.",
            where=where,
            fix=f"Write it such as {example}.",
        )
    return value
