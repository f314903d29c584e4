"""MPI settings for ranks that share cores: yield while waiting."""

from __future__ import annotations

# MPICH's ranks poll while they wait. If they outnumber the cores, polling takes CPU time from ranks
# that have work. With these settings they sleep briefly when a poll finds nothing. Open MPI does
# this automatically when it knows that it is oversubscribed.
POLITE_WAITING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "true",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
}
