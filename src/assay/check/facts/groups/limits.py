"""What control groups and affinity leave of the node's CPUs and memory to this check.

A job's control group says nothing about the node. Its limits are shown and not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.check.model import Fact, FactRule
from assay.system.files import Tree
from assay.system.surroundings import detect_limits

# Slurm: job_12/step_0; Open PBS: pbs_jobs.service/jobid/12.server; LSF: /lsf/cluster/job.12.34.
_JOB = re.compile(r"/job[_.]\d|/pbs_jobs|/pbspro|/jobid/|/lsf/", re.ASCII)


def facts(tree: Tree) -> Iterator[Fact]:
    """CPUs that this process may use, and CPU seconds per second that it may take."""
    online = tree.cpus("/sys/devices/system/cpu/online")
    limits = detect_limits(tree, online or [])
    rule: FactRule = "shown" if in_a_job(tree) else "not below"
    sets = [set(cpus) for cpus in (limits.cpuset, limits.affinity) if cpus is not None]
    allowed = len(set.intersection(*sets)) if sets else None
    if allowed is not None:
        yield Fact(
            name="limit.cpus", value=allowed, rule=rule, look_at="check cpusets and affinity"
        )
    # Without a quota all CPUs count, so that a quota on one node alone is a lower value.
    if online:
        quota = min(limits.quota or len(online), len(online))
        yield Fact(
            name="limit.quota",
            value=float(quota),
            unit="CPU",
            rule=rule,
            look_at="check control groups",
        )
    if limits.memory is not None:
        yield Fact(
            name="limit.memory",
            value=float(limits.memory),
            unit="B",
            rule="shown",
            look_at="check control groups",
        )


def in_a_job(tree: Tree) -> bool:
    """Whether this process belongs to a batch job's control group."""
    return _JOB.search(tree.text("/proc/self/cgroup") or "") is not None
