"""Slurm's fair shares: ``sshare --all --parsable2``, with the columns that it prints by default.

Rows are a tree by the indentation of ``Account``: accounts, and users below their account. A
target is the product of ``RawShares`` ÷ the sum of its siblings' over all levels. Users whose share
is ``parent`` have no target of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.accounts.values import whole
from assay.usage.collector import JobCollector
from assay.usage.jobs import FairShare

_NEEDED = {"Account", "User", "RawShares"}
_NO_SHARE = 2**31 - 1  # "parent" in --parsable2 of some releases


@dataclass
class _Row:
    """A row, and the place of its parent among the rows; -1 for the root."""

    account: str
    user: str
    shares: int
    parent: int
    target: float = 1.0


def takes(head: str) -> bool:
    """Whether the first line names accounts, users and shares."""
    names = {name.strip() for name in head.partition("\n")[0].split("|")}
    return names >= _NEEDED and "JobID" not in names


def read(log: Log, out: JobCollector) -> None:
    """All targets."""
    names: list[str] = []
    rows: list[_Row] = []
    depths: list[tuple[int, int]] = []
    for line, text in log.lines():
        if takes(text):
            _finish(rows, out)
            names, rows, depths = [name.strip() for name in text.split("|")], [], []
            continue
        if not text.strip():
            continue
        words = text.rstrip("|").split("|") if text.endswith("|") else text.split("|")
        if len(words) < names.index("RawShares") + 1:
            if log.hands_over(line, text):
                break
            out.problem("malformed" if "|" in text else "other text", line)
            continue
        values = dict(zip(names, words, strict=False))
        account = values["Account"]
        depth = len(account) - len(account.lstrip())
        user = values["User"].strip()
        # Users are indented like the accounts below their account.
        while depths and depths[-1][0] >= depth:
            depths.pop()
        parent = depths[-1][1] if depths else -1
        shares = whole(values["RawShares"].strip())
        rows.append(_Row(account.strip(), user, shares if shares != _NO_SHARE else -1, parent))
        if not user:
            depths.append((depth, len(rows) - 1))
    _finish(rows, out)


def _finish(rows: list[_Row], out: JobCollector) -> None:
    """Pass on the targets of all accounts and users but the root."""
    sums: dict[int, int] = {}
    for row in rows:
        sums[row.parent] = sums.get(row.parent, 0) + max(row.shares, 0)
    for row in rows:
        if row.parent < 0:
            continue  # the root
        whole_level = sums[row.parent]
        known = row.shares >= 0 and whole_level > 0
        row.target = rows[row.parent].target * row.shares / whole_level if known else math.nan
        if math.isfinite(row.target):
            out.machine.fair_shares.append(
                FairShare(row.account, row.user, row.target, rows[row.parent].account)
            )


FORMAT = AccountFormat("Slurm (sshare)", takes, read, jobs=False)
