"""Decisions about one node, check after check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.check.baseline.model import Baseline
from assay.check.decision.decide import check_values, decide, slow_components
from assay.check.decision.model import Given, NodeState
from assay.check.decision.next_state import next_state
from assay.check.model import CheckRecord, CheckVerdict, Reading

#: The readings of a round, by its number from 0 and the components that are to be measured.
Measured = Callable[[int, Sequence[str]], Mapping[str, Reading]]


def checks_in_turn(
    checks: Iterable[Measured], usual: Baseline, names: Sequence[str], apart: float
) -> tuple[list[CheckVerdict], list[CheckRecord], NodeState]:
    """The verdicts of checks at this distance (s), their records, and the node's last state."""
    state, records, verdicts = NodeState(), list[CheckRecord](), list[CheckVerdict]()
    for number, measured in enumerate(checks):
        rounds: list[Mapping[str, Reading]] = []
        while True:
            given = Given(
                baseline=usual,
                state=state,
                records=records,
                rounds=rounds,
                components=names,
                utc=1e9 + apart * number,
            )
            found = decide(given)
            if isinstance(found, CheckVerdict):
                break
            rounds.append(measured(len(rounds), found.components))
        state = next_state(given)
        verdicts.append(found)
        records.append(
            CheckRecord(
                utc=given.utc,
                outcome=found.outcome,
                seconds=1.0,
                values=check_values(given),
                slow=slow_components(found),
                reason=found.reason,
            )
        )
    return verdicts, records, state
