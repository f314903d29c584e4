"""Loads, policies and changes for the scheduler's model, and measures of its schedules."""
