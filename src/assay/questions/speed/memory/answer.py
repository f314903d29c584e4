"""The answer on memory."""

from __future__ import annotations

from assay.questions.common.parts import Part, merge
from assay.questions.speed.memory.access_answer import access_part
from assay.questions.speed.memory.bandwidth_answer import bandwidth_part
from assay.questions.speed.memory.cores_answer import cores_part
from assay.questions.speed.memory.findings import MemoryFindings
from assay.questions.speed.memory.loaded_answer import loaded_part


def part(found: MemoryFindings) -> Part | None:
    """The part on bandwidth, access, load and cores; None if only candidates have any."""
    parts = [
        *([bandwidth_part(found.bandwidth)] if found.bandwidth else []),
        *([access_part(found.access)] if found.access else []),
        *([loaded_part(found.loaded)] if found.loaded else []),
        *([cores_part(found.cores)] if found.cores else []),
    ]
    return merge(parts) if parts else None
