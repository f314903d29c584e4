"""Commands that measure, from their options to their exit status."""
