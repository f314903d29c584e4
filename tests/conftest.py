"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# A machine that is busy is no failure: timings are never asserted, Hypothesis's included.
settings.register_profile("assay", deadline=None, print_blob=True)
settings.load_profile("assay")
