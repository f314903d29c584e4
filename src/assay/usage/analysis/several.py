"""Each cluster of a log with several, against its own size."""

from __future__ import annotations

import dataclasses
import datetime
import math

from assay.errors import AssayError
from assay.usage.accounts.reading import Accounts
from assay.usage.analysis.clusters import cluster_names
from assay.usage.analysis.completeness import records_of, utilisation_of
from assay.usage.analysis.efficiency import efficiency_of
from assay.usage.analysis.model import UsageCluster
from assay.usage.analysis.parts import share, shown_names
from assay.usage.analysis.prepared import PreparedJobs, prepare
from assay.usage.analysis.totals import totals_of


def _text(utc: float) -> str | None:
    """A Unix time as an option's text; None for an infinite one."""
    if not math.isfinite(utc):
        return None
    return datetime.datetime.fromtimestamp(utc, datetime.UTC).isoformat()


def clusters_of(accounts: Accounts, data: PreparedJobs) -> list[UsageCluster]:
    """The clusters by use; none unless the log has several. ``data``: the jobs of all together."""
    names = cluster_names(data.jobs)
    if len(names) < 2:
        return []
    shown = dict(
        zip(
            data.jobs.clusters,
            shown_names(data, "cluster", data.jobs.clusters),
            strict=True,
        )
    )
    # A stated number belongs to all clusters together; days count from their last record.
    query = dataclasses.replace(
        data.query, processors=None, since=_text(data.since), until=_text(data.until)
    )
    found = []
    for name in names:
        try:
            one = prepare(accounts, dataclasses.replace(query, cluster=name))
        except AssayError:  # none of its jobs is chosen
            continue
        totals = totals_of(one, None)
        found.append(
            UsageCluster(
                name=shown[name],
                jobs=totals.jobs,
                use=totals.use,
                share_of_use=0.0,
                processors=one.capacity.processors,
                source=one.capacity.source,
                utilisation=utilisation_of(one, records_of(one), ()),
                wait=totals.wait.median() if totals.wait.n else None,
                efficiency=efficiency_of(totals.amounts),
            )
        )
    whole = sum(each.use for each in found)
    found.sort(key=lambda each: -each.use)
    return [dataclasses.replace(each, share_of_use=share(each.use, whole)) for each in found]
