"""The network under load: victims beside aggressors."""
