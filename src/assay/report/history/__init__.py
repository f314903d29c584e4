"""The report of many runs: a page, the terminal, OpenMetrics."""
