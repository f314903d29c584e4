"""The answer on memory."""

from __future__ import annotations

from assay.questions.common.parts import Part, merge
from assay.questions.speed.memory.access_answer import access_part
from assay.questions.speed.memory.bandwidth_answer import bandwidth_part
from assay.questions.speed.memory.findings import MemoryFindings


def part(found: MemoryFindings) -> Part | None:
    """The part on bandwidth and access; None if only candidates of a search measured them."""
    parts = [
        *([bandwidth_part(found.bandwidth)] if found.bandwidth else []),
        *([access_part(found.access)] if found.access else []),
    ]
    return merge(parts) if parts else None
