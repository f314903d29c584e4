"""The noise of a machine: interruptions, periods, late arrivals."""
