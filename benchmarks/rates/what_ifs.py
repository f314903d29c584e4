"""What-ifs of job logs: intervals of the change against planted schedulers.

A site has a load of independent weeks, and rules that its log doesn't show: another policy,
priorities by user or size, partitions, reservations, maintenance, nodes that are down, holds,
seldom backfilling. assay replays the log with a policy of its own and simulates a change. The truth
is the same change with the site's rules.

The model is a named policy, or the one that reproduces the waits best. Rates are per class of
confidence, as assay states it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from rate import Rate

from assay.kernels.builds.scheduler import build_scheduler
from assay.subjects.usage.queue.findings import find_queue
from assay.subjects.usage.queue.model import QueueFindings
from assay.usage.queue.load import ReplayedLoad
from assay.usage.queue.measure import measure_of
from assay.usage.queue.policies import POLICIES, model_of
from assay.usage.queue.whatif import Case, WhatIfContext, parse_what_if
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.replay import replay
from assay.usage.scheduler.schedule import Schedule, Workload
from assay.usage.workload.change import chosen_repeated
from assay.usage.workload.resample import WEEK
from planted_loads import weeks_of_users
from planted_sites import RULES, Site, machine_of, real_starts

PROCESSORS, RESAMPLES = 32, 40
MODELS = ("easy", "fcfs", "conservative")
CHANGES = ("nodes=+10%", "nodes=-5%", "heartbeat=10%", "largest=8", "estimates=exact",
           "policy=fcfs", "policy=conservative")  # fmt: skip
STATED = {"high": 0.95, "medium": 0.9}
# Weeks of the load that give the change in other weeks than those of the log.
MANY_WEEKS = 150
# Bounds of the factor between real and modelled waits, for the rate of changes that are right.
FACTORS = (1.0, 1.1, 1.3, 1.6, 2.0, 3.0, 1e9)


def native(workload: Workload, machine: Machine, policy: Policy) -> Schedule:
    return replay(workload, machine, policy, program=build_scheduler())


@dataclass(frozen=True)
class Claim:
    """A what-if of a planted log, as assay states it, and what is true."""

    rules: str
    #: Whether the model has the site's policy, and the site no other rules.
    own: bool
    factor: float
    confidence: str
    #: The interval of the change as assay states it (or would, if it didn't decline).
    interval: tuple[float, float] | None
    #: The true change in the weeks of the log.
    true: float

    @property
    def right(self) -> bool:
        return self.holds(1.0)

    def holds(self, by: float) -> bool:
        """Whether the interval holds the true change if both ends are moved in by a factor."""
        assert self.interval is not None
        low, high = (
            (1.0 + end) * by**sign for end, sign in zip(self.interval, (1, -1), strict=True)
        )
        return low - 1e-9 <= 1.0 + self.true <= high + 1e-9


def claims(rng: np.random.Generator, rules: str) -> list[Claim]:
    """The claims on two what-ifs of one log."""
    weeks = int(rng.choice([8, 12, 16]))
    offered = float(rng.uniform(0.4, 0.6 if rules == "fcfs" else 0.8))
    logged = weeks_of_users(rng, weeks, processors=PROCESSORS, load=offered)
    machine = machine_of(PROCESSORS)
    site = RULES[rules](Site(logged, machine, POLICIES["easy"]), rng)
    start = real_starts(site, native)
    if start is None or float(np.mean(start - logged.submit)) > 2 * 86400.0:
        return []  # a saturated machine: weeks are one queue
    load = ReplayedLoad(
        source="log",
        workload=logged,
        machine=machine,
        start=np.floor(start),
        end=start + logged.run,
        left_out=[],
        requests="as in the log",
        notes=[],
        sharing=False,
        unknown=[],
    )
    context = WhatIfContext(machine)
    texts = [str(text) for text in rng.choice(CHANGES, 2, replace=False)]
    what_ifs = [parse_what_if(text, context) for text in texts]

    def asked(model: str, resamples: int) -> QueueFindings:
        return find_queue(load, model_of(model), what_ifs if resamples else [], native,
                          resamples=resamples, seed=1, others=False)  # fmt: skip

    model = str(rng.choice([*MODELS, "best"]))
    if model == "best":
        fits = {name: asked(name, 0).policies[0].fit or 1.0 for name in MODELS}
        model = min(fits, key=lambda name: fits[name])
    found = asked(model, RESAMPLES)
    before = float(np.mean(start - logged.submit))
    made = []
    for place, (text, stated) in enumerate(zip(texts, found.what_ifs, strict=True)):
        changed = parse_what_if(text, WhatIfContext(site.machine)).apply(
            Case(site.workload, site.machine, site.policy), np.random.default_rng([1, 1, place])
        )
        after = real_starts(
            replace(site, workload=changed.workload, machine=changed.machine,
                    policy=changed.policy),
            native,
        )  # fmt: skip
        if after is None or found.fit is None or before <= 0.0:
            continue
        made.append(
            Claim(
                rules,
                rules == model or {rules, model} <= {"easy", "maui"},
                found.fit.factor,
                stated.confidence or "declined",
                stated.wait_ci95,
                float(np.mean(after - logged.submit)) / before - 1.0,
            )
        )
    return made


def of_sites(trials: int, seed: int) -> list[Claim]:
    """Claims on logs of all sites in turn."""
    names = list(RULES)
    made: list[Claim] = []
    for trial in range(trials):
        made += claims(np.random.default_rng([seed, trial]), names[trial % len(names)])
    return made


def other_weeks(rng: np.random.Generator) -> tuple[str, bool] | None:
    """The confidence of a what-if of the model's own log, and whether its interval holds the change
    over many more weeks of the same kind; None without an interval.
    """
    weeks = int(rng.choice([8, 12, 16, 26]))
    offered = float(rng.uniform(0.4, 0.75))
    many = weeks_of_users(rng, MANY_WEEKS, processors=PROCESSORS, load=offered)
    log = chosen_repeated(many, np.flatnonzero(many.submit <= weeks * WEEK))
    machine, policy = machine_of(PROCESSORS), POLICIES["easy"]
    start = native(log, machine, policy).start
    load = ReplayedLoad(
        source="log", workload=log, machine=machine, start=start, end=start + log.run, left_out=[],
        requests="as in the log", notes=[], sharing=False, unknown=[],
    )  # fmt: skip
    what_if = parse_what_if(str(rng.choice(CHANGES[:-1])), WhatIfContext(machine))
    found = find_queue(load, model_of("easy"), [what_if], native, resamples=RESAMPLES, seed=1,
                       others=False).what_ifs[0]  # fmt: skip
    if found.wait_ci95 is None or found.confidence is None:
        return None
    case = Case(many, machine, policy)
    changed = what_if.apply(case, np.random.default_rng(1))
    waits = [
        measure_of(each.workload, native(each.workload, each.machine, each.policy), PROCESSORS).wait
        for each in (case, changed)
    ]
    low, high = found.wait_ci95
    return found.confidence, low - 1e-9 <= waits[1] / waits[0] - 1.0 <= high + 1e-9


def rates(trials: int, seed: int) -> Iterator[Rate]:
    made = of_sites(trials, seed)
    known = [each for each in made if each.interval is not None]
    planted = f"{PROCESSORS} processors, 8 to 16 weeks, offered load 40 to 80%, 14 sets of rules"
    for confidence, stated in STATED.items():
        some = [each for each in known if each.confidence == confidence]
        if some:
            yield Rate(
                f"what-if with {confidence} confidence: interval holds the site's change",
                planted, sum(each.right for each in some), len(some), stated, "coverage",
            )  # fmt: skip
    some = [each for each in known if each.confidence == "low"]
    if some:
        yield Rate("what-if with low confidence: interval holds the site's change", planted,
                   sum(each.right for each in some), len(some), 0.0, "coverage")  # fmt: skip
    for low, high in pairwise(FACTORS):
        some = [each for each in known if low <= each.factor < high]
        if some:
            yield Rate(
                "interval holds the site's change, by the factor between real and modelled waits",
                f"factor {low:g} to {high:g}" if high < 1e9 else f"factor from {low:g}, declined",
                sum(each.right for each in some),
                len(some),
                0.9 if high <= 2.0 else 0.0,
                "coverage",
            )
        if some:
            yield Rate(
                "interval over weeks alone, not extended by the factor: misses the site's change",
                f"factor {low:g} to {high:g}" if high < 1e9 else f"factor from {low:g}",
                sum(not each.holds(each.factor) for each in some),
                len(some),
                # What the answer states where it declines.
                0.3 if low >= 2.0 else 0.0,
                "detection",
            )
    own = [each for each in made if each.own]
    if own:
        yield Rate(
            "log of the model's own policy: declined", planted,
            sum(each.confidence == "declined" for each in own), len(own), 0.01, "false alarm",
        )  # fmt: skip
    wrong = [each for each in known if not each.right]
    if wrong:
        yield Rate(
            "interval that misses the site's change: declined, or low confidence", planted,
            sum(each.confidence in ("declined", "low") for each in wrong), len(wrong), 0.5,
            "detection",
        )  # fmt: skip
    declined = Counter(each.rules for each in made if each.confidence == "declined")
    for rules in RULES:
        some = [each for each in made if each.rules == rules and not each.own]
        if some:
            yield Rate("log of another scheduler: declined", rules, declined[rules], len(some), 0.0,
                       "detection")  # fmt: skip
    longer = [
        found
        for trial in range(max(trials // 2, 20))
        if (found := other_weeks(np.random.default_rng([seed, 7, trial]))) is not None
    ]
    for confidence, stated in STATED.items():
        held = [right for name, right in longer if name == confidence]
        if held:
            yield Rate(
                f"what-if with {confidence} confidence: interval holds the change in other weeks",
                f"the log's own policy, 8 to 26 weeks, truth from {MANY_WEEKS} weeks",
                sum(held), len(held), stated, "coverage",
            )  # fmt: skip
