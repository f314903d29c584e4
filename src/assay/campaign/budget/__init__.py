"""How a budget is kept: what cells cost, which of them are begun, how much time is left."""
