"""Acceptance of a machine by a contract, as a subject of reports."""
