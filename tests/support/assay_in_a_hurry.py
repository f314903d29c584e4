"""``assay`` with shorter polling intervals of its scheduler, so that tests don't wait."""

from __future__ import annotations

import os
import sys

from assay.campaign.commands import per_node as members
from assay.campaign.jobs import batch, node, polling
from assay.cli.app import main

if __name__ == "__main__":
    words = (sys.executable, __file__)
    batch.assay_words = members.assay_words = lambda: words
    polling.LOOK, polling.FIRST_POLL, polling.SLOWEST_POLL = 0.1, 0.3, 1.0
    polling.UNREADABLE = float(os.environ.get("ASSAY_TEST_UNREADABLE", "120"))
    polling.LATE = node.LATE = float(os.environ.get("ASSAY_TEST_LATE", "5"))
    main()
