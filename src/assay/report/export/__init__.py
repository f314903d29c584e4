"""Export of results for other programs: CSV, Parquet, JSON, OpenMetrics, ReFrame and Ramble."""
