"""Statistics of measurements: summaries, intervals, tests and attribution."""
