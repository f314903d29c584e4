"""Whether a node was quiet while a component was measured."""

from __future__ import annotations

from assay.check.model import Quiet

# Other processes' CPUs, and the share of CPU time withheld by a hypervisor, that still count as
# quiet: system services use some hundredths of a CPU.
_OTHERS, _STEAL = 0.2, 0.005


def is_quiet(quiet: Quiet) -> bool:
    """Whether nothing else on the node can explain a slow reading.

    Throttling and CPU quotas are not counted: they slow jobs, too.
    """
    return quiet.others <= _OTHERS and quiet.steal <= _STEAL and not quiet.users
