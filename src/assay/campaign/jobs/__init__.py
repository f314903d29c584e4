"""Runs that jobs of a batch scheduler carry out: submitted, followed, cleaned up."""
