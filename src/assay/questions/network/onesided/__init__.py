"""One-sided communication: against messages, by synchronisation, in windows."""
