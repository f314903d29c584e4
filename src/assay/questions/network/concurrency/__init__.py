"""Many messages at once: pairs, senders, windows."""
