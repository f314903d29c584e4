"""Whether a node is slow: pure functions of its baseline, its own records and its readings."""
