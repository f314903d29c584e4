"""Profiles with samples, compared function by function, as a subject of reports."""
