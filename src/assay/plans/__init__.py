"""Plans: factors × levels become cells, measured in a randomised, reproducible order."""
