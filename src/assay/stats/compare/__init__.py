"""Groups of results held side by side: tests, effect sizes, analysis of variance."""
