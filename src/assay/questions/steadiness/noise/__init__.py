"""Operating-system noise: time lost, periods, interruptions, cost."""
