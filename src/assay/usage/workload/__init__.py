"""Loads for the model of a scheduler: from a log or a published model, changed or resampled."""
