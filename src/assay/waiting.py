"""How ranks that share cores wait."""

from __future__ import annotations

# MPICH's ranks poll while they wait. Where they outnumber the cores, each poll is time that a rank
# with work does not get, so they are set to sleep a little when nothing has come. Open MPI does so
# by itself when it knows that it is oversubscribed.
POLITE_WAITING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "true",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "10",
}
