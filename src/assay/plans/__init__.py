"""Plans: factors by levels become cells in a randomised, reproducible order."""
