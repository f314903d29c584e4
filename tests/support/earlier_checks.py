"""Recorded checks as if they had been made on earlier days, for tests that can't wait for days.

A baseline lets slowness drain only if it covers several sessions on several days
(``check/baseline/model.py``). Tests record within minutes and then set the times of the records
back, in the files of the learning checks alone. The product itself has no such switch.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

#: Time between two records of a node after the change, s: more than a session apart, and all hours.
BETWEEN = 9.0 * 3600.0


def set_back(folder: Path, between: float = BETWEEN) -> int:
    """Set the records of each node back, so that each is a session of its own.

    ``folder``: that of the fleet's checks. The n-th record of all nodes is in the same session.
    Returns the number of sessions.
    """
    most, now = 0, time.time()
    for path in sorted((folder / "learning").glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        most = max(most, len(records))
        for number, record in enumerate(records):
            record["utc"] = now - between * (len(records) - number)
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return most
