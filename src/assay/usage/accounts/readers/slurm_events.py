"""Slurm's node events: ``sacctmgr --parsable2 show event format=...``.

Rows with a node are times at which it was down or drained; rows without one state the cluster's
size. Fields: ``NodeName``, ``TimeStart`` (or ``Start``), ``TimeEnd`` (or ``End``), ``State``,
``Reason``, ``TRES``, ``ClusterNodes`` (or ``Cluster Nodes``), ``Cluster``. Without ``TRES``
processors are unknown; ``ClusterNodes`` gives the number of nodes.
"""

from __future__ import annotations

import math

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.stated import time_in
from assay.usage.accounts.values import absent, resources, whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import Outage, SizeEvent

_CLUSTER_NODES = ("ClusterNodes", "Cluster Nodes")


def takes(head: str) -> bool:
    """Whether the first line names a node, times and resources."""
    names = {name.strip() for name in head.partition("\n")[0].split("|")}
    listed = bool(names & {"TRES", "State", *_CLUSTER_NODES}) and "JobID" not in names
    return "NodeName" in names and listed and bool(names & {"TimeStart", "Start"})


def read(log: Log, out: JobCollector) -> None:
    """All outages and sizes."""
    names: list[str] = []
    for line, text in log.lines():
        if takes(text):
            names = [name.strip() for name in text.split("|")]
            continue
        if not text.strip():
            continue
        words = [word.strip() for word in text.split("|")]
        if len(words) != len(names):
            if log.hands_over(line, text):
                return
            out.problem("malformed" if "|" in text else "other text", line)
            continue
        values = dict(zip(names, words, strict=True))
        begins, ends = (
            f"Time{name}" if f"Time{name}" in values else name for name in ("Start", "End")
        )
        start, end = (time_in(values, name, line, out) for name in (begins, ends))
        # An end that can't be read is not an end in the future.
        if any(
            math.isnan(time) and not absent(values.get(name, ""))
            for time, name in ((start, begins), (end, ends))
        ):
            continue
        tres = resources(values.get("TRES", ""))
        processors = whole(tres.get("cpu", ""))
        cluster = values.get("Cluster", "")
        nodes = next((values[name] for name in _CLUSTER_NODES if name in values), "")
        if math.isnan(start) or (processors < 0 and values.get("TRES", "") and not nodes):
            out.problem("malformed", line)
        elif end < start:
            out.problem("backwards", line)
        elif values["NodeName"]:
            until = math.inf if math.isnan(end) else end
            out.machine.outages.append(
                Outage(
                    node=values["NodeName"],
                    start=start,
                    end=until,
                    processors=processors,
                    cluster=cluster,
                    state=values.get("State", ""),
                    reason=values.get("Reason", ""),
                )
            )
        elif processors >= 0:
            out.machine.sizes.append(SizeEvent(start, processors, cluster=cluster))
        elif nodes:
            counted = out.node_count(nodes)
            if counted:
                out.machine.sizes.append(SizeEvent(start, -1, counted, cluster))
            else:
                out.problem("malformed", line)


FORMAT = AccountFormat("Slurm (sacctmgr show event)", takes, read, jobs=False)
