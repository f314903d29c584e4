"""Host effects: hosts that slow the sets of hosts they are part of."""
