"""The terms of reports: one list, explained where they first occur."""
