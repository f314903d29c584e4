"""The loop that carries a plan out: state, order, budget, display."""
