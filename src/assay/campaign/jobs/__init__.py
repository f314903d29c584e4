"""Runs executed by jobs of a batch scheduler: submit, follow, clean up."""
