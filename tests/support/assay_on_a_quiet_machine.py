"""``assay`` that sees no other processes on this machine, so that tests run beside each other."""

from __future__ import annotations

from assay.cli.app import main
from assay.questions.common import question
from assay.questions.placement.best import outcomes

if __name__ == "__main__":
    question.worst_contention = lambda *_: None  # type: ignore[attr-defined]
    outcomes.other_load = lambda *_: None  # type: ignore[attr-defined]
    main()
