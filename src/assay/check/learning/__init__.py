"""Learning checks, the sealed measuring program, and baselines from them."""
