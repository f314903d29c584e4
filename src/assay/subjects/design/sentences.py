"""Sentences on what the numbers of a design can't say."""

from __future__ import annotations

import math

import numpy as np

from assay.design.architecture import Architecture
from assay.design.parts.classes import borrowed_from
from assay.design.search import Candidates
from assay.design.spec.model import DesignSpec
from assay.units import counted


def sentences(spec: DesignSpec, candidates: Candidates, one: Architecture, nodes: int) -> list[str]:
    """What the numbers can't say. ``one``, ``nodes``: the best cluster."""
    found = _bounds(spec, candidates)
    found += _memory(one)
    found += _costs(spec)
    found += _lots(spec)
    found += _rates(spec)
    found += _jobs(spec, candidates)
    return found


def _bounds(spec: DesignSpec, candidates: Candidates) -> list[str]:
    sentences = []
    at_most = int(np.sum(candidates.count == spec.limits.most))
    best = int(candidates.count[int(np.argmax(candidates.score))])
    if at_most and best == spec.limits.most > spec.limits.least:
        sentences.append(
            f"The best cluster has the maximum number of nodes considered ({best:,}); more nodes "
            "may be better. Raise [limits] nodes."
        )
    return sentences


def _memory(one: Architecture) -> list[str]:
    if one.balanced:
        return []
    modules = one.host.dimms + (one.kit.dimms if one.kit else 0)
    return [
        f"The {counted(modules, 'memory module')} of '{one.host.name}' don't fill its "
        f"{one.host.channels} channels evenly, so its bandwidth is lower than with even channels, "
        "unless it was measured like this."
    ]


def _costs(spec: DesignSpec) -> list[str]:
    if spec.costs is None:
        rented = list(spec.cloud)
        if not rented:
            return []
        return [
            f"{', '.join(rented)}: not compared with buying, because the specification states no "
            "[costs] of years."
        ]
    stated = {"maintenance": spec.costs.maintenance, "staff": spec.costs.staff.value}
    missing = [name for name, value in stated.items() if not value]
    found = [f"The costs contain no {name}: [costs] states none." for name in missing]
    if spec.cloud:
        found.append(
            "Renting is compared for a load of independent jobs: staff is counted only for "
            "bought nodes, and rented ones are paid only while they compute."
        )
    return found


def _lots(spec: DesignSpec) -> list[str]:
    if spec.later is None:
        return []
    found = [
        "Prices and rates of the second lot are the specification's assumptions. The rates of both "
        "lots add up, which holds for jobs that run on one of them. The second lot is younger when "
        "both go; nothing is counted for this."
    ]
    if math.isfinite(spec.limits.total_cost):
        found.append("The two lots keep the budget; the limit of the total cost is not applied.")
    return found


def _rates(spec: DesignSpec) -> list[str]:
    sentences = []
    borrowed = sorted(
        {
            (name, other)
            for node in (spec.catalogue.nodes[known] for known in spec.nodes)
            for name in spec.workload
            if name in node.rates and (other := borrowed_from(node.rates[name]))
        }
    )
    for name, other in borrowed:
        sentences.append(
            f"Nodes without a rate of {name} have the rate of {other}, as an assumption: measure "
            "it (assay run npb)."
        )
    if any(name.startswith("npb.") for name in spec.workload):
        sentences.append(
            "NPB rates hold for the code with which the nodes' rates were measured. Messages "
            "and bytes come from assay's own code with one process per node."
        )
    return sentences


def _jobs(spec: DesignSpec, candidates: Candidates) -> list[str]:
    sentences = []
    for name in (name for name in spec.workload if name in spec.jobs):
        jobs = spec.jobs[name]
        sentences.append(
            f"Accounts don't record messages, so the rate of the {counted(jobs.jobs, 'job')} of "
            f"{name} does not depend on the interconnect."
        )
        if jobs.summary:
            sentences.append(
                f"For {name}, only the distributions of sizes and run times are known; they are "
                "sampled independently."
            )
        cores = int(candidates.count.max()) * max(
            node.cores for node in spec.catalogue.nodes.values()
        )
        if jobs.largest > cores:
            sentences.append(
                f"The largest job of {name} has {jobs.largest:,} processors. On fewer cores, its "
                "run time is assumed to grow in proportion."
            )
    return sentences
