"""Messages between two ranks: latency, bandwidth, LogGP."""
