"""The report of a history: HTML page, terminal, OpenMetrics and CSV."""
