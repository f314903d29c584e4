"""A slow model of a scheduler for comparison: plain lists, every time and node looked at.

It follows docs/methods/scheduler.md sentence by sentence, and shares nothing with the native one.
"""

from __future__ import annotations

import math

from assay.usage.jobs import State
from assay.usage.scheduler.machine import Machine, Partition
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Workload
from schedule_slurm import SlurmPass

END, RELEASE, FAILURE, REPAIR, EDGE, SUBMISSION = range(6)
ZERO = (0, 0, 0.0)  # processors, GPUs, bytes


def simulate(workload: Workload, machine: Machine, policy: Policy) -> dict[str, list[float]]:
    """The columns of the schedule as lists, and ``longest_queue`` and ``passes``."""
    return Reference(workload, machine, policy).run()


def _up(amount: float, parts: int) -> int:
    return -(-int(amount) // parts)


def _least(a, b):
    return tuple(min(x, y) for x, y in zip(a, b, strict=True))


def _minus(a, b):
    return tuple(x - y for x, y in zip(a, b, strict=True))


class Reference:
    def __init__(self, workload: Workload, machine: Machine, policy: Policy) -> None:
        self.machine, self.policy, self.timing = machine, policy, policy.timing
        self.partitions = machine.partitions or (Partition(name="all"),)
        self.capacity = [
            (kind.processors, kind.gpus, kind.memory if math.isfinite(kind.memory) else 1e300)
            for kind in machine.nodes
            for _ in range(kind.count)
        ]
        self.size = len(self.capacity)
        names = (
            *("submit", "run", "limit", "nodes", "processors", "memory", "gpus", "user"),
            *("account", "partition", "qos", "after", "think"),
        )
        self.jobs = [
            {name: getattr(workload, name)[j].item() for name in names}
            for j in range(len(workload))
        ]
        self.workload = workload
        for job in self.jobs:
            job["memory"] = math.ceil(job["memory"])
        count = len(self.jobs)
        self.submitted = [math.nan] * count
        self.limit = [job["limit"] for job in self.jobs]
        self.enqueued = [math.nan] * count
        self.shares: dict[int, dict[int, tuple]] = {}  # of jobs that hold nodes
        self.planned: dict[int, float] = {}  # when they are expected to be free
        self.active: set[int] = set()
        self.requeued: set[int] = set()
        self.waiting: list[int] = []
        self.down: list[tuple[float, int]] = []  # end and node of failures that have begun
        self.history: list[list] = []  # user, account, processors, begin, end
        self.out = {
            "submit": [math.nan] * count,
            "start": [math.nan] * count,
            "end": [math.nan] * count,
            "lost": [0.0] * count,
            "state": [int(State.PENDING)] * count,
            "first_node": [-1] * count,
            "runs": [0] * count,
            "backfilled": [0] * count,
        }
        kinds = {(*amount,) for amount in self.capacity}
        whole = [*self.partitions, *machine.reservations]
        self.equal = len(machine.nodes) == 1 and (
            policy.sharing == "node" or machine.nodes[0].processors == 1
        )
        assert not self.equal or len(kinds) == 1
        self.counted = (
            self.equal
            and policy.allocation == "free"
            and policy.reserved == "latest"
            and policy.backfill != "slurm"
            and all(each.first == 0 and each.last in (None, self.size - 1) for each in whole)
        )
        self.names_nodes = not self.counted or bool(machine.failures)
        self.origin = self.jobs[0]["submit"] if self.jobs else 0.0

    # Events.

    def run(self):
        due = []
        for j, job in enumerate(self.jobs):
            if job["after"] < 0:
                due.append((job["submit"], SUBMISSION, j))
        for k, failure in enumerate(self.machine.failures):
            if failure.end > failure.begin:
                due.append((failure.begin, FAILURE, k))
                if failure.end < math.inf:
                    due.append((failure.end, REPAIR, k))
        for k, each in enumerate(self.machine.reservations):
            due.append((each.begin, EDGE, k))
            if each.end < math.inf:
                due.append((each.end, EDGE, k))
        self.due = due
        self.last = -math.inf  # the last pass that only submissions led to
        self.changed = dict.fromkeys(("main", "submitted", "full"), False)
        self.ticked = dict.fromkeys(("main", "clock", "full"), -math.inf)
        passes = longest = 0
        now = -math.inf
        while True:
            times = [event[0] for event in self.due]
            after = max(now, self.origin)
            if self.timing.tick:
                times.append(self._next_submitted(after))
            if self.waiting:
                if self.timing.main or self.timing.delay or self.timing.tick:
                    times.append(self._next_main(after))
                if self.changed["full"] and self.timing.backfill:
                    times.append(self._tick("full", self.timing.backfill, after))
            if min(times, default=math.inf) == math.inf:
                break
            now = min(times)
            while any(event[0] <= now for event in self.due):
                event = min(self.due)
                self.due.remove(event)
                self.process(*event)
                self.changed["full"] = True
                if event[1] == SUBMISSION and (self.timing.delay or self.timing.tick):
                    self.changed["submitted"] = True
                elif event[1] != END or self.timing.done == 0:
                    self.changed["main"] = True
            passes += self.passes(now)
            longest = max(longest, len(self.waiting))
        return {**self.out, "longest_queue": longest, "passes": passes}

    def _next_main(self, time):
        earliest = time if self.changed["main"] else self._next_submitted(time)
        if self.timing.main and earliest < math.inf:
            return self._tick("main", self.timing.main, earliest)
        return earliest

    def _next_submitted(self, time):
        if not self.changed["submitted"]:
            return math.inf
        if not self.timing.tick:
            return max(time, self.last + self.timing.delay)
        least = -math.inf if self.last == -math.inf else math.floor(self.last) + self.timing.delay
        return self._tick("clock", self.timing.tick, max(time, least))

    def _tick(self, name, interval, time):
        offsets = {"main": 0.0, "full": self.timing.offset, "clock": self.timing.tick_offset}
        first = self.origin + offsets[name]
        k = 0
        while first + k * interval < time or first + k * interval <= self.ticked[name]:
            k += 1
        return first + k * interval

    def process(self, now, kind, index):
        if kind == END:
            needed = self.timing.launch + self.jobs[index]["run"]
            killed = self.policy.kill and needed > self.limit[index]
            self.end(index, now, State.TIMEOUT if killed else State.COMPLETED)
        elif kind == RELEASE:
            del self.shares[index], self.planned[index]
            if index in self.requeued:
                self.requeued.remove(index)
                self.enqueue(index, now)
        elif kind == FAILURE:
            failure = self.machine.failures[index]
            nodes = range(failure.first, failure.last + 1)
            self.down += [(failure.end, node) for node in nodes]
            for job in sorted(self.shares):
                if job in self.active and any(node in nodes for node in self.shares[job]):
                    self.due = [e for e in self.due if e[1:] != (END, job)]
                    self.end(job, now, State.NODE_FAILURE)
        elif kind == REPAIR:
            failure = self.machine.failures[index]
            for node in range(failure.first, failure.last + 1):
                self.down.remove((failure.end, node))
        elif kind == SUBMISSION:
            self.submit(index, now)

    def submit(self, j, now):
        if self.out["runs"][j] == 0:
            self.out["submit"][j] = now
        self.submitted[j] = now
        if self.possible(j):
            self.enqueue(j, now)
        else:
            if self.out["runs"][j] == 0:
                self.out["state"][j] = int(State.CANCELLED)
            self.finish(j, now)

    def enqueue(self, j, now):
        self.waiting.append(j)
        self.enqueued[j] = now

    def end(self, j, now, state):
        self.active.remove(j)
        self.out["end"][j] = now
        self.out["state"][j] = int(state)
        for record in self.history:
            if record[0] == j and record[3] is None:
                record[3] = now
        free = now + self.timing.done
        if free > now:
            self.planned[j] = math.ceil(free) if self.policy.backfill == "slurm" else free
            self.due.append((free, RELEASE, j))
        else:
            del self.shares[j], self.planned[j]
        work = self.jobs[j]["processors"] * (now - self.out["start"][j])
        longest = self.partitions[self.jobs[j]["partition"]].longest
        if state == State.NODE_FAILURE and self.policy.requeue:
            self.out["lost"][j] += work
            self.out["state"][j] = int(State.PENDING)
            if free > now:
                self.requeued.add(j)
            else:
                self.enqueue(j, now)
        elif state == State.TIMEOUT and self.policy.resubmit and 2 * self.limit[j] <= longest:
            self.out["lost"][j] += work
            self.out["state"][j] = int(State.PENDING)
            self.limit[j] *= 2
            self.due.append((free, SUBMISSION, j))
        else:
            self.finish(j, now)

    def finish(self, j, now):
        for other, job in enumerate(self.jobs):
            if job["after"] == j:
                self.due.append((now + job["think"], SUBMISSION, other))

    # Passes.

    def passes(self, now):
        timing = self.timing
        main = self._next_main(now) == now
        if timing.tick and self._next_submitted(now) == now:
            self.last = self.ticked["clock"] = now
            self.changed["submitted"] = False
        if not self.waiting:
            if not timing.main:
                self.changed["main"] = False
            return 0
        full = main
        if timing.backfill > 0:
            full = self._tick("full", timing.backfill, now) == now
        full = full and self.changed["full"]
        if not full and not main:
            return 0
        self.one_pass(now, in_order=not full)
        if full:
            self.ticked["full"] = now
            self.changed["full"] = False
        if main:
            if not timing.tick:
                if not self.changed["main"]:
                    self.last = now
                self.changed["submitted"] = False
            self.ticked["main"] = now
            self.changed["main"] = False
        return 1

    def one_pass(self, now, in_order):
        policy = self.policy
        in_order = in_order or policy.backfill == "none"
        every = policy.backfill in ("conservative", "slurm")
        most = math.inf if every else policy.reservations
        slurm = SlurmPass(self, now) if policy.backfill == "slurm" else None
        horizon = now + policy.timing.window if policy.timing.window else math.inf
        queue = self.sorted_queue(now)
        if policy.timing.depth:
            queue = queue[: policy.timing.depth]
        self.plan = self.occupied(now)
        reserved, blocked, skipped = 0, [], False
        for j in queue:
            mine = self.partitions[self.jobs[j]["partition"]]
            if in_order and any(self.overlap(mine, other) for other in blocked):
                blocked.append(mine)
                skipped = True
                continue
            placed = self.place(j, now, now, late=False) if slurm is None else None
            if slurm is not None and (nodes := slurm.start(j)) is not None:
                placed = dict.fromkeys(nodes, self.capacity[0])
            if placed is not None:
                self.start(j, now, placed, skipped)
                continue
            skipped = True
            if in_order:
                blocked.append(mine)
            elif slurm is not None:
                slurm.reserve(j, horizon)
            elif reserved < most:
                found = self.earliest(j, now, horizon)
                if found:
                    begin, shares = found
                    self.plan.append((begin, self.rounded(begin + self.limit[j]), shares))
                    reserved += 1

    def overlap(self, a, b):
        def nodes(partition):
            last = self.size - 1 if partition.last is None else partition.last
            return set(range(partition.first, last + 1))

        return bool(nodes(a) & nodes(b))

    def start(self, j, now, shares, backfilled):
        self.waiting.remove(j)
        self.shares[j] = shares
        whole = self.policy.backfill == "slurm"  # seconds
        self.planned[j] = (math.floor(now) if whole else now) + self.limit[j]
        self.plan.append((now, self.rounded(self.planned[j]), shares))
        self.active.add(j)
        self.out["start"][j] = now
        self.out["end"][j] = math.nan
        self.out["state"][j] = int(State.PENDING)
        self.out["runs"][j] += 1
        self.out["backfilled"][j] = int(backfilled)
        self.out["first_node"][j] = min(shares) if self.names_nodes else -1
        self.history.append([j, self.jobs[j]["processors"], now, None])
        duration = self.timing.launch + self.jobs[j]["run"]
        if self.policy.kill:
            duration = min(duration, self.limit[j])
        self.due.append((now + duration, END, j))

    def rounded(self, time):
        step = self.timing.resolution
        return math.ceil(time / step) * step if step and time < math.inf else time

    def occupied(self, now):
        """What is in use and when: begin, end and shares by node. Down nodes are in use."""
        plan = []
        for j, shares in self.shares.items():
            end = self.planned[j] if self.planned[j] > now else now + 1.0
            plan.append((now, self.rounded(end), shares))
        return plan

    def broken(self, node, time):
        return bool(self.down) and any(
            n == node and self.rounded(end) > time for end, n in self.down
        )

    # Placement.

    def demand(self, j):
        """Number of nodes (0: as many as needed), what each must have, and the total."""
        job = self.jobs[j]
        total = (job["processors"], job["gpus"], job["memory"])
        if job["nodes"] > 0:
            n = job["nodes"]
            return n, (_up(total[0], n), _up(total[1], n), math.ceil(total[2] / n)), total
        if self.equal:
            for n in range(1, self.size + 1):
                if all(
                    n * has >= wants for has, wants in zip(self.capacity[0], total, strict=True)
                ):
                    return n, (1, 0, 0), total
            return self.size + 1, (1, 0, 0), total
        return 0, ZERO, total

    def possible(self, j):
        partition = self.partitions[self.jobs[j]["partition"]]
        if self.limit[j] > partition.longest:
            return False
        shares = self.choose(j, list(self.capacity))
        return shares is not None and not (partition.largest and len(shares) > partition.largest)

    def free(self, time, node):
        free = self.capacity[node]
        for begin, end, shares in self.plan:
            if begin <= time < end and node in shares:
                free = _minus(free, shares[node])
        return ZERO if self.broken(node, time) else free

    def closed(self, j, time, node):
        user = self.workload.users[self.jobs[j]["user"]]
        for each in self.machine.reservations:
            last = self.size - 1 if each.last is None else each.last
            if (
                each.first <= node <= last
                and user not in each.users
                and time < each.end
                and time + self.limit[j] > each.begin
            ):
                return True
        return False

    def place(self, j, time, now, late):
        """The shares of a job that runs from this time to its limit, None if it does not fit."""
        moments = {time}
        for begin, end, _ in self.plan:
            moments.update(t for t in (begin, end) if time < t < time + self.limit[j])
        if self.counted:
            return self.place_count(j, time, moments, late)
        usable = []
        for node in range(self.size):
            least = self.free(time, node)
            for moment in moments:
                least = _least(least, self.free(moment, node))
            usable.append(ZERO if self.closed(j, time, node) else least)
        return self.choose(j, usable, (time, now) if late else None)

    def place_count(self, j, time, moments, late):
        count = self.demand(j)[0]
        if self.closed(j, time, 0):
            return None
        for moment in moments:
            used = sum(
                sum(1 for node in shares if node < 0 or not self.broken(node, moment))
                for begin, end, shares in self.plan
                if begin <= moment < end
            )
            broken = sum(self.broken(node, moment) for node in range(self.size))
            if self.size - used - broken < count:
                return None
        if late:  # only their number is reserved
            return {-1 - k: self.capacity[0] for k in range(count)}
        taken = {node for shares in self.shares.values() for node in shares}
        nodes = [n for n in range(self.size) if n not in taken and not self.broken(n, time)]
        return dict.fromkeys(nodes[:count], self.capacity[0])

    def choose(self, j, usable, late=None):
        """Shares on the usable amounts; ``late``: a time, and now, for a reservation."""
        partition = self.partitions[self.jobs[j]["partition"]]
        last = self.size - 1 if partition.last is None else partition.last
        mine = range(partition.first, last + 1)
        count, each, total = self.demand(j)
        shared = self.policy.sharing == "processor"
        contiguous = self.policy.allocation == "contiguous"
        if count:

            def holds(amounts):
                return all(has >= wants for has, wants in zip(amounts, each, strict=True))

            nodes = [node for node in mine if holds(usable[node])]
            if contiguous:
                runs = [
                    range(n, n + count) for n in nodes if set(range(n, n + count)) <= set(nodes)
                ]
                nodes = list(runs[0]) if runs else []
            elif late and self.policy.reserved == "latest":
                nodes.sort(key=lambda node: (-self.since(node, holds, *late), node))
            if len(nodes) < count:
                return None
            return {n: each if shared else self.capacity[n] for n in nodes[:count]}
        for first in mine if contiguous else (partition.first,):
            shares, rest = {}, total
            for node in range(first, last + 1):
                if usable[node][0] < 1:
                    if contiguous:
                        break
                    continue
                part = _least(rest, usable[node])
                if contiguous or any(part):
                    shares[node] = part if shared else self.capacity[node]
                    rest = _minus(rest, part)
                if not any(rest):
                    return shares
        return None

    def since(self, node, holds, time, now):
        """From when on the node holds the job's part until ``time``."""
        moments = {now, time}
        moments |= {t for begin, end, _ in self.plan for t in (begin, end) if now <= t <= time}
        moments |= {self.rounded(end) for end, _ in self.down if now <= self.rounded(end) <= time}
        since = time
        for moment in sorted(moments, reverse=True):
            if not holds(self.free(moment, node)):
                break
            since = moment
        return since

    def earliest(self, j, now, horizon):
        times = {now}
        times |= {end for _, end, _ in self.plan}
        times |= {self.rounded(end) for end, _ in self.down}
        times |= {each.end for each in self.machine.reservations}
        for time in sorted(times):
            if now <= time <= horizon and time < math.inf:
                shares = self.place(j, time, now, late=True)
                if shares is not None:
                    return time, shares
        return None

    # Order.

    def sorted_queue(self, now):
        def key(j):
            tier = self.partitions[self.jobs[j]["partition"]].tier
            priority = 0.0
            if self.policy.order == "multifactor":
                priority = self.multifactor(j, now)
            elif self.policy.order == "maui":
                priority = self.maui(j, now)
            return -tier, -priority, self.submitted[j], j

        return sorted(self.waiting, key=key)

    def used(self, keep, begin, end):
        """Processor × s of the kept jobs in (begin, end]."""
        total = 0.0
        for j, processors, start, stop in self.history:
            if keep(self.jobs[j]):
                until = end if stop is None else min(stop, end)
                total += processors * max(0.0, until - max(start, begin))
        return total

    def least_nodes(self, job):
        most = max(amount[0] for amount in self.capacity)
        return job["nodes"] or _up(job["processors"], most)

    def multifactor(self, j, now):
        weights, job = self.policy.multifactor, self.jobs[j]
        periods = 0
        while self.origin + (periods + 1) * weights.period <= now:
            periods += 1
        tick = self.origin + periods * weights.period
        when = max(tick, self.enqueued[j])
        age = min(1.0, (when - self.submitted[j]) / weights.max_age)
        size = self.least_nodes(job) / self.size
        size = (size + job["processors"] / self.machine.processors) / 2
        if weights.favor_small:
            size = 1 - size
        tiers = max(0, *(partition.tier for partition in self.partitions), 0)
        tier = self.partitions[job["partition"]].tier
        partition = tier / tiers if tiers > 0 else 0.0
        priorities = weights.qos_priority
        named = [priorities[q] for q in self.workload.qualities if q in priorities]
        highest = max(named, default=0.0)
        own = priorities.get(self.workload.qualities[job["qos"]], 0.0)
        qos = own / highest if highest > 0 else 0.0
        fair = self.fair_share(job, periods)
        return (
            weights.age * age
            + weights.size * size
            + weights.fair_share * fair
            + weights.qos * qos
            + weights.partition * partition
        )

    def fair_share(self, job, periods):
        weights = self.policy.multifactor
        pairs = sorted({(each["account"], each["user"]) for each in self.jobs})
        accounts = sorted({account for account, _ in pairs})
        decay = 0.5 ** (weights.period / weights.half_life)

        def decayed(account, user):
            total = 0.0
            for k in range(periods):
                begin = self.origin + k * weights.period
                end = self.origin + (k + 1) * weights.period
                used = self.used(
                    lambda each: (each["account"], each["user"]) == (account, user), begin, end
                )
                total = total * decay + used
            return total

        def share(names, index):
            return weights.shares.get(names[index], 1.0)

        users, names = self.workload.users, self.workload.accounts
        usage = {pair: decayed(*pair) for pair in pairs}
        everything = sum(usage.values())
        account, user = job["account"], job["user"]
        of_account = sum(used for pair, used in usage.items() if pair[0] == account)
        siblings = [pair[1] for pair in pairs if pair[0] == account]
        in_account = share(users, user) / sum(share(users, each) for each in siblings)
        of_accounts = share(names, account) / sum(share(names, each) for each in accounts)
        effective = 0.0
        if everything > 0:
            actual = usage[account, user] / everything
            effective = actual + (of_account / everything - actual) * in_account
        return 2.0 ** (-effective / (in_account * of_accounts) / weights.damping)

    def maui(self, j, now):
        weights, job = self.policy.maui, self.jobs[j]
        wait = now - self.submitted[j]
        fair = 0.0
        name = self.workload.users[job["user"]]
        if weights.fair_share and name in weights.targets:
            window = 0
            while self.origin + (window + 1) * weights.window <= now:
                window += 1

            def weighted(user):
                total, weight = 0.0, 1.0
                for back in range(weights.windows):
                    if window - back >= 0:
                        begin = self.origin + (window - back) * weights.window
                        end = min(now, begin + weights.window)
                        used = self.used(lambda each: each["user"] == user, begin, end)
                        total += weight * used
                    weight *= weights.decay
                return total

            everything = sum(weighted(user) for user in range(len(self.workload.users)))
            percent = 100 * weighted(job["user"]) / everything if everything > 0 else 0.0
            fair = weights.targets[name] - percent
        return (
            weights.queue_time * (wait / 60)
            + weights.expansion * ((wait + self.limit[j]) / self.limit[j])
            + weights.processors * job["processors"]
            + weights.fair_share * fair
        )
