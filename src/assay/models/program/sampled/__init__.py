"""What samples of call stacks say: time by function, its imbalance, its changes and its growth."""
