"""Targets of fair share against the use of the log's jobs."""

from __future__ import annotations

from assay.usage.analysis.model import UsageFairShare
from assay.usage.analysis.parts import by_use, share, shown_names
from assay.usage.analysis.prepared import PreparedJobs


def fair_shares_of(data: PreparedJobs) -> list[UsageFairShare]:
    """The accounts with a target, by target; none if the log has no targets.

    The use of an account comes from its own jobs, without the accounts below it, which have targets
    of their own. Its target excludes theirs, too.
    """
    targets: dict[str, float] = {}
    for each in data.machine.fair_shares:
        if not each.user:
            targets.setdefault(each.account, each.target)
    if not targets:
        return []
    groups = data.jobs.groups
    order, uses = by_use(data, "group", len(groups))
    use = dict(zip((groups[code] for code in order.tolist()), uses.tolist(), strict=True))
    parents = {each.account: each.parent for each in data.machine.fair_shares if not each.user}
    names = dict(zip(groups, shown_names(data, "group", groups), strict=True))
    below: dict[str, float] = dict.fromkeys(targets, 0.0)
    for account, target in targets.items():
        if (parent := parents[account]) in below:
            below[parent] += target
    whole = float(uses.sum())
    found: list[UsageFairShare] = []
    for account, target in targets.items():
        own = max(target - below[account], 0.0)
        used = use.get(account, 0.0)
        if own < 1e-9 and not used:
            continue
        found.append(
            UsageFairShare(
                account=names.get(account, "") or _without_jobs(data, account, len(found)),
                target=own,
                use=used,
                share_of_use=share(used, whole),
                ratio=share(used, whole) / own if own > 0 else None,
            )
        )
    return sorted(found, key=lambda row: (-row.target, -row.use))


def _without_jobs(data: PreparedJobs, account: str, number: int) -> str:
    """The name of an account without a job."""
    return account if data.query.identify else f"account {number + 1} without jobs"
