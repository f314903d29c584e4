"""Which call of one rank belongs to which of another: messages, probes, collectives, epochs."""
