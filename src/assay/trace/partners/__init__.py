"""Which calls of different ranks belong together: messages, probes, collectives, epochs."""
