"""Loads for the model of a scheduler: from a log, from a published model, changed, resampled."""
