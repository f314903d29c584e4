"""One line per bad node, for a mail or a script."""

from __future__ import annotations

import time
from collections.abc import Iterator

from assay.questions.common.lines import printable
from assay.subjects.checks.model import ChecksFindings

_NEVER = "-"
_NO_TIMES = 0


def lines(found: ChecksFindings) -> Iterator[str]:
    """``HOST STATE SINCE TIMES TEXT``, separated by spaces; nothing if nothing is wrong.

    Only TEXT contains spaces. SINCE is UTC, or - if unknown. A kind of nodes that declines as a
    whole has the state ``declining`` and the name ``kind:KIND``; one whose slowness can't drain yet
    has the state ``learning``.
    """
    width = max((len(node.host) for node in found.bad), default=0)
    for kind in found.declining_kinds:
        text = (
            f"{kind.component} {100 * kind.change:+.1f}% against the baseline on {kind.nodes} nodes"
        )
        yield f"{f'kind:{kind.kind}':<{width}} declining {_NEVER:<17} {kind.nodes:>4} {text}"
    for each in found.waiting:
        name = f"kind:{each.kind}"
        yield f"{name:<{width}} learning  {_NEVER:<17} {_NO_TIMES:>4} {printable(each.why)}"
    for node in found.bad:
        since = (
            _NEVER
            if node.since is None
            else time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(node.since))
        )
        begin = f"{printable(node.host):<{width}} {node.state:<9} {since:<17} {node.times:>4}"
        yield f"{begin} {printable(node.text)}".rstrip()
