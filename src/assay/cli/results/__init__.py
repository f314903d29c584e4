"""Commands on stored results: reports, comparisons, imports, exports."""
