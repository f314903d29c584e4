"""The clusters of a log: the jobs of one, and the size of all together."""

from __future__ import annotations

import dataclasses

import numpy as np

from assay.errors import AssayError
from assay.units import listed
from assay.usage.accounts.reading import Accounts
from assay.usage.capacity import Capacity, combined, known_capacity
from assay.usage.jobs import Jobs, MachineFacts

# Number of names that an error lists.
_MOST_LISTED = 8


def cluster_names(jobs: Jobs) -> list[str]:
    """The clusters that jobs name; none if the log names none."""
    return [name for name in jobs.clusters if name]


def of_cluster(accounts: Accounts, name: str | None) -> Accounts:
    """The accounts of one cluster; all of them for None.

    Raises AssayError if the log doesn't name the cluster.
    """
    if name is None:
        return accounts
    jobs = accounts.jobs
    names = cluster_names(jobs)
    if name not in names:
        more = " …" if len(names) > _MOST_LISTED else ""
        raise AssayError(
            f"None of the {len(jobs):,} jobs ran on this cluster.",
            where=f"--cluster {name}",
            fix=f"The log names {listed(names[:_MOST_LISTED])}{more}."
            if names
            else "Leave it out: the log names no cluster (sacct prints it in the field Cluster).",
        )
    machine = _machine_of(accounts.machine, name, several=len(jobs.clusters) > 1)
    if len(jobs.clusters) == 1:
        return dataclasses.replace(accounts, machine=machine)
    code = jobs.clusters.index(name)
    kept = np.concatenate([each.columns["cluster"] == code for _, each in jobs.chunks()])
    mine = jobs.where(kept)
    mine = dataclasses.replace(
        mine,
        clusters=[name],
        columns={**mine.columns, "cluster": np.zeros(len(mine), dtype=np.int16)},
    )
    return dataclasses.replace(accounts, jobs=mine, machine=machine)


def _machine_of(machine: MachineFacts, name: str, *, several: bool) -> MachineFacts:
    """What the log says about one cluster. Events without a cluster belong to it if it is the only
    one."""
    mine = {name} if several else {name, ""}
    return dataclasses.replace(
        machine,
        outages=[each for each in machine.outages if each.cluster in mine],
        sizes=[each for each in machine.sizes if each.cluster in mine],
    )


def capacity_of(
    jobs: Jobs, machine: MachineFacts, stated: int | None, last: float, per_node: int
) -> Capacity | None:
    """The capacity of all clusters together; None unless it is known of each.

    Arguments as for ``known_capacity``.
    """
    if stated is not None or len(jobs.clusters) < 2:
        return known_capacity(machine, stated, last, per_node)
    each = [
        known_capacity(
            _machine_of(machine, name, several=True), None, last, per_node_of(jobs, code)
        )
        for code, name in enumerate(jobs.clusters)
    ]
    known = [capacity for capacity in each if capacity is not None]
    return combined(known) if len(known) == len(each) else None


def per_node_of(jobs: Jobs, cluster: int | None = None) -> int:
    """The most processors per node of any job, or of any job of a cluster; 0 if nodes are
    unknown."""
    most = 0.0
    for _, each in jobs.chunks():
        nodes, processors = each.number("nodes"), each.number("processors")
        known = (nodes > 0) & (processors > 0) & ~np.isnan(each.number("start"))
        if cluster is not None:
            known &= each.columns["cluster"] == cluster
        most = max(most, float((processors[known] / nodes[known]).max(initial=0.0)))
    return int(np.ceil(most))
