"""The loop that executes a plan: state, order, budget, display."""
