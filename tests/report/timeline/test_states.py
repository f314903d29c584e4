"""The state of each MPI function."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.report.timeline.states import STATES, state_of

TABLE = Path(assay.__file__).parents[2] / "native" / "trace" / "functions.txt"
ALLOWED = {
    "point": {"Send", "Receive"},
    "start": {"Send", "Receive", "Other MPI"},
    "completion": {"Wait and test", "Other MPI"},
    "probe": {"Receive"},
    "collective": {"Collective", "Barrier"},
    "one-sided": {"One-sided", "Barrier"},
    "file": {"Files"},
}


@pytest.mark.parametrize(
    ("function", "state"),
    [
        ("Send", "Send"),
        ("Ibsend", "Send"),
        ("Send_c", "Send"),
        ("Start_send", "Send"),
        ("Start_receive", "Receive"),
        ("Sendrecv_replace", "Receive"),
        ("Iprobe", "Receive"),
        ("Send_init", "Other MPI"),
        ("Waitall", "Wait and test"),
        ("Testsome", "Wait and test"),
        ("Iallreduce", "Collective"),
        ("Neighbor_alltoallw", "Collective"),
        ("Reduce_scatter_block", "Collective"),
        ("Reduce_local", "Other MPI"),
        ("Ibarrier", "Barrier"),
        ("Win_fence", "Barrier"),
        ("Rget_accumulate", "One-sided"),
        ("Get_count", "Other MPI"),
        ("File_iwrite_at_all", "Files"),
        ("Comm_split", "Other MPI"),
        ("Scatterv", "Collective"),
    ],
)
def test_known_functions(function: str, state: str) -> None:
    assert STATES[state_of(function)] == state


def test_functions_of_the_profiling_library_have_a_state_of_their_kind() -> None:
    seen = set()
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.split("|")]
        if line.startswith("#") or len(fields) < 2 or fields[1] not in ALLOWED:
            continue
        name, kind = fields[:2]
        seen.add(kind)
        allowed = ALLOWED[kind] | ({"Other MPI"} if name.endswith("_init") else set())
        assert STATES[state_of(name)] in allowed, (name, kind)
    assert {"point", "completion", "collective"} <= seen
